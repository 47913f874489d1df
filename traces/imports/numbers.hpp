#pragma once
// Numbers in texts.

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace ppsim::traces {

/// The number that `text` is as a whole; nothing where it is none, or out of range.
template <class Number>
[[nodiscard]] std::optional<Number> whole_number(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

} // namespace ppsim::traces
