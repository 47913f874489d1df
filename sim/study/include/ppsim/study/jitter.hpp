#pragma once
// Jitter: what a step takes where a task does not take the same time twice (docs/uneven.md).

#include "ppsim/graph/task_graph.hpp"
#include "ppsim/study/measured_jitter.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace ppsim {

/// How much, and how often to look.
struct Jitter {
  std::int64_t ppm = 0;       ///< standard deviation of what a task takes, in millionths of its mean
  std::size_t samples = 1000; ///< steps of one copy
  std::uint64_t seed = 1;
  std::size_t copies = 1;                           ///< of the pipeline, which end a step together
  std::shared_ptr<const MeasuredJitter> measured{}; ///< in place of `ppm`
};

/// Limits of what is asked for.
struct JitterLimits {
  static constexpr std::int64_t ppm = 1'000'000;
  static constexpr std::size_t samples = 1'000'000;
  static constexpr std::uint64_t tasks = std::uint64_t{1} << 32; ///< of all samples together
  static constexpr std::size_t samples_per_copy = 100;           ///< fewer say nothing of the slowest of all copies
};

/// What a step takes, over all samples: until the slowest copy ends.
struct StepSpread {
  static constexpr std::size_t quantile_count = 200;
  Jitter of;
  Duration mean{0}, p50{0}, p95{0}, p99{0};
  std::vector<Duration> quantiles{}; ///< what i / quantile_count of steps take at most, from 0, the least of all, on
};

/// The standard error of p95: how far it may be off as so many samples are but some of all steps. By their number and
/// how dense they lie there (the order statistic of a share is normal for many samples).
[[nodiscard]] Duration p95_error(const StepSpread& spread);

/// Called from time to time with how many of all samples are done.
using SampleWatch = std::function<void(std::size_t done, std::size_t of)>;

/// Copies of the pipeline that run the same graph; those of others have draws of their own.
struct SampledCopies {
  const TaskGraph* graph = nullptr;
  std::size_t count = 1;
};

/// Of one step, its tasks and what follows them. Each task of a sample takes its time in the scenario by a factor of
/// its own: log-normal, with mean 1 and a standard deviation of `jitter.ppm`, or as draw_measured() says; transfers,
/// reductions and the optimizer take what they take. The slowest of all copies is at most x with the product over
/// `copies` of F(x)^count, where F(x) is the share of a graph's samples up to x. `jitter.copies` is the sum of all
/// counts. The same everywhere for the same seed. The tasks of a `still` stage take what they take; those of others
/// vary as they do without one, so that two results differ by that stage alone. Throws Error where the samples are too
/// many, or too few for the copies.
[[nodiscard]] StepSpread find_spread(std::span<const SampledCopies> copies, const Jitter& jitter,
                                     std::optional<StageId> still = std::nullopt, const SampleWatch& watch = {});
/// Of copies that are alike.
[[nodiscard]] StepSpread find_spread(const TaskGraph& graph, const Jitter& jitter,
                                     std::optional<StageId> still = std::nullopt);

/// The samples themselves, to be run one by one.
struct DrawnSteps {
  std::vector<std::vector<Duration>> times; ///< by sample and task, when it runs alone
  std::vector<Duration> steps;              ///< by sample: what the step takes with them
};
/// The samples that find_spread() is made from, in their order; of one copy.
[[nodiscard]] DrawnSteps draw_samples(const TaskGraph& graph, const Jitter& jitter);

} // namespace ppsim
