#pragma once
// CostModel: what tasks and transfers of a measured run took, as costs for simulations.

#include "ppsim/measured/measured.hpp"

#include <string>
#include <vector>

namespace ppsim {

/// A measured duration, over all its runs.
struct Statistic {
  Duration mean{0};
  Duration spread{0}; ///< standard deviation
  double drift = 0;   ///< mean of the last quarter of the steps over that of the first, less one; 0 with few steps
  std::size_t runs = 0;
};

/// Of one chunk. A backward is whole, or split; the other has no runs.
struct ChunkStatistics {
  Statistic forward, backward, input_grad, weight_grad;
  std::vector<Duration> forward_by_microbatch, backward_by_microbatch, input_grad_by_microbatch,
      weight_grad_by_microbatch; ///< means; empty where there are no runs
};

/// Costs of what was measured.
struct CostModel {
  Shape shape;
  std::string schedule;                ///< the generator's that makes this order; empty where there is none
  std::vector<StageId> placement;      ///< of the chunks
  std::vector<ChunkStatistics> chunks; ///< by global id
  /// By boundary between chunks, both directions. Of a transfer only the time counts that passed after its sender had
  /// ended and before its receiver began; and of those the mean (and spread) of the lowest quarter, as in the others
  /// both sides waited. `runs` counts all that were recorded, and zero is nothing said. explain() takes the same time
  /// for transfers.
  std::vector<Statistic> transfers;
  std::vector<std::size_t> unrecorded; ///< as above: how many transfers were not recorded
  /// How stages were seen to send: the one of `latency` (sends run by themselves) and `blocking` (a stage goes on when
  /// they are done) under which the steps, with what each task took, come nearest to what was measured.
  TransferModel transfer = TransferModel::latency;
  PairRule pair; ///< serial: one half after the other; factor: in less time than alone, which costs are of; else max
  std::vector<Bytes> peak; ///< by stage, where it was measured; else empty
  Statistic optimizer;     ///< of the slowest stage; without runs where none was seen
  std::size_t steps = 0;   ///< that were looked at
  std::string run;         ///< whose they are: run_id()
};

/// Costs of steps [first, last) of `run`, which check_run() has passed; there is at least one.
[[nodiscard]] CostModel cost_model(const MeasuredRun& run, std::size_t first, std::size_t last);
/// A scenario with these costs: every task takes the mean of its chunk and pass (of its microbatch, too, where asked
/// for), every transfer that of its boundary.
[[nodiscard]] Scenario scenario_of(const CostModel& model, bool by_microbatch = false);

/// `scenario` with every task as long as it was in `step`, a step of `schedule`; of a whole backward half counts for
/// each of its gradients. Costs::overhead, which lies between tasks, stays.
[[nodiscard]] Scenario with_own_times(Scenario scenario, const Schedule& schedule, const Timeline& step);

/// What a pass takes on most chunks, and what the first and the last one take beyond that.
struct WithoutEnds {
  Duration chunk{0}, first{0}, last{0};
};
/// Of the times of a pass by chunk, as scenario_of() has them. The mean is that of the chunks between the ends, or of
/// the two ends the lower. An end that takes less has fewer layers than the others, which is nothing that it does
/// besides, nor is what lies within the spread of its runs: it then counts among those of the mean.
[[nodiscard]] WithoutEnds without_ends(const std::vector<Duration>& times, const CostModel& model,
                                       Statistic ChunkStatistics::*pass);

/// The order of a run, for views of its timelines; the costs are nobody's.
[[nodiscard]] TaskGraph measured_graph(const MeasuredRun& run);

/// How well costs of the first steps of a run predict the others. All errors are of the time from the first task to the
/// last: predicted / measured - 1. What a mean error has beyond the next one is what its name leaves out: from
/// `mean_error` to `step_mean_error` drift between steps, from there to `own_error` differences between microbatches,
/// and `own_error` itself what no task or transfer accounts for.
struct HeldOut {
  std::size_t calibrated = 0;                      ///< steps that the costs are from
  TransferModel transfer = TransferModel::latency; ///< CostModel::transfer of those
  std::vector<double> errors;                      ///< of the others
  double mean_error = 0;                           ///< of their absolute values
  double own_error = 0;                            ///< the same with every task's own duration in place of the mean
  double step_mean_error = 0;                      ///< and with the means of each step by itself
  /// Mean share of these steps, in their time from the first task to the last, that reductions, the optimizer and
  /// waiting for other replicas took after it. None of the errors is about it.
  double after_tasks = 0;
};
/// Calibrates on the first `share` of the steps (at least one) and predicts the others, of which there must be one.
/// Throws Error (bad_input) where there is only one step.
[[nodiscard]] HeldOut hold_out(const MeasuredRun& run, double share);

} // namespace ppsim
