#pragma once
// Comparison: the same work under several schedules, and which one to take.

#include "ppsim/study/run_report.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ppsim {

/// What an order demands of the runtime and of the training, in addition to time and memory.
struct Demands {
  std::size_t chunks_per_stage = 1; ///< on one stage; with two directions, of both
  std::size_t parameter_copies =
      1;                        ///< at most, for any chunk: stages that hold it, times versions that one of them keeps
  bool splits_backward = false; ///< I and W as separate tasks
  bool overlaps_pairs = false;  ///< one F and one B at the same time
  bool folds = false;           ///< two consecutive chunks on one stage: placed in a V or in waves, not in a loop
  bool asynchronous = false;    ///< no flush: gradients are applied to newer weights than they were computed with
  bool operator==(const Demands&) const = default;
};
[[nodiscard]] Demands demands_of(const Schedule& schedule, const RunReport& report);

/// A simulated candidate.
struct Contender {
  std::string name;   ///< unique in its comparison: "interleaved", or "interleaved v=4" if it has several entries
  std::string fields; ///< with the comparison's other inputs, they run it alone: "`schedule` interleaved `vpp` 4"
  Shape shape;
  Demands demands;
  Layout layout; ///< empty if layers were not given
  RunReport report;
  /// Of the stage with the most, in activations of a whole stage: chunk activations / chunks per stage.
  [[nodiscard]] double peak_stage_activations() const;
  [[nodiscard]] bool fits() const { return !report.overflow; }
};

/// A schedule that does not apply to these inputs, and why.
struct NotApplicable {
  std::string name;
  std::string reason;                ///< the problem and the remedy, in one line
  bool is_held_by_transfers = false; ///< it deadlocks under the transfer model but would run under `latency`
};

/// Which contender to take; recommendation.hpp has the reasons. Positions in Comparison::contenders.
struct Recommendation {
  std::size_t best = 0;                 ///< the first that fits, does not change the training, and has a known figure
  std::optional<std::size_t> runner_up; ///< the next fastest of those
  std::optional<std::size_t> simpler;   ///< demands less of the runtime, and is at most `simpler_within` slower
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
  bool halves_assumed = false; ///< whole backwards were given; each is assumed to be half I, half W
  bool knows_memory = false;   ///< sizes were given, so Report::peak_bytes() is meaningful
  StepFigure ranked_by = StepFigure::step_time;
  /// By the ranking figure; those without it come last, by step time. Equals are sorted by peak memory, then by
  /// demands, then as in generators().
  std::vector<Contender> contenders;
  std::vector<NotApplicable> not_applicable;
  std::optional<Recommendation> recommendation; ///< none if nothing fits
  /// The figure by which it is ranked; none if unknown.
  [[nodiscard]] std::optional<Duration> figure_of(const Contender& contender) const {
    return find_figure(contender.report, ranked_by);
  }
};

/// Sorts the contenders and recommends one. `contenders` come in the order of generators().
void rank(Comparison& comparison);

/// How steps were sampled; null if none were.
[[nodiscard]] const Jitter* sampled_as(const Comparison& comparison);

} // namespace ppsim
