#pragma once
// Validation: a prediction held against a run that it did not know.

#include "ppsim/measured/compared_time.hpp"
#include "ppsim/measured/measured.hpp"
#include "ppsim/measured/variable_work.hpp"
#include "ppsim/report/report.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ppsim {

/// Of the tasks of one pass: their durations. The halves of a pair that share their time have none of their own and are
/// left out.
struct PassError {
  Pass pass{};
  std::size_t tasks = 0;
  ComparedTime median; ///< of the durations, the lower one of two
  /// Of measured / predicted - 1, task by task. Tasks predicted to take no time are left out; none where all were.
  std::optional<double> median_error;
  std::optional<double> p95_error; ///< 95th percentile of its absolute value (the nearest rank)
};

struct StageError {
  ComparedTime busy;
  ComparedTime idle;
  ComparedTime end; ///< of its last task
  Bytes predicted_peak{};
  Bytes measured_peak{};
  [[nodiscard]] bool same_peak() const { return predicted_peak == measured_peak; }
};

/// Why a task was late (or early).
enum class Lateness : std::uint8_t {
  slow,  ///< it took longer itself (or shorter)
  waited ///< what it waited for came late
};

/// What of a task was late.
enum class Delay : std::uint8_t {
  none,     ///< nothing of its own
  length,   ///< it took longer itself
  transfer, ///< the transfer of its output took longer
  start     ///< it could have run, and had not begun
};

/// A task that made its stage late: by its own length, or by a wait before it that the prediction does not have. Both
/// halves of a pair that share their time are one; it has the first one's id.
struct Deviation {
  TaskId task{};
  Duration predicted{0};       ///< its duration; of a pair that of both halves
  Duration start{0};           ///< measured - predicted
  Duration length{0};          ///< as above, of its duration
  Duration wait{0};            ///< as above, of the wait between the task before it on its stage and this one
  Lateness because{};          ///< which of the two is larger
  TaskId waited_for = no_task; ///< with `waited`: the task whose output (or end) released it; no_task where all was
                               ///< there, and it had not begun
  /// With `waited_for`: of the chain of tasks that released each other, as far back as they were late at all, the one
  /// that was longest over its prediction, and in what. `waited_for` itself where none of them was.
  TaskId behind = no_task;
  Delay delay{};
  Duration delayed{0}; ///< by so much; where that is little of the wait, many small delays added up
  /// The larger of the two, as a size.
  [[nodiscard]] Duration size() const;
};

/// A prediction held against a run. What was measured besides what was predicted (reductions, optimizer steps) is left
/// out of all figures but `steps` and `unpredicted_...`, as if it had taken no time.
struct Validation {
  /// Of the median step, from its first task to its end: where no flush separates steps (Schedule::asynchronous), that
  /// is one step alone, and not what each of many takes.
  ComparedTime step;
  std::optional<ComparedTime> alone; ///< as above, predicted from times that were measured one stage at a time; where
                                     ///< somebody knows them
  /// The same, predicted with what every task took in that very step: what is left of the error then lies in transfers,
  /// starts and what follows the tasks, and all else of it in how long tasks took. Not where halves of a pair share
  /// their time or activations are computed again, as nothing says then what a task takes by itself.
  std::optional<ComparedTime> own_times;
  std::size_t step_used = 0;   ///< which one that is
  std::vector<Duration> steps; ///< measured, in order
  double bubble_predicted = 0; ///< bubble_ratio
  double bubble_measured = 0;
  std::vector<StageError> stages;
  std::vector<PassError> passes; ///< those that occur
  double start_error_p95 = 0;    ///< 95th percentile of |start error| over the tasks, as a share of the measured step
  std::vector<Deviation> deviations; ///< the `most` largest, largest first, of equal ones the earliest
  double tolerance = 0;
  bool contended = false;       ///< then this is not a validation
  bool unaligned = false;       ///< nor is it then: the clocks of stages differ by more than their bound
  bool knows_memory = false;    ///< peaks were predicted (activations and parameters have sizes) and measured
  std::optional<bool> proved{}; ///< whether the results were right; none: they were not compared
  /// Where gradients were reduced, and nothing of that was predicted: so much longer the step took for it.
  std::optional<Duration> unpredicted_exchange{};
  std::optional<Duration> unpredicted_optimizer{}; ///< as above, for the optimizer
  /// The costs were measured in this very run: then the errors say how well the model of the pipeline fits, and nothing
  /// about other runs.
  bool own_costs = false;
  /// What the first steps of the run say of the others, whatever was predicted here; where somebody asked for it.
  std::optional<VariableWork> variable{};
  /// True if peaks are equal on every stage, or nothing is known of them.
  [[nodiscard]] bool same_peaks() const;
  /// Whether the run can be held against anything: neither contended nor unaligned.
  [[nodiscard]] bool counts() const { return !contended && !unaligned; }
  [[nodiscard]] bool in_tolerance() const; ///< |step error|
  /// Step error within the tolerance, memory equal where it was predicted and measured, results proved where they were
  /// compared, clocks aligned, not contended.
  bool holds = false;
};

/// What of a replay is neither in its run nor in the validation of that.
struct ReplayFacts {
  std::size_t warmup = 0;                 ///< steps before those that count
  bool predicts = true;                   ///< false if the times of tasks are not given
  std::vector<Duration> drawn_steps = {}; ///< with jitter: what each step that counts is predicted to take
};

/// What is known of a prediction besides.
struct PredictionFacts {
  std::optional<Duration> alone = {}; ///< the step that is predicted from times measured one stage at a time
  std::string costs_of = {};          ///< the run_id() of the run that the costs are from; empty: not given
};

/// Compares the prediction for `graph` with the median step of `run`, which must have the same order. Throws Error
/// (bad_input) where it has not, or where the run is broken (check_run).
[[nodiscard]] Validation validate_run(const TaskGraph& graph, const Timeline& prediction, const MeasuredRun& run,
                                      double tolerance, const PredictionFacts& known = {}, std::size_t most = 10);

} // namespace ppsim
