#pragma once
// gzip, packed and unpacked.

#include <cstdint>
#include <string>
#include <string_view>

namespace ppsim::traces {

// Most bytes that a packed file may unpack to: a file of a few megabytes can hold gigabytes of nothing.
inline constexpr std::uint64_t most_unpacked_log = std::uint64_t{1} << 26U;   ///< logs, workloads, results of tests
inline constexpr std::uint64_t most_unpacked = std::uint64_t{1} << 30U;       ///< lists of events, run files
inline constexpr std::uint64_t most_unpacked_whole = std::uint64_t{1} << 32U; ///< profiles that are read as a whole
inline constexpr std::uint64_t most_unpacked_profile = std::uint64_t{1}
                                                       << 34U; ///< profiles that are read a piece at a time

[[nodiscard]] constexpr bool is_gzip(std::string_view bytes) {
  return bytes.starts_with("\x1F\x8B");
}

/// Packs `bytes` as one member, small rather than fast. The same bytes give the same file: it has neither name nor
/// time.
[[nodiscard]] std::string gzip(std::string_view bytes);

/// Unpacks `bytes`, of one or several gzip members. Throws Error (bad_input, `where`) for what is broken, cut off, or
/// unpacks to more than `limit`.
[[nodiscard]] std::string gunzip(std::string_view bytes, std::string_view where, std::uint64_t limit = most_unpacked);

} // namespace ppsim::traces
