#pragma once
// Comparison: the same work under several schedules, side by side; and which one to take.

#include "ppsim/study/run_report.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ppsim {

/// What an order asks of the runtime that is to run it, and of the training, beside time and memory.
struct Demands {
  std::size_t chunks_per_stage = 1; ///< that a stage runs; with two directions, of both
  std::size_t parameter_copies =
      1;                        ///< at most, of any chunk: stages that hold it, times versions that one of them keeps
  bool splits_backward = false; ///< I and W as tasks of their own
  bool overlaps_pairs = false;  ///< one F and one B at the same time
  bool folds = false;           ///< two chunks in a row on one stage: placed in a V or in waves, not in a loop
  bool asynchronous = false;    ///< no flush: gradients are applied to newer weights than they were taken at
  bool operator==(const Demands&) const = default;
};
[[nodiscard]] Demands demands_of(const Schedule& schedule, const RunReport& report);

/// One order that took part, simulated.
struct Contender {
  std::string
      name; ///< unique in its comparison: "interleaved", or "interleaved v=4" where it takes part more than once
  std::string fields; ///< with the comparison's other inputs they run it alone: "`schedule` interleaved `vpp` 4"
  Shape shape;
  Demands demands;
  Layout layout; ///< empty when layers were not given
  RunReport report;
  /// Of the stage that has most, in activations of a whole stage: chunk activations / chunks per stage.
  [[nodiscard]] double peak_stage_activations() const;
  [[nodiscard]] bool fits() const { return !report.overflow; }
};

/// A schedule that does not apply to these inputs, and why.
struct NotApplicable {
  std::string name;
  std::string reason;                ///< what is wrong and the remedy, in one line
  bool is_held_by_transfers = false; ///< it deadlocks under the transfer model, and would run under `latency`
};

/// Which contender to take; why: reasons.hpp. Positions in Comparison::contenders.
struct Recommendation {
  std::size_t best = 0; ///< the first that fits, does not change what is trained, and whose figure is known
  std::optional<std::size_t> runner_up; ///< the next fastest of those
  std::optional<std::size_t> simpler;   ///< asks less of the runtime, and is at most `simpler_within` slower
  static constexpr double simpler_within = 0.02;
};

/// The same work under several schedules.
struct Comparison {
  std::string title;  ///< as in Scenario
  std::string source; ///< as above
  std::size_t stages = 1;
  std::size_t microbatches = 1;
  TransferModel transfer_model = TransferModel::latency;
  std::optional<Bytes> memory_limit;
  bool halves_assumed = false; ///< costs of whole backwards were given, and each taken to be half I, half W
  bool knows_memory = false;   ///< sizes were given, so that Report::peak_bytes() says something
  StepFigure ranked_by = StepFigure::step_time;
  /// By the figure that is asked for, those of which it is not known after the others, by step time; equals by peak
  /// memory, then by demands, then as in generators().
  std::vector<Contender> contenders;
  std::vector<NotApplicable> not_applicable;
  std::optional<Recommendation> recommendation; ///< none where nothing fits
  /// The figure by which it is ranked; none where that is not known of it.
  [[nodiscard]] std::optional<Duration> figure_of(const Contender& contender) const {
    return find_figure(contender.report, ranked_by);
  }
};

/// Sorts the contenders and recommends one. `contenders` come in the order of generators().
void rank(Comparison& comparison);

/// How steps were sampled; null where none were.
[[nodiscard]] const Jitter* sampled_as(const Comparison& comparison);

} // namespace ppsim
