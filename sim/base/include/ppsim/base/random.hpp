#pragma once
// Pseudorandom numbers, equal on every platform.

#include <cstddef>
#include <cstdint>

namespace ppsim {

/// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014): a counter, hashed.
class SplitMix64 {
public:
  explicit constexpr SplitMix64(std::uint64_t state) : state_{state} {}
  [[nodiscard]] static constexpr std::uint64_t mixed(std::uint64_t value) {
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31U);
  }
  constexpr std::uint64_t next() { return mixed(state_ += 0x9e3779b97f4a7c15U); }
  /// Uniform from 0 to `limit` - 1, for `limit` from 1 to 2^32 - 1. The bias is below limit / 2^32.
  constexpr std::size_t below(std::size_t limit) { return static_cast<std::size_t>(((next() >> 32U) * limit) >> 32U); }
  /// Uniform in [0, 1).
  constexpr double share() { return static_cast<double>(next() >> 11U) / static_cast<double>(std::uint64_t{1} << 53U); }

private:
  std::uint64_t state_;
};

} // namespace ppsim
