#pragma once
// Validation: a prediction compared with a run that it was not fitted to.

#include "ppsim/measured/compared_time.hpp"
#include "ppsim/measured/measured.hpp"
#include "ppsim/measured/variable_work.hpp"
#include "ppsim/report/report.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ppsim {

/// Errors of the durations of one pass's tasks. Halves of a pair that share their time have no durations of their own
/// and are left out.
struct PassError {
  Pass pass{};
  std::size_t tasks = 0;
  ComparedTime median; ///< lower median of the durations
  /// Median of measured / predicted - 1 over the tasks. Tasks predicted to take no time are left out; none if all were.
  std::optional<double> median_error;
  std::optional<double> p95_error; ///< 95th percentile of its absolute value (the nearest rank)
};

struct StageError {
  ComparedTime busy;
  ComparedTime idle;
  ComparedTime end; ///< end of its last task
  Bytes predicted_peak{};
  Bytes measured_peak{};
  [[nodiscard]] bool same_peak() const { return predicted_peak == measured_peak; }
};

/// Why a task was late (or early).
enum class Lateness : std::uint8_t {
  slow,  ///< it took longer (or shorter)
  waited ///< its inputs came late
};

/// What delayed a task.
enum class Delay : std::uint8_t {
  none,     ///< nothing of its own
  length,   ///< it took longer
  transfer, ///< the transfer of its output took longer
  start     ///< its stage was free and its input had arrived, but it had not started
};

/// A task that delayed its stage: by its own length, or by a wait before it that was not predicted. Both halves of a
/// pair that share their time are one, with the id of the first.
struct Deviation {
  TaskId task{};
  Duration predicted{0}; ///< its duration; for a pair that of both halves
  Duration start{0};     ///< measured - predicted
  Duration length{0};    ///< measured - predicted, of its duration
  Duration wait{0};      ///< measured - predicted, of the wait between the task before it on its stage and this one
  Lateness because{};    ///< the larger of the two
  TaskId waited_for = no_task; ///< with `waited`: the task whose output (or end) released it; no_task if all inputs had
                               ///< arrived, but it had not started
  /// With `waited_for`: in the chain of late tasks that released each other, the one that exceeded its prediction most;
  /// `delay` says in what. `waited_for` itself if none did.
  TaskId behind = no_task;
  Delay delay{};
  Duration delayed{0}; ///< by how much; if this is small compared with the wait, many small delays added up
  /// The larger of |length| and |wait|.
  [[nodiscard]] Duration size() const;
};

/// A prediction compared with a run. Measured work that was not predicted (reductions, optimizer steps) is left out of
/// all figures except `steps` and `unpredicted_...`, as if it took no time.
struct Validation {
  /// The median step, from its first task to its end. Without a flush between steps (Schedule::asynchronous), this is
  /// one step alone, not the cost of each of many.
  ComparedTime step;
  std::optional<ComparedTime>
      alone; ///< the same, predicted from times measured one stage at a time; none if they are unknown
  /// The same, predicted with every task's duration in that step. The remaining error is then in transfers, starts and
  /// the work after the tasks; the rest of the error is in task durations. None if halves of a pair share their time or
  /// activations are recomputed, because durations of single tasks are then unknown.
  std::optional<ComparedTime> own_times;
  std::size_t step_used = 0;   ///< the position of the median step
  std::vector<Duration> steps; ///< measured, in order
  double bubble_predicted = 0; ///< bubble_ratio
  double bubble_measured = 0;
  std::vector<StageError> stages;
  std::vector<PassError> passes; ///< only passes that occur
  double start_error_p95 = 0;    ///< 95th percentile of |start error| over the tasks, as a share of the measured step
  std::vector<Deviation> deviations; ///< the `most` largest, largest first; of equal ones the earliest first
  double tolerance = 0;
  bool contended = false;       ///< if so, this is not a validation
  bool unaligned = false;       ///< if so, this is not a validation: clocks of stages differ by more than their bound
  bool knows_memory = false;    ///< peaks were predicted (activations and parameters have sizes) and measured
  std::optional<bool> proved{}; ///< whether the results were correct; none: they were not compared
  /// The time that gradient reductions added to the step, if none was predicted.
  std::optional<Duration> unpredicted_exchange{};
  std::optional<Duration> unpredicted_optimizer{}; ///< as above, for the optimizer
  /// The costs were measured in this run. The errors then show how well the pipeline model fits, and nothing about
  /// other runs.
  bool own_costs = false;
  /// What the first steps of the run predict for the others, independent of this prediction; only if requested.
  std::optional<VariableWork> variable{};
  /// Whether peaks are equal on every stage, or unknown.
  [[nodiscard]] bool same_peaks() const;
  /// Whether the run can be compared: neither contended nor unaligned.
  [[nodiscard]] bool counts() const { return !contended && !unaligned; }
  [[nodiscard]] bool in_tolerance() const; ///< |step error|
  /// Step error within the tolerance, memory equal if predicted and measured, results correct if compared, clocks
  /// aligned, not contended.
  bool holds = false;
};

/// Facts of a replay that are neither in its run nor in its validation.
struct ReplayFacts {
  std::size_t warmup = 0;                 ///< steps before the first timed one
  bool predicts = true;                   ///< false if task times are unknown
  std::vector<Duration> drawn_steps = {}; ///< with jitter: the predicted time of each timed step
};

/// Additional facts of a prediction.
struct PredictionFacts {
  std::optional<Duration> alone = {}; ///< the step predicted from times measured one stage at a time
  std::string costs_of = {};          ///< the run_id() of the run that the costs are from; empty: unknown
};

/// Compares the prediction for `graph` with the median step of `run`, which must have the same order. Throws Error
/// (bad_input) if the orders differ or the run is broken (check_run).
[[nodiscard]] Validation validate_run(const TaskGraph& graph, const Timeline& prediction, const MeasuredRun& run,
                                      double tolerance, const PredictionFacts& known = {}, std::size_t most = 10);

} // namespace ppsim
