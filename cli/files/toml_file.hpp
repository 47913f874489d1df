#pragma once
// Shared by all readers of TOML files: places, errors, and keys in file order.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <toml++/toml.h>

namespace ppsim::cli {

/// "name:line:column".
[[nodiscard]] std::string place(std::string_view name, const toml::source_region& region);

/// Throws Error (bad_input) with its place if `text` is not TOML, with the remedy of a common mistake, else with
/// `hint`; without the hint if it nests more than 32 deep.
[[nodiscard]] toml::table parse_toml(std::string_view text, std::string_view name, std::string_view hint);

/// The keys in file order (the table sorts them by name). The result points into `table`.
[[nodiscard]] std::vector<std::pair<const toml::key*, const toml::node*>> in_file_order(const toml::table& table);

} // namespace ppsim::cli
