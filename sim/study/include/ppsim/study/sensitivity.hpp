#pragma once
// Sensitivity: the gain of a small change, each from its own simulation.

#include "ppsim/graph/task_graph.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ppsim {

/// The kind of change.
enum class Change : std::uint8_t {
  stage,        ///< one stage computes 1 % faster: its tasks take 99 % of their time, except overhead and collectives
  link,         ///< transfers between two stages take half of their time, in both directions
  microbatches, ///< there are more microbatches
  chunks        ///< there are more chunks per stage
};
[[nodiscard]] std::string_view to_string(Change change);

/// One change and its step time.
struct SensitivityFigure {
  Change change{};
  StageId stage{};         ///< for a link, one end
  StageId other{};         ///< for a link, the other end
  std::size_t count = 0;   ///< the new number of microbatches, or chunks per stage
  std::string fields = {}; ///< the fields that make the change, if flags can
  Duration step_time{0};
  double gain = 0; ///< the share by which the step time per microbatch is shorter; negative: longer
};

/// A change that could not be made, with the reason.
struct RefusedChange {
  Change change{};
  std::string reason;
};

/// A stage without variation of its tasks, while those of all others vary as before.
struct StillStage {
  StageId stage{};
  Duration p95{0};
  double gain = 0; ///< the share by which p95 is shorter than the run's p95
};

struct Sensitivity {
  std::vector<SensitivityFigure> figures; ///< the largest gain first; equals in the order of Change, then of stages
  std::vector<RefusedChange> refused;
  std::vector<StillStage> still; ///< if the run was sampled: all stages, the largest gain first
};

/// The figures of every stage, and of every link whose transfers take time, against the `base` step time. The order
/// stays unchanged. Simulates on up to `threads` threads; the result does not depend on their number. Throws Error as
/// lower() and step_time().
[[nodiscard]] std::vector<SensitivityFigure> stages_and_links(const TaskGraph& graph, Duration base,
                                                              std::size_t threads);

struct StepSpread;
struct SampledCopies;

/// The p95 of the step time if one stage does not vary, in any copy, for each stage, against `base`; ranked by gain.
/// Samples on up to `threads` threads; the result does not depend on their number.
[[nodiscard]] std::vector<StillStage> still_stages(std::span<const SampledCopies> copies, const StepSpread& base,
                                                   std::size_t threads);

/// The share by which `time` for `microbatches` is shorter per microbatch than `base_time` for `base_microbatches`.
[[nodiscard]] double gain_over(Duration base_time, std::size_t base_microbatches, Duration time,
                               std::size_t microbatches);

/// Sorts the figures in the order of Sensitivity::figures.
void rank(Sensitivity& sensitivity);

struct Evaluation;
struct RunSpec;

/// The sensitivity of `run`, an evaluation of `spec`: every stage and link with the same order, more microbatches and
/// more chunks per stage from their own runs. None, with a note, if that would simulate too much or the step time is
/// unknown.
[[nodiscard]] std::optional<Sensitivity> find_sensitivity(const RunSpec& spec, const Evaluation& run,
                                                          std::vector<std::string>& notes);

} // namespace ppsim
