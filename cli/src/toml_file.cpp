#include "toml_file.hpp"

#include "ppsim/sim/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ppsim::cli {

std::string place(std::string_view name, const toml::source_region& region) {
  return fmt::format("{}:{}:{}", name, region.begin.line, region.begin.column);
}

toml::table parse_toml(std::string_view text, std::string_view name, std::string_view hint) {
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    throw Error{ExitCode::bad_input,
                Problem{place(name, error.source()), fmt::format("not TOML: {}", in_quotes(error.description(), 200)),
                        std::string{hint}}};
  }
}

std::vector<std::pair<const toml::key*, const toml::node*>> in_file_order(const toml::table& table) {
  std::vector<std::pair<const toml::key*, const toml::node*>> entries;
  entries.reserve(table.size());
  // A range-for would hand out temporary proxies; the iterator's pairs refer to the table.
  for (auto entry = table.cbegin(); entry != table.cend(); ++entry) // NOLINT(modernize-loop-convert)
    entries.emplace_back(&entry->first, &entry->second);
  std::ranges::stable_sort(entries, {}, [](const auto& entry) {
    const toml::source_position& begin = entry.first->source().begin;
    return std::pair{begin.line, begin.column};
  });
  return entries;
}

} // namespace ppsim::cli
