#pragma once
// What all readers of TOML files have in common: places, errors, and keys in the order in which people read them.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <toml++/toml.h>

namespace ppsim::cli {

/// "name:line:column".
[[nodiscard]] std::string place(std::string_view name, const toml::source_region& region);

/// Throws Error (bad_input) with its place, and `hint`, where `text` is not TOML; without the hint where it nests more
/// than 32 deep.
[[nodiscard]] toml::table parse_toml(std::string_view text, std::string_view name, std::string_view hint);

/// The table sorts its keys by name; people read a file from its first line on. What it returns points into `table`.
[[nodiscard]] std::vector<std::pair<const toml::key*, const toml::node*>> in_file_order(const toml::table& table);

} // namespace ppsim::cli
