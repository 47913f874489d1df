#pragma once
// Scaling: scales measured task times to another workload with the same block.

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

/// Counts 2 m n k for each product of an m x k and a k x n matrix, and nothing for elementwise work (norm, gelu,
/// softmax, loss). With T tokens, width w and L layers:
///
///     mlp           F = I = W = 16 L T w^2
///     transformer   F = L (24 T w^2 + 4 T^2 w)   I = L (24 T w^2 + 8 T^2 w)   W = 24 L T w^2
///
/// This is Table 1 of Qi et al., arXiv 2401.10241. Attention scores are computed in full, masked parts included, and
/// have no weights. The number of heads does not matter. Sums stay in range for workloads that Backend::sizes()
/// accepts.
[[nodiscard]] Operations operations(const Workload& workload);

/// part / whole.
struct Ratio {
  std::int64_t part = 1, whole = 1;
};
[[nodiscard]] double value_of(const Ratio& ratio);

/// Factors from one workload's task times to another's.
struct Scaling {
  Ratio forward, input_grad, weight_grad;
  Ratio backward; ///< I and then W
  Ratio optimizer;
};

/// Assumes that tasks keep their operations per second. The optimizer step reads all parameters once and keeps its
/// parameters per second. Both workloads must have the same block and be accepted by Backend::sizes().
[[nodiscard]] Scaling scaling(const Workload& from, const Workload& to);

/// `time` times `ratio`, to the nearest nanosecond. None if it exceeds max_duration.
[[nodiscard]] std::optional<Duration> scaled(Duration time, const Ratio& ratio);

/// A task's time at a second workload, with `ratio` times the operations of the first.
struct SecondTime {
  Duration time{0};
  Ratio ratio;
};

/// The power e for which time * ratio^e is the time of both workloads; below 1 where larger products reach more
/// operations per second. 1 if both have as many operations, or a time is zero: then the first time alone counts.
[[nodiscard]] double exponent(Duration time, const SecondTime& second);

/// `time` times ratio^exponent(time, second), to the nearest nanosecond (log and pow are the C library's). None if it
/// exceeds max_duration.
[[nodiscard]] std::optional<Duration> scaled(Duration time, const Ratio& ratio, const SecondTime& second);

} // namespace ppsim::runtime
