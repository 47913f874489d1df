#include "ppsim/base/words.hpp"

#include "ppsim/base/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <system_error>

namespace ppsim {
namespace {

/// Length of the colour code at the start of `text`; 0 if there is none.
std::size_t colour_code_length(std::string_view text) {
  return text.starts_with("\033[") ? std::min(text.find('m'), text.size() - 1) + 1 : 0;
}

} // namespace

std::string counted(std::size_t count, std::string_view noun, std::string_view plural_ending) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : plural_ending);
}

std::string name_fields(std::string_view text, std::string (*name_of)(std::string_view field)) {
  constexpr std::string_view name_letters = "abcdefghijklmnopqrstuvwxyz0123456789-";
  std::string named;
  while (true) {
    const std::size_t begin = text.find('`');
    named += text.substr(0, begin);
    if (begin == std::string_view::npos) return named;
    const std::size_t end = std::min(text.find_first_not_of(name_letters, begin + 1), text.size());
    const bool is_field = end < text.size() && text[end] == '`' && end > begin + 1;
    if (is_field)
      named += name_of(text.substr(begin + 1, end - begin - 1));
    else
      named += text.substr(begin, end - begin);
    text.remove_prefix(is_field ? end + 1 : end);
  }
}

std::string as_flags(std::string_view text) {
  return name_fields(text, [](std::string_view name) { return fmt::format("--{}", name); });
}

std::optional<std::string_view> as_field(std::string_view text) {
  if (text.size() < 3 || text.front() != '`' || text.find('`', 1) != text.size() - 1) return std::nullopt;
  return text.substr(1, text.size() - 2);
}

std::string toml_string(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0)
      result += '?';
    else if (begins_with_control(text))
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(text.front()));
    else if (text.front() == '"' || text.front() == '\\')
      result += {'\\', text.front()};
    else
      result += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result + '"';
}

std::size_t terminal_columns(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const std::size_t code = colour_code_length(text);
    if (code == 0 && (static_cast<unsigned char>(text.front()) & 0xC0U) != 0x80U) ++columns;
    text.remove_prefix(std::max<std::size_t>(code, 1));
  }
  return columns;
}

std::string wrapped_lines(std::string_view text, std::size_t width, std::size_t indent, std::size_t column) {
  std::string out;
  for (bool first = true; !text.empty(); first = false) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (!first && column + 1 + terminal_columns(word) > width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += terminal_columns(word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out + '\n';
}

std::optional<double> decimal_of(std::string_view text) {
#ifdef __cpp_lib_to_chars
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
#else // libc++ before version 20 reads no floating-point numbers so
  if (text.empty() || text.front() == '+' || text.find_first_not_of("+-.0123456789Ee") != std::string_view::npos)
    return std::nullopt;
  const std::string ended{text};
  char* end = nullptr;
  const double number = std::strtod(ended.c_str(), &end);
  if (end != ended.c_str() + ended.size() || !std::isfinite(number)) return std::nullopt;
  return number;
#endif
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"") == std::string_view::npos) return std::string{text};
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

} // namespace ppsim
