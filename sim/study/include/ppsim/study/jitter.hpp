#pragma once
// Jitter: the step time if a task's time varies (docs/uneven.md).

#include "ppsim/graph/task_graph.hpp"
#include "ppsim/study/measured_jitter.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace ppsim {

/// The amount of variation, and the number of samples.
struct Jitter {
  std::int64_t ppm = 0;       ///< standard deviation of a task's time, in millionths of its mean
  std::size_t samples = 1000; ///< steps of one copy
  std::uint64_t seed = 1;
  std::size_t copies = 1;                           ///< of the pipeline; a step ends when the last of them ends
  std::shared_ptr<const MeasuredJitter> measured{}; ///< replaces `ppm`
};

/// Limits of what is asked for.
struct JitterLimits {
  static constexpr std::int64_t ppm = 1'000'000;
  static constexpr std::size_t samples = 1'000'000;
  static constexpr std::uint64_t tasks = std::uint64_t{1} << 32; ///< over all samples
  static constexpr std::size_t samples_per_copy = 100;           ///< fewer do not determine the slowest of all copies
};

/// The time of a step over all samples, until the slowest copy ends.
struct StepSpread {
  static constexpr std::size_t quantile_count = 200;
  Jitter of;
  Duration mean{0}, p50{0}, p95{0}, p99{0};
  std::vector<Duration>
      quantiles{}; ///< quantiles[i]: i / quantile_count of the steps take at most this; quantiles[0] is the minimum
};

/// The standard error of p95 caused by the number of samples. Follows from that number and the density of samples
/// around p95 (order statistics are normal for many samples).
[[nodiscard]] Duration p95_error(const StepSpread& spread);

/// Called from time to time with the number of finished samples.
using SampleWatch = std::function<void(std::size_t done, std::size_t of)>;

/// Copies of the pipeline that run the same graph. Each graph has its own draws.
struct SampledCopies {
  const TaskGraph* graph = nullptr;
  std::size_t count = 1;
};

/// Samples one step: its tasks and the work after them. Each task takes its time in the scenario times a random factor:
/// log-normal with mean 1 and standard deviation `jitter.ppm`, or as in draw_measured(). Transfers, reductions and the
/// optimizer do not vary. The slowest of all copies takes at most x with probability prod F(x)^count over `copies`, if
/// F(x) is the share of a graph's samples up to x. `jitter.copies` must be the sum of all counts. Equal seeds give
/// equal results on every platform. The tasks of a `still` stage do not vary; those of other stages get the same
/// factors as without it, so that two results differ by that stage alone. Throws Error if there are too many samples,
/// or too few for the copies.
[[nodiscard]] StepSpread find_spread(std::span<const SampledCopies> copies, const Jitter& jitter,
                                     std::optional<StageId> still = std::nullopt, const SampleWatch& watch = {});
/// For equal copies.
[[nodiscard]] StepSpread find_spread(const TaskGraph& graph, const Jitter& jitter,
                                     std::optional<StageId> still = std::nullopt);

/// The samples, to simulate them one by one.
struct DrawnSteps {
  std::vector<std::vector<Duration>> times; ///< by sample and task: its time if it runs alone
  std::vector<Duration> steps;              ///< by sample: the step time
};
/// The samples of find_spread() for one copy, in their order.
[[nodiscard]] DrawnSteps draw_samples(const TaskGraph& graph, const Jitter& jitter);

} // namespace ppsim
