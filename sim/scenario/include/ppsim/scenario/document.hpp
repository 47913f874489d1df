#pragma once
// Scenario files as values, for everything that writes one. The parser is in cli/files.

#include "ppsim/base/units.hpp"
#include "ppsim/base/words.hpp"

#include <cstddef>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim {

/// A time as a TOML string, to the nanosecond.
[[nodiscard]] std::string toml_time(Duration time);

/// "[a, b]", with `render` applied to each value.
template <class Values, class Render>
[[nodiscard]] std::string toml_list(const Values& values, Render render) {
  return "[" + joined(std::views::transform(values, render), ", ") + "]";
}

/// The keys of a scenario in file order, with comments, followed by tables of facts.
struct ScenarioDocument {
  struct Entry {
    std::string key;          ///< an option's long name: "forward"; in a table any name. Empty: only a comment
    std::string value;        ///< as TOML: '"1.5 ms"', '[1, 2]'
    std::string comment = {}; ///< on its own line above; may be empty
  };
  struct Table {
    std::string name; ///< "calibration"; in brackets for an array of tables: "[calibration.edges]"
    std::vector<Entry> entries;
  };
  std::vector<Entry> entries;
  std::vector<Table> tables;

  /// Appends to the last table, or to the keys if there is none.
  void add(std::string key, std::string value, std::string comment = {});
  void add(std::string key, std::size_t value);
  void add_comment(std::string text);
  void add_empty_line();
  void add_table(std::string name);

  /// Replaces the value of a key of the scenario, or appends the key.
  void set(std::string_view key, std::string value);
  /// Null if the key is missing.
  [[nodiscard]] const Entry* find(std::string_view key) const;

  /// The file as TOML. Each comment becomes one line; invalid UTF-8 and control characters in it become question marks.
  [[nodiscard]] std::string text() const;
};

} // namespace ppsim
