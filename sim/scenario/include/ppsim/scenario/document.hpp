#pragma once
// Scenario files as values: what is written into them, by whomever, and in which form. A parser belongs to who reads.

#include "ppsim/base/units.hpp"
#include "ppsim/base/words.hpp"

#include <cstddef>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim {

/// A time as a string of TOML, to the nanosecond.
[[nodiscard]] std::string toml_time(Duration time);

/// "[a, b]", each made by `render`.
template <class Values, class Render>
[[nodiscard]] std::string toml_list(const Values& values, Render render) {
  return "[" + joined(std::views::transform(values, render), ", ") + "]";
}

/// The keys of a scenario in the order of its file, with comments, and after them tables of facts.
struct ScenarioDocument {
  struct Entry {
    std::string key;          ///< an option's long name: "forward"; in a table any. Empty: a comment alone
    std::string value;        ///< as TOML: '"1.5 ms"', '[1, 2]'
    std::string comment = {}; ///< above it, on a line of its own; may be empty
  };
  struct Table {
    std::string name; ///< "calibration"; in brackets where there may be several: "[calibration.edges]"
    std::vector<Entry> entries;
  };
  std::vector<Entry> entries;
  std::vector<Table> tables;

  /// At the end: of the last table, or of the keys where there is none.
  void add(std::string key, std::string value, std::string comment = {});
  void add(std::string key, std::size_t value);
  void add_comment(std::string text);
  void add_empty_line();
  void add_table(std::string name);

  /// A key of the scenario: its new value, in its place; at the end of the keys where it is missing.
  void set(std::string_view key, std::string value);
  /// Null where it is missing.
  [[nodiscard]] const Entry* find(std::string_view key) const;

  /// As TOML. Comments become one line each; what in them is no UTF-8, or controls a terminal, a question mark.
  [[nodiscard]] std::string text() const;
};

} // namespace ppsim
