#pragma once
// Percentile: the one way in which medians and percentiles are taken here.

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ppsim {

/// The smallest value that `percent` per cent of all do not exceed (nearest rank; 50 is the lower median). Of none:
/// a value-initialised one.
template <class Value>
[[nodiscard]] Value percentile(std::vector<Value> values, std::size_t percent) {
  if (values.empty()) return Value{};
  const std::size_t rank = (values.size() * percent + 99) / 100;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

} // namespace ppsim
