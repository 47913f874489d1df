#pragma once
// Validation: a prediction held against a run that it did not know.

#include "ppsim/sim/measured.hpp"
#include "ppsim/sim/report.hpp"

#include <optional>
#include <vector>

namespace ppsim {

/// One figure, predicted and measured.
struct Compared {
  Duration predicted{0};
  Duration measured{0};
  /// (predicted - measured) / measured; zero where both are zero.
  [[nodiscard]] double error() const;
};

/// Of the tasks of one pass: their durations.
struct PassError {
  Pass pass{};
  std::size_t tasks = 0;
  Compared median;         ///< of the durations
  double median_error = 0; ///< of measured / predicted - 1, task by task
  double p95_error = 0;    ///< 95th percentile of its absolute value
};

struct StageError {
  Compared busy;
  Compared idle;
  Compared end; ///< of its last task
  Bytes predicted_peak{};
  Bytes measured_peak{};
  [[nodiscard]] bool same_peak() const { return predicted_peak == measured_peak; }
};

/// Why a task was late (or early).
enum class Lateness : std::uint8_t {
  slow,  ///< it took longer itself
  waited ///< what it waited for came late
};

/// A task that ended at another time than predicted.
struct Deviation {
  TaskId task{};
  Duration start{0};  ///< measured - predicted
  Duration length{0}; ///< likewise, of its duration
  Lateness because{};
  TaskId waited_for = no_task; ///< with `waited`: the task whose output (or end) released it
};

struct Validation {
  Compared step;               ///< of the median step
  std::vector<Duration> steps; ///< measured, in order
  double bubble_predicted = 0; ///< bubble_ratio
  double bubble_measured = 0;
  std::vector<StageError> stages;
  std::vector<PassError> passes; ///< those that occur
  double start_error_p95 = 0;    ///< 95th percentile of |start error| over the tasks, as a share of the measured step
  std::vector<Deviation> deviations; ///< the `most` largest |length| or newly added wait, largest first
  double tolerance = 0;
  bool contended = false; ///< then this is no validation
  [[nodiscard]] bool same_peaks() const;
  /// Step error within the tolerance, memory equal where it was measured, results proved where they were compared,
  /// clocks aligned, not contended.
  bool holds = false;
};

/// Compares the prediction for `graph` with the median step of `run`, which must have the same order. Throws Error
/// (bad_input) where it has not.
[[nodiscard]] Validation validate_run(const TaskGraph& graph, const Timeline& prediction, const MeasuredRun& run,
                                      double tolerance, std::size_t most = 10);

} // namespace ppsim
