#include "toml_file.hpp"

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "options/setters.hpp"

namespace ppsim::cli {
namespace {

/// The most words of a key and brackets around a value: far more than in any ppsim file. The library recurses for each
/// level, at the latest when it frees a table, so a few kilobytes of dots would exhaust the stack; its own limit counts
/// only brackets.
constexpr std::size_t deepest = 32;

/// The position after the string that begins at `begin`; if it is not closed, after its longest possible end.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  const std::string three(3, quote);
  const bool has_lines = text.substr(begin).starts_with(three);
  for (std::size_t at = begin + (has_lines ? 3 : 1); at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\')
      ++at;
    else if (!has_lines && (text[at] == quote || text[at] == '\n'))
      return at + 1;
    else if (has_lines && text.substr(at).starts_with(three)) // its last two characters may also be quotes
      return std::min({text.find_first_not_of(quote, at), at + 5, text.size()});
  }
  return text.size();
}

/// The place of a byte: "s.toml:3:17".
std::string place(std::string_view name, std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const std::size_t line_begin = before.rfind('\n') + 1; // npos + 1 is 0
  return fmt::format("{}:{}:{}", name, std::ranges::count(before, '\n') + 1, at - line_begin + 1);
}

/// Throws Error with its place if keys or values nest too deeply. Parses only what can hide dots and brackets; up to
/// the first error, where the library stops, both agree.
void check_depth(std::string_view text, std::string_view name) {
  std::size_t dots = 0; // of one key, or number
  std::size_t open = 0; // brackets
  for (std::size_t at = 0; at < text.size();) {
    const char character = text[at];
    if (character == '"' || character == '\'') {
      at = end_of_string(text, at);
      continue;
    }
    if (character == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (std::string_view{"\n,=[]{}"}.find(character) != std::string_view::npos) dots = 0;
    if (character == '.') ++dots;
    if (character == '[' || character == '{') ++open;
    if ((character == ']' || character == '}') && open > 0) --open;
    if (dots >= deepest || open > deepest)
      throw Error{ExitCode::bad_input,
                  Problem{place(name, text, at), fmt::format("keys or values nest more than {} deep", deepest),
                          "write it with fewer dots and brackets"}};
    ++at;
  }
}

/// Without its comment.
std::string_view line_of(std::string_view text, std::size_t number) {
  for (; number > 1 && !text.empty(); --number) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.substr(0, text.find_first_of("\r\n#"));
}

/// For what people write instead of TOML; else `otherwise`.
std::string remedy(std::string_view text, std::size_t line_number, std::string_view otherwise) {
  if (trimmed(line_of(text, 1)).starts_with('{')) return "write TOML, not JSON: a line 'key = value' for each key";
  const std::string_view line = line_of(text, line_number);
  const std::size_t sign = std::min(line.find_first_of("=:\"'"), line.size());
  const std::string_view rest = line.substr(sign);
  if (rest.starts_with(':')) return "write 'key = value', not 'key: value'";
  const std::string_view key = trimmed(line.substr(0, sign));
  const std::string_view value = trimmed(rest.substr(std::min<std::size_t>(1, rest.size())));
  const auto is_letter = [](unsigned char each) { return std::isalpha(each) != 0; };
  const auto is_word = [&](unsigned char each) {
    return is_letter(each) ||
           std::string_view{"0123456789 .+-_%/"}.find(static_cast<char>(each)) != std::string_view::npos;
  };
  if (!rest.starts_with('=') || !std::ranges::all_of(key, is_word) || !std::ranges::all_of(value, is_word) ||
      std::ranges::none_of(value, is_letter) || value == "true" || value == "false")
    return std::string{otherwise};
  return fmt::format("words, and numbers with a unit, stand in quotes: {} = \"{}\"", key, value);
}

} // namespace

std::string place(std::string_view name, const toml::source_region& region) {
  return fmt::format("{}:{}:{}", name, region.begin.line, region.begin.column);
}

toml::table parse_toml(std::string_view text, std::string_view name, std::string_view hint) {
  check_depth(text, name);
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    throw Error{ExitCode::bad_input,
                Problem{place(name, error.source()), fmt::format("not TOML: {}", in_quotes(error.description(), 200)),
                        remedy(text, error.source().begin.line, hint)}};
  }
}

std::vector<std::pair<const toml::key*, const toml::node*>> in_file_order(const toml::table& table) {
  std::vector<std::pair<const toml::key*, const toml::node*>> entries;
  entries.reserve(table.size());
  // A range-for would return temporary proxies; the iterator's pairs refer to the table.
  for (auto entry = table.cbegin(); entry != table.cend(); ++entry) // NOLINT(modernize-loop-convert)
    entries.emplace_back(&entry->first, &entry->second);
  std::ranges::stable_sort(entries, {}, [](const auto& entry) {
    const toml::source_position& begin = entry.first->source().begin;
    return std::pair{begin.line, begin.column};
  });
  return entries;
}

} // namespace ppsim::cli
