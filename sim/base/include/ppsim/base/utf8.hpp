#pragma once
// UTF-8 characters of external text.

#include <cstddef>
#include <string_view>

namespace ppsim {

/// Bytes of the UTF-8 character at the front of `text`; 0 if there is none or it is invalid.
[[nodiscard]] std::size_t character_length(std::string_view text);

/// Whether `text` begins with an ASCII control character, which would control a terminal.
[[nodiscard]] bool begins_with_control(std::string_view text);

} // namespace ppsim
