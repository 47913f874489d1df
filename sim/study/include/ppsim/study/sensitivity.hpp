#pragma once
// Sensitivity: what a small change of one thing gives, each from a simulation of its own.

#include "ppsim/graph/task_graph.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ppsim {

/// What is changed.
enum class Change : std::uint8_t {
  stage,        ///< one stage computes 1 % faster: its tasks take 99 % of their time, but for overhead and collectives
  link,         ///< transfers between two stages, both ways, take half of their time
  microbatches, ///< there are more microbatches
  chunks        ///< there are more chunks per stage
};
[[nodiscard]] std::string_view to_string(Change change);

/// One change and the step time that it gives.
struct SensitivityFigure {
  Change change{};
  StageId stage{};         ///< of a link, one end
  StageId other{};         ///< of a link, the other end
  std::size_t count = 0;   ///< how many microbatches, or chunks per stage, there then are
  std::string fields = {}; ///< that make it, where flags do
  Duration step_time{0};
  double gain = 0; ///< the share by which the step time per microbatch is shorter; negative: longer
};

/// A change that could not be made, and why.
struct RefusedChange {
  Change change{};
  std::string reason;
};

/// A stage none of whose tasks vary, while those of all others take what they took.
struct StillStage {
  StageId stage{};
  Duration p95{0};
  double gain = 0; ///< the share by which that is shorter than the p95 of the run
};

struct Sensitivity {
  std::vector<SensitivityFigure> figures; ///< the largest gain first; equals in the order of Change, then of stages
  std::vector<RefusedChange> refused;
  std::vector<StillStage> still; ///< of a run that was sampled, all stages, the largest gain first
};

/// The figures of every stage, and of every link whose transfers take time, against the `base` step time. The order
/// stays as it is. Simulates on up to `threads` threads; the result does not depend on their number. Throws Error as
/// lower() and step_time() do.
[[nodiscard]] std::vector<SensitivityFigure> stages_and_links(const TaskGraph& graph, Duration base,
                                                              std::size_t threads);

struct StepSpread;
struct SampledCopies;

/// What 95 % of steps take at most where one of the stages does not vary, in any copy, against the `base` of all of
/// them; ranked. Samples on up to `threads` threads; the result does not depend on their number.
[[nodiscard]] std::vector<StillStage> still_stages(std::span<const SampledCopies> copies, const StepSpread& base,
                                                   std::size_t threads);

/// The share by which `time` for `microbatches` is shorter per microbatch than `base_time` for `base_microbatches`.
[[nodiscard]] double gain_over(Duration base_time, std::size_t base_microbatches, Duration time,
                               std::size_t microbatches);

/// Sorts the figures as Sensitivity says.
void rank(Sensitivity& sensitivity);

struct Evaluation;
struct RunSpec;

/// Of `run`, an evaluation of `spec`: the figures of every stage and link from the same order, and those of more
/// microbatches and more chunks per stage from runs of their own. Nothing where that would simulate too much, or the
/// step time is not known: then there is a note that says so.
[[nodiscard]] std::optional<Sensitivity> find_sensitivity(const RunSpec& spec, const Evaluation& run,
                                                          std::vector<std::string>& notes);

} // namespace ppsim
