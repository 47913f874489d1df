#pragma once
// MeasuredRun: a schedule as it ran: the timeline of each step, memory, and how reliable the results are.

#include "ppsim/graph/timeline.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ppsim {

/// What one stage used, over all timed steps.
struct MeasuredStage {
  Bytes static_bytes{};          ///< parameters (all versions), gradients, optimizer state
  Bytes peak_bytes{};            ///< with activations; StageReport::peak_bytes() predicts it
  Bytes buffer_bytes{};          ///< transfer buffers and scratch space of the tasks; in neither of the above
  Duration busy{0};              ///< wall time inside tasks
  std::optional<Duration> cpu{}; ///< processor time inside tasks; none on devices that are not shared
  bool operator==(const MeasuredStage&) const = default;
};

/// The results of a run, compared with those of a run of one task at a time.
struct Proof {
  bool same_order = false;      ///< gradients were summed in the same order, so they must be equal bit by bit
  bool bit_equal = false;       ///< they are
  double gradient_error = 0;    ///< largest difference, relative to the largest gradient of its chunk
  double loss_error = 0;        ///< largest relative difference of a step's mean loss
  double tolerance = 0;         ///< of both, where the order differs
  std::vector<double> losses{}; ///< mean over the microbatches, by step
  [[nodiscard]] bool holds() const {
    return bit_equal || (!same_order && gradient_error <= tolerance && loss_error <= tolerance);
  }
  /// The first step whose loss is not finite: training diverged, and later results prove nothing.
  [[nodiscard]] std::optional<std::size_t> diverged() const;
  bool operator==(const Proof&) const = default;
};

/// Keys of a scenario and their values: {"tokens", "256"}.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// How and where a run was made, in words.
struct RunFacts {
  std::string backend{}; ///< "threads"
  std::string
      compute{}; ///< "mlp: 256 tokens, width 512, 1 layer per chunk" or "timed: tasks last as the scenario says"
  std::string transport{}; ///< "buffers are handed over", "emulated links"
  std::string machine{};   ///< processor or device, cores, system
  std::string command{};   ///< that made the run
  bool timed = false;      ///< tasks had prescribed durations: the run says nothing about real compute
  /// The settings of the tasks' work. Empty if tasks were timed, or if it is unknown.
  Settings workload{};
  bool operator==(const RunFacts&) const = default;
};

/// A schedule as it ran.
struct MeasuredRun {
  Schedule schedule;
  RunFacts facts{};
  std::vector<Timeline>
      steps{}; ///< in the order they ran; the first task of each starts at zero. Without causes: attribute() adds them
  std::vector<MeasuredStage> stages{};
  std::optional<Proof> proof{};
  std::optional<Duration> clock_error{}; ///< bound of the error between the clocks of stages; none: they share one
  bool unaligned = false; ///< a transfer ended before it began by more than that bound, or the bound is unknown
  /// By step, then by sender: whether the transfer was not recorded. Its span is a guess: zero length at the end of its
  /// sender. Empty if all were recorded.
  std::vector<std::vector<bool>> unrecorded{};

  [[nodiscard]] bool has_recorded(std::size_t step, TaskId sender) const {
    return unrecorded.empty() || !unrecorded[step][index(sender)];
  }
};

/// Identifies the run by its tasks and their times: 16 hexadecimal digits, equal for the same run in any file. Costs
/// store the id of the run that they were measured in.
[[nodiscard]] std::string run_id(const MeasuredRun& run);

/// The number of transfers, over all steps, that were not recorded.
[[nodiscard]] std::size_t unrecorded_transfers(const MeasuredRun& run);

/// A run is contended if processor time is below this share of wall time on some stage: cpu < 0.9 busy.
inline constexpr double least_core_share = 0.9;
/// Processor time / wall time inside tasks, of the stage with the lowest share; none if it was not recorded.
[[nodiscard]] std::optional<double> core_share(const MeasuredRun& run);
/// Whether stages shared their cores with other work, so that times are not reliable. False for timed tasks, which
/// sleep.
[[nodiscard]] bool is_contended(const MeasuredRun& run);
/// The step of (lower) median length. The run must have steps.
[[nodiscard]] std::size_t median_step(const MeasuredRun& run);

/// How and where `run` was made, in one sentence for the head of a report: its machine and its tasks. Warns if cores
/// were shared or transfers were not recorded.
[[nodiscard]] std::string describe(const MeasuredRun& run);

/// Error of stamps between stages that share a clock: stamps of devices are quantised.
inline constexpr Duration time_stamp_resolution = std::chrono::microseconds{10};
/// Throws Error (bad_input) with `where` and every inconsistency: an order that cannot run; vectors that do not fit the
/// order; negative or unbounded times; steps whose first task does not start at zero; overlapping tasks of a stage;
/// transfers that end before they begin between stages with a common clock. Unless the run is `unaligned`, also
/// transfers that end before their sender, and tasks that start before their input arrives, by more than `clock_error`
/// and the resolution of stamps. Call it first for a run from a file or another program.
void check_run(const MeasuredRun& run, std::string_view where);

/// An input counts as in time if it arrives within this percentage of the task's length after the task before has
/// ended: the receiver polls for it only then and sees it late.
inline constexpr std::int64_t noticed_late_percent = 1;
/// Sets what released each task, reduction and optimizer step, and why, from the times of a measured timeline: the last
/// to end among the task before on its stage and the inputs (but see noticed_late_percent). The halves of a pair that
/// ran one after the other are attributed separately.
void attribute(const TaskGraph& graph, Timeline& timeline);

} // namespace ppsim
