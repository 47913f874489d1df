#pragma once
// MeasuredRun: a schedule as it really ran: the timeline of each step, memory, and how far its results can be trusted.

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
  Bytes peak_bytes{};            ///< with activations; what StageReport::peak_bytes() predicts
  Bytes buffer_bytes{};          ///< of transfers, and scratch space of the tasks; in neither of the above
  Duration busy{0};              ///< wall time inside tasks
  std::optional<Duration> cpu{}; ///< processor time in them; none on devices, where nobody shares
  bool operator==(const MeasuredStage&) const = default;
};

/// The results of a run, held against those of a run that does one task at a time.
struct Proof {
  bool same_order = false;      ///< gradients were summed in the same order, so that they have to be equal bit by bit
  bool bit_equal = false;       ///< they are
  double gradient_error = 0;    ///< largest difference, relative to the largest gradient of its chunk
  double loss_error = 0;        ///< largest relative difference of a step's mean loss
  double tolerance = 0;         ///< of both, where the order differs
  std::vector<double> losses{}; ///< mean over the microbatches, by step
  [[nodiscard]] bool holds() const {
    return bit_equal || (!same_order && gradient_error <= tolerance && loss_error <= tolerance);
  }
  /// The first step whose loss is not a finite number: training diverged, and nothing is shown of what came of it.
  [[nodiscard]] std::optional<std::size_t> diverged() const;
  bool operator==(const Proof&) const = default;
};

/// Keys of a scenario and their values: {"tokens", "256"}.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// How and where a run was made, in words for people.
struct RunFacts {
  std::string backend{}; ///< "threads"
  std::string
      compute{}; ///< "mlp: 256 tokens, width 512, 1 layer per chunk" or "timed: tasks last as the scenario says"
  std::string transport{}; ///< "buffers are handed over", "emulated links"
  std::string machine{};   ///< processor or device, cores, system
  std::string command{};   ///< that made it
  bool timed = false;      ///< tasks were given durations: nothing is said about real compute
  /// What the tasks computed. None where tasks were timed, or it is unknown.
  Settings workload{};
  bool operator==(const RunFacts&) const = default;
};

/// A schedule as it really ran.
struct MeasuredRun {
  Schedule schedule;
  RunFacts facts{};
  std::vector<Timeline> steps{}; ///< in the order they ran; the first task of each starts at zero. No causes yet:
                                 ///< attribute() finds them
  std::vector<MeasuredStage> stages{};
  std::optional<Proof> proof{};
  std::optional<Duration> clock_error{}; ///< bound of the error between the clocks of stages; none: they share one
  bool unaligned = false;                ///< a transfer ended before it began, beyond that bound; or no bound is known
  /// By step, then by sender: a transfer that was not recorded. Its span is a guess: without length, when its content
  /// was made. Empty where all were recorded.
  std::vector<std::vector<bool>> unrecorded{};

  [[nodiscard]] bool has_recorded(std::size_t step, TaskId sender) const {
    return unrecorded.empty() || !unrecorded[step][index(sender)];
  }
};

/// Tells this run from others, by what its tasks were and when they ran: 16 hexadecimal digits, the same of the run in
/// any file. Costs carry that of the run that they were measured in.
[[nodiscard]] std::string run_id(const MeasuredRun& run);

/// How many transfers of all steps were not recorded.
[[nodiscard]] std::size_t unrecorded_transfers(const MeasuredRun& run);

/// Wall time below which processor time has to stay for a run to be called contended: cpu < 0.9 busy on some stage.
inline constexpr double least_core_share = 0.9;
/// Processor time per wall time inside tasks, of the stage that has least; none where it was not recorded.
[[nodiscard]] std::optional<double> core_share(const MeasuredRun& run);
/// Whether stages shared their cores with others, so that times say nothing. Never of timed tasks, which sleep.
[[nodiscard]] bool is_contended(const MeasuredRun& run);
/// The step whose length is the (lower) median of all. The run must have steps.
[[nodiscard]] std::size_t median_step(const MeasuredRun& run);

/// Where and how `run` was made, in one sentence for the head of a report: what it ran on and what its tasks did; with
/// a warning where its cores were shared, and one where transfers were not recorded.
[[nodiscard]] std::string describe(const MeasuredRun& run);

/// Stages that share a clock may read it this much too early or too late: time stamps of devices come in steps.
inline constexpr Duration time_stamp_resolution = std::chrono::microseconds{10};
/// Throws Error (bad_input) with `where` and everything that cannot be: an order that cannot run, vectors that do not
/// fit the order, negative or endless times, steps whose first task does not start at zero, tasks of a stage that are
/// not one after another, transfers that end before they begin between stages that share a clock. Unless the run is
/// `unaligned`, also transfers that end before their sender has, and tasks that start before their input is there, by
/// more than `clock_error` and the resolution of time stamps. Of a run from a file, or from another program,
/// call it before all else.
void check_run(const MeasuredRun& run, std::string_view where);

/// An input that was there so soon after the task before had ended, as a share of the task's own length, counts as
/// there in time: who receives looks for it only then, and sees it late.
inline constexpr std::int64_t noticed_late_percent = 1;
/// Sets what released each task, reduction and optimizer step, and why, from the times of a measured timeline: of the
/// task before on its stage and what came in, the last to end (but see noticed_late_percent). The halves of a pair that
/// ran one after the other each have their own.
void attribute(const TaskGraph& graph, Timeline& timeline);

} // namespace ppsim
