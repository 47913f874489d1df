#pragma once
// Words for people, and text in files for them.

#include <cstddef>
#include <string>
#include <string_view>

namespace ppsim {

/// "4 stages", "1 stage"; with "es" as the ending of several, "2 microbatches".
[[nodiscard]] std::string counted(std::size_t count, std::string_view noun, std::string_view plural_ending = "s");

/// `text` as a string of TOML, in quotes and on one line: controls are escaped, and what is no UTF-8, which TOML has to
/// be, becomes a question mark.
[[nodiscard]] std::string toml_string(std::string_view text);

} // namespace ppsim
