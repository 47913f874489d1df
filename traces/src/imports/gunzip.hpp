#pragma once
// gzip, unpacked.

#include <cstddef>
#include <string>
#include <string_view>

namespace ppsim::traces {

/// Most bytes that a packed file may unpack to.
inline constexpr std::size_t most_unpacked = std::size_t{1} << 36;

[[nodiscard]] bool is_gzip(std::string_view bytes);
/// Unpacks `bytes`, of one or several gzip members; `padding` bytes of capacity are left behind the text. Throws Error
/// (bad_input, `where`) for what is broken, cut off, or unpacks to more than `limit`.
[[nodiscard]] std::string gunzip(std::string_view bytes, std::string_view where, std::size_t padding = 0,
                                 std::size_t limit = most_unpacked);

} // namespace ppsim::traces
