#pragma once
// Variable work: for a job whose task times vary (sequences of different lengths), the mean and the tail of its step
// times, by drawing whole steps from the measured ones.
//
//   MeasuredRun per replica --work_distribution()--> WorkDistribution --step_work()--> Scenario, for a simulation
//   WorkDistribution, simulated times --draw_steps()--> DrawnSteps

#include "ppsim/measured/compared_time.hpp"
#include "ppsim/measured/cost_model.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ppsim {

/// The distribution that steps are drawn from: the task times of a job in some of its steps, from the run files of its
/// replicas. The unit of a draw is a replica's work in a whole step. That keeps what its tasks have in common: the size
/// of a microbatch, shared by all stages and passes; microbatches that the loader balanced against each other; a slow
/// worker. Replicas are drawn independently, except for the `level` of a step, unless they balance each other. If the
/// microbatches of a step are also shown to be independent, new steps are mixed from them, so that a replica's longest
/// step is not the longest of a few.
struct WorkDistribution {
  std::span<const MeasuredRun> replicas;
  std::size_t first = 0, last = 0; ///< the steps [first, last) of the runs
  std::vector<Scenario> means;     ///< by replica: each task takes the mean of its chunk and pass in these steps
  /// By step from `first`: the common factor of all replicas, of mean 1. It is the work of a step over that of the mean
  /// step, reduced to the share that exceeds chance among independent replicas (method of moments, as in the analysis
  /// of variance with one random effect). 1 with one replica.
  std::vector<double> levels;
  /// The replicas balance each other, so one step is drawn for all of them and levels are 1. True if the variance of
  /// their total work is less than a quarter of that of independent replicas.
  bool together = false;
  /// Microbatches of a step vary independently. True if the variance of a replica's work in a step equals the sum over
  /// its microbatches, within 2.5 standard deviations, and is known to 15 % (90 steps of replicas or more).
  bool apart = false;
  /// By step: the measured step time of the job minus its slowest replica's simulated tasks: reductions, optimizer,
  /// gathers, late starts.
  std::vector<Duration> outside;
  /// By replica: its tasks in each step, simulated with their own times. If microbatches are `apart`, eight times as
  /// many mixed steps follow; each has the level of the step at its position modulo steps().
  std::vector<std::vector<Duration>> tasks;
  [[nodiscard]] std::size_t steps() const { return last - first; }
};

/// Learns from steps [first, last), at least two, of the replicas of a job. They must have passed check_run() and have
/// the same order and number of steps. Simulates on up to `threads` threads; the result does not depend on their
/// number. None if halves of a pair share their time: durations of single tasks are then unknown.
[[nodiscard]] std::optional<WorkDistribution>
work_distribution(std::span<const MeasuredRun> replicas, std::size_t first, std::size_t last, std::size_t threads);

/// Costs of `replica` with its task times in `step` of the distribution (from 0), for any schedule of the same chunks
/// and microbatches. Steps from steps() on are mixed: each microbatch has the tasks of a step drawn for it.
[[nodiscard]] Scenario step_work(const WorkDistribution& work, std::size_t replica, std::size_t step);

/// One drawn step of the job.
struct DrawnStep {
  Duration tasks{0};      ///< of the slowest replica, until its last task
  Duration mean_tasks{0}; ///< the mean over the replicas
  Duration step{0};       ///< until its end, including the time outside the tasks
  bool operator==(const DrawnStep&) const = default;
};

/// Whether sums vary as sums of independent parts: `ratio` is their variance over the sum of their parts' variances,
/// known with `freedom` degrees of freedom. True within 2.5 standard deviations of 1 and if known to 15 % (from 89
/// degrees of freedom). A less certain ratio could hide dependence.
[[nodiscard]] bool vary_independently(double ratio, std::size_t freedom);

/// Draws `samples` steps of a job. Level and time outside the tasks come from one measured step. Each replica's tasks
/// come from another step, drawn for it alone, measured or mixed (with `together`, from that same step and one
/// replica). Simulated `tasks` (by replica and step) are scaled by the ratio of the levels of the two steps. The draws
/// depend on `seed` only.
[[nodiscard]] std::vector<DrawnStep> draw_steps(const WorkDistribution& work,
                                                const std::vector<std::vector<Duration>>& tasks, std::size_t samples,
                                                std::uint64_t seed);

/// Steps of a job predicted from those before them, and the effect of variable work.
struct VariableWork {
  std::size_t first = 0; ///< the first step that was learned from; earlier ones are outliers
  std::size_t learned = 0;
  std::size_t steps = 0; ///< predicted steps: the last ones
  /// Step times of the job; percentiles are nearest ranks of `steps` steps. The prediction is the median over groups of
  /// `steps` drawn steps, because the highest rank of few steps is less extreme than that of many.
  ComparedTime mean{}, p50{}, p95{}, p99{};
  double mean_error = 0;          ///< mean of |predicted mean / measured - 1| over those steps
  Duration constant{0};           ///< the step with the mean of its replica, stage and pass for every task
  double constant_mean_error = 0; ///< as mean_error, for `constant`
  Duration in_replicas{0};    ///< the part of the predicted mean by which steps of a replica are longer than `constant`
  Duration waits{0};          ///< the mean time that a replica waits for the slowest one of the step
  Duration constant_waits{0}; ///< the part of `waits` that exists at constant cost: replicas that are always slower
  bool together = false;      ///< WorkDistribution::together
  bool apart = false;         ///< WorkDistribution::apart
  std::size_t samples = 0;
  std::uint64_t seed = 0;
  /// The time that variable work adds to a step, against constant cost. Below zero if ends of steps vary together.
  [[nodiscard]] Duration added() const { return mean.predicted - constant; }
};

/// Default number of drawn steps, and their seed.
inline constexpr std::size_t default_samples = 10'000;
inline constexpr std::uint64_t default_seed = 1;
/// The fewest steps to learn from, and to predict.
inline constexpr std::size_t least_steps_of_a_half = 4;

/// Learns from the first `share` of the steps and predicts the others; each part has at least least_steps_of_a_half.
/// Skips outliers at the start: steps in which the slowest replica's tasks, or the time after them, all took longer (or
/// all shorter) than in any later step, by more than the later steps differ from each other and by more than 1 %. Of
/// eight steps or more, skips at most half. None if there are too few steps, no samples, or no work_distribution().
/// `replicas` as for work_distribution().
[[nodiscard]] std::optional<VariableWork> predict_variable_work(std::span<const MeasuredRun> replicas, double share,
                                                                std::size_t threads,
                                                                std::size_t samples = default_samples,
                                                                std::uint64_t seed = default_seed);

} // namespace ppsim
