#pragma once
// Characters of text that comes from outside.

#include <cstddef>
#include <string_view>

namespace ppsim {

/// How many bytes at the front of `text` are one character of UTF-8; 0 where they are none, as of no text.
[[nodiscard]] std::size_t character_length(std::string_view text);

/// Whether `text` begins with a control character of ASCII, which would control a terminal.
[[nodiscard]] bool begins_with_control(std::string_view text);

} // namespace ppsim
