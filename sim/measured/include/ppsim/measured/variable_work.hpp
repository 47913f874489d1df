#pragma once
// Variable work: of a job whose tasks do not always take the same (sequences of other lengths), what a step takes on
// average and at worst, by drawing whole steps from those that were measured.
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

/// What the tasks of a job took in some of its steps: the distribution that steps are drawn from. The run files of its
/// replicas hold it. Drawn is the work of a replica in a whole step, so that all is kept that its tasks have in common:
/// the size of a microbatch, which all stages and passes share; microbatches that the loader balanced against each
/// other; a slow worker. Replicas are drawn independently of each other, but for the `level` of a step,
/// unless they balance each other. Where the microbatches of a step are shown to be independent, too, steps are mixed
/// of them, so that a replica's longest step is not the longest of a few.
struct WorkDistribution {
  std::span<const MeasuredRun> replicas;
  std::size_t first = 0, last = 0; ///< the steps [first, last) of the runs
  std::vector<Scenario> means;     ///< by replica: each task takes the mean of its chunk and pass in these steps
  /// By step, from `first` on: what it has in common in all replicas, as a factor of mean 1. Of the work of a step over
  /// that of the mean one, the share that is more than chance among independent replicas (method of moments, as in the
  /// analysis of variance with one random effect); 1 of one replica.
  std::vector<double> levels;
  /// The work of all replicas together varies so little (its variance is less than a quarter of what independent ones
  /// would have) that they balance each other: one step is drawn for all of them. Levels are then 1.
  bool together = false;
  /// Microbatches of a step vary independently of each other: the variance of a replica's work in a step is the sum of
  /// those of its microbatches, within 2.5 standard deviations, and is known to 15 % (of 90 steps of replicas or more).
  bool apart = false;
  /// By step: the measured time of a step of the job beyond its slowest replica's simulated tasks. Reductions,
  /// optimizer, gathers, late starts.
  std::vector<Duration> outside;
  /// By replica: its tasks in each step, simulated with their own times; and where microbatches are `apart`, eight
  /// times as many mixed steps after them, each at the level of the step at its place modulo steps().
  std::vector<std::vector<Duration>> tasks;
  [[nodiscard]] std::size_t steps() const { return last - first; }
};

/// Of steps [first, last) of the replicas of a job, which have passed check_run() and have the same order and steps; at
/// least two. Its simulations run on up to `threads` threads, whose number changes nothing. None where halves of a pair
/// share their time: nothing says then what a task takes.
[[nodiscard]] std::optional<WorkDistribution>
work_distribution(std::span<const MeasuredRun> replicas, std::size_t first, std::size_t last, std::size_t threads);

/// Costs of `replica` with what its tasks took in `step` of the distribution, from 0: for any schedule of the same
/// chunks and microbatches. Steps from steps() on are mixed: the tasks of each microbatch are those of a step of its
/// own.
[[nodiscard]] Scenario step_work(const WorkDistribution& work, std::size_t replica, std::size_t step);

/// A step of the job as it was drawn.
struct DrawnStep {
  Duration tasks{0};      ///< of the slowest replica, to its last task
  Duration mean_tasks{0}; ///< the mean over the replicas
  Duration step{0};       ///< to its end, with what is outside of the tasks
  bool operator==(const DrawnStep&) const = default;
};

/// Whether sums vary as those of independent parts do: `ratio` is their variance over the sum of their parts', known
/// with so many degrees of freedom. Within 2.5 standard deviations of 1, and known to 15 % (from 89 degrees of freedom
/// on): what is known less well would let pass what is not independent.
[[nodiscard]] bool vary_independently(double ratio, std::size_t freedom);

/// Draws `samples` steps of a job. Of each, the level and what is outside of the tasks are those of one measured step,
/// and each replica's tasks those of another step of its own, measured or mixed (of that one, where they are drawn
/// `together`, and of one replica): simulated `tasks` (by replica and step) take as much longer as the levels of the
/// two differ. Only `seed` says what is drawn.
[[nodiscard]] std::vector<DrawnStep> draw_steps(const WorkDistribution& work,
                                                const std::vector<std::vector<Duration>>& tasks, std::size_t samples,
                                                std::uint64_t seed);

/// Steps of a job predicted from those before them, and what variable work has to do with it.
struct VariableWork {
  std::size_t first = 0; ///< the first step that was learned from; those before lie apart from the others
  std::size_t learned = 0;
  std::size_t steps = 0; ///< that were predicted: the last ones
  /// Of a step of the job; percentiles are nearest ranks of `steps` steps. Predicted is the median of what they are of
  /// the drawn ones, so many at a time: the highest rank of few steps is not as far out as that of many.
  ComparedTime mean{}, p50{}, p95{}, p99{};
  double mean_error = 0;          ///< mean of |predicted mean / measured - 1| over those steps
  Duration constant{0};           ///< the step where every task takes the mean of its replica, stage and pass
  double constant_mean_error = 0; ///< as mean_error, of that
  Duration in_replicas{0};        ///< of the predicted mean, by how much steps of a replica are longer than that
  Duration waits{0};              ///< and the mean time in which a replica waits for the slowest one of the step
  Duration constant_waits{0}; ///< so much of `waits` is there at constant cost, too: replicas that are always slower
  bool together = false;      ///< WorkDistribution::together
  bool apart = false;         ///< WorkDistribution::apart
  std::size_t samples = 0;
  std::uint64_t seed = 0;
  /// What variable work adds to a step, against constant cost. Below zero where ends of steps vary together.
  [[nodiscard]] Duration added() const { return mean.predicted - constant; }
};

/// How many steps are drawn, and with what seed, unless somebody says.
inline constexpr std::size_t default_samples = 10'000;
inline constexpr std::uint64_t default_seed = 1;
/// So many steps at least are learned from, and as many predicted.
inline constexpr std::size_t least_steps_of_a_half = 4;

/// Learns from the first `share` of the steps and predicts the others; from and of at least least_steps_of_a_half.
/// Steps at the start that lie apart are not learned from: where the slowest replica's tasks, or what came after them,
/// all took longer (or all shorter) in them than in any step after them, by more than those differ among each other,
/// and a hundredth; of eight steps or more, half of them at most. None where there are too few steps, no samples, or no
/// work_distribution(). `replicas` as of that.
[[nodiscard]] std::optional<VariableWork> predict_variable_work(std::span<const MeasuredRun> replicas, double share,
                                                                std::size_t threads,
                                                                std::size_t samples = default_samples,
                                                                std::uint64_t seed = default_seed);

} // namespace ppsim
