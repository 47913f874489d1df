#pragma once
// The clock of all stamps: CLOCK_MONOTONIC, which the processes of a host share. Inline, so that plugins can use it.

#include <cstdint>
#include <ctime>

namespace ppsim::runtime {

/// The time of `clock` in nanoseconds.
[[nodiscard]] inline std::int64_t read_clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// CLOCK_MONOTONIC in nanoseconds.
[[nodiscard]] inline std::int64_t monotonic_now() {
  return read_clock_ns(CLOCK_MONOTONIC);
}

} // namespace ppsim::runtime
