#pragma once
// Percentile: the one definition of medians and percentiles in ppsim.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace ppsim {

/// The smallest value that at least `percent` per cent of all values do not exceed (nearest rank; 50 is the lower
/// median). A value-initialised one if there are none.
template <class Value>
[[nodiscard]] Value percentile(std::vector<Value> values, std::size_t percent) {
  if (values.empty()) return Value{};
  const std::size_t rank = (values.size() * percent + 99) / 100;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

/// The same of sorted values (at least one), at any share from 0 to 1.
template <class Value>
[[nodiscard]] Value percentile_of_sorted(const std::vector<Value>& values, double share) {
  constexpr double rounding = 1e-9; // of a share that is not exact in binary
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size()) - rounding));
  return values[std::clamp<std::size_t>(rank, 1, values.size()) - 1];
}

/// For each of the values, percentile 50 of all others, in constant time.
template <class Value>
class MedianOfOthers {
public:
  explicit MedianOfOthers(std::vector<Value> values) {
    if (values.size() < 2) return;
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2 - 1);
    std::nth_element(values.begin(), at, values.end());
    lower_ = *at;
    upper_ = *std::min_element(at + 1, values.end());
  }
  /// `own` is one of the values. Returns a value-initialised one if it is the only one.
  [[nodiscard]] Value operator()(const Value& own) const { return own <= lower_ ? upper_ : lower_; }

private:
  Value lower_{}, upper_{};
};

} // namespace ppsim
