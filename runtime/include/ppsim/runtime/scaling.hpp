#pragma once
// Scaling: what tasks that were measured with one workload take with another of the same block.

#include "ppsim/base/units.hpp"
#include "ppsim/runtime/workload.hpp"

#include <cstdint>
#include <optional>

namespace ppsim::runtime {

/// Floating-point operations of a chunk's matrix products, for one microbatch.
struct Operations {
  std::int64_t forward = 0, input_grad = 0, weight_grad = 0;
  [[nodiscard]] std::int64_t backward() const { return input_grad + weight_grad; }
  bool operator==(const Operations&) const = default;
};

/// Counts 2 m n k for each product of an m x k with a k x n matrix, and nothing for what is done number by number
/// (norm, gelu, softmax, loss). With T tokens, width w and L layers:
///
///     mlp           F = I = W = 16 L T w^2
///     transformer   F = L (24 T w^2 + 4 T^2 w)   I = L (24 T w^2 + 8 T^2 w)   W = 24 L T w^2
///
/// which is Table 1 of Qi et al., arXiv 2401.10241. The scores of attention are computed in full, also where the mask
/// is, and have no weights. The number of heads does not matter. For workloads that Backend::sizes() takes, sums are in
/// range.
[[nodiscard]] Operations operations(const Workload& workload);

/// part / whole.
struct Ratio {
  std::int64_t part = 1, whole = 1;
};

/// How many times as long the tasks of another workload take.
struct Scaling {
  Ratio forward, input_grad, weight_grad;
  Ratio backward; ///< I and then W
  Ratio optimizer;
};

/// Tasks keep their operations per second; the optimizer's step, which goes over all parameters once, its parameters
/// per second. Both workloads have one block and are such as Backend::sizes() takes.
[[nodiscard]] Scaling scaling(const Workload& from, const Workload& to);

/// `time` by that ratio, to the nearest nanosecond. Nothing where it is longer than max_duration.
[[nodiscard]] std::optional<Duration> scaled(Duration time, const Ratio& ratio);

} // namespace ppsim::runtime
