#pragma once
// CostModel: measured times of tasks and transfers, as costs for simulations.

#include "ppsim/measured/measured.hpp"

#include <string>
#include <vector>

namespace ppsim {

/// A measured duration, over all its runs.
struct Statistic {
  Duration mean{0};
  Duration spread{0}; ///< standard deviation
  double drift = 0;   ///< mean of the last quarter of the steps / mean of the first - 1; 0 with few steps
  std::size_t runs = 0;
};

/// One chunk's times. Its backward is either whole or split; the other kind has zero runs.
struct ChunkStatistics {
  Statistic forward, backward, input_grad, weight_grad;
  std::vector<Duration> forward_by_microbatch, backward_by_microbatch, input_grad_by_microbatch,
      weight_grad_by_microbatch; ///< means; empty without runs
};

/// Costs from a measured run.
struct CostModel {
  Shape shape;
  std::string schedule;                ///< the generator that makes this order; empty if there is none
  std::vector<StageId> placement;      ///< of the chunks
  std::vector<ChunkStatistics> chunks; ///< by global id
  /// By boundary between chunks, both directions. A transfer's time counts from its sender's end to its receiver's
  /// begin, without the rest. The mean and spread are of the lowest quarter of these times, because in the others both
  /// sides waited. `runs` counts all recorded ones; zero: unknown. explain() uses the same time for transfers.
  std::vector<Statistic> transfers;
  std::vector<std::size_t> unrecorded; ///< as above: number of transfers that were not recorded
  /// How stages send: `latency` (sends run by themselves) or `blocking` (a stage continues when they end). The one
  /// under which simulated steps, with each task's measured time, come nearest to the measured ones.
  TransferModel transfer = TransferModel::latency;
  PairRule pair; ///< serial: one half after the other; factor: shorter than alone, and the costs are those of tasks
                 ///< alone; otherwise max
  std::vector<Bytes> peak; ///< by stage; empty if not measured
  Statistic optimizer;     ///< of the slowest stage; zero runs if there was none
  std::size_t steps = 0;   ///< that were used
  std::string run;         ///< the run_id() of the run
};

/// Costs of steps [first, last) of `run`, at least one. `run` must have passed check_run().
[[nodiscard]] CostModel cost_model(const MeasuredRun& run, std::size_t first, std::size_t last);
/// A scenario with these costs: every task takes the mean of its chunk and pass (with `by_microbatch` also of its
/// microbatch), every transfer that of its boundary.
[[nodiscard]] Scenario scenario_of(const CostModel& model, bool by_microbatch = false);

/// `scenario` with every task's own duration from `step`, a step of `schedule`. Half of a whole backward counts for
/// each gradient. Costs::overhead, which is between tasks, stays.
[[nodiscard]] Scenario with_own_times(Scenario scenario, const Schedule& schedule, const Timeline& step);

/// The time of a pass on most chunks, and the extra time of the first and of the last chunk.
struct WithoutEnds {
  Duration chunk{0}, first{0}, last{0};
};
/// From the times of a pass by chunk, as scenario_of() has them. The mean is over the chunks between the ends, or with
/// two chunks it is the lower of the two. An end that takes less has fewer layers, so it has no extra time; a
/// difference within the spread of its runs is not extra time either. Such an end counts towards the mean.
[[nodiscard]] WithoutEnds without_ends(const std::vector<Duration>& times, const CostModel& model,
                                       Statistic ChunkStatistics::*pass);

/// The order of a run, for views of its timelines; its costs have no meaning.
[[nodiscard]] TaskGraph measured_graph(const MeasuredRun& run);

/// How well the costs of a run's first steps predict the others. All errors are of the time from the first task to the
/// last: predicted / measured - 1. The differences between the mean errors separate their sources: from `mean_error` to
/// `step_mean_error` drift between steps, from there to `own_error` differences between microbatches, and `own_error`
/// what no task or transfer explains.
struct HeldOut {
  std::size_t calibrated = 0;                      ///< steps that the costs are from
  TransferModel transfer = TransferModel::latency; ///< CostModel::transfer of those steps
  std::vector<double> errors;                      ///< of the other steps
  double mean_error = 0;                           ///< of their absolute values
  double own_error = 0;                            ///< the same with every task's own duration instead of the mean
  double step_mean_error = 0;                      ///< the same with the means of each step
  /// Mean share of reductions, the optimizer and waits for other replicas in these steps, relative to the time from the
  /// first task to the last. The errors exclude it.
  double after_tasks = 0;
};
/// Calibrates on the first `share` of the steps (at least one) and predicts the others (at least one). Throws Error
/// (bad_input) if there is only one step.
[[nodiscard]] HeldOut hold_out(const MeasuredRun& run, double share);

} // namespace ppsim
