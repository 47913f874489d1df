#pragma once
// gzip, packed and unpacked.

#include <cstdint>
#include <string>
#include <string_view>

namespace ppsim::traces {

// The most bytes that a packed file may unpack to: a file of a few megabytes can unpack to gigabytes.
inline constexpr std::uint64_t most_unpacked_log = std::uint64_t{1} << 26U;     ///< logs, workloads, results of tests
inline constexpr std::uint64_t most_unpacked = std::uint64_t{1} << 30U;         ///< lists of events, run files
inline constexpr std::uint64_t most_unpacked_whole = std::uint64_t{1} << 32U;   ///< profiles that are read at once
inline constexpr std::uint64_t most_unpacked_profile = std::uint64_t{1} << 34U; ///< profiles that are read in pieces

[[nodiscard]] constexpr bool is_gzip(std::string_view bytes) {
  return bytes.starts_with("\x1F\x8B");
}

/// Packs `bytes` as one member, for size rather than speed. Equal bytes give equal files, because name and time are
/// left out.
[[nodiscard]] std::string gzip(std::string_view bytes);

/// Unpacks `bytes`, one or several gzip members. Throws Error (bad_input, `where`) if they are corrupt, truncated, or
/// unpack to more than `limit`.
[[nodiscard]] std::string gunzip(std::string_view bytes, std::string_view where, std::uint64_t limit = most_unpacked);

} // namespace ppsim::traces
