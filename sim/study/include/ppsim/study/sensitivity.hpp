#pragma once
// Sensitivity: what a small change of one thing gives, each from a simulation of its own.

#include "ppsim/graph/task_graph.hpp"

#include <functional>
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
  StageId stage{};        ///< of a link, one end
  StageId other{};        ///< of a link, the other end
  std::size_t count = 0;  ///< how many microbatches, or chunks per stage, there then are
  std::string flags = {}; ///< that make it, where flags do
  Duration step_time{0};
  double gain = 0; ///< the share by which the step time per microbatch is shorter; negative: longer
};

/// A change that could not be made, and why.
struct RefusedChange {
  Change change{};
  std::string reason;
};

struct Sensitivity {
  std::vector<SensitivityFigure> figures; ///< the largest gain first; equals in the order of Change, then of stages
  std::vector<RefusedChange> refused;
};

/// How many tasks are simulated for the figures of stages and links, if one run simulates `tasks_per_run`.
[[nodiscard]] std::size_t sensitivity_tasks(const TaskGraph& graph, std::size_t tasks_per_run);

/// The figures of every stage, and of every link whose transfers take time, against `step_time`. The order stays as it
/// is. `step_time_of` finds the step time of a changed scenario and is called on up to `threads` threads at once; the
/// result does not depend on their number. Throws what `step_time_of` throws.
[[nodiscard]] std::vector<SensitivityFigure>
stages_and_links(const TaskGraph& graph, Duration step_time,
                 const std::function<Duration(const Scenario&)>& step_time_of, std::size_t threads);

/// The share by which `time` for `microbatches` is shorter per microbatch than `base_time` for `base_microbatches`.
[[nodiscard]] double gain_over(Duration base_time, std::size_t base_microbatches, Duration time,
                               std::size_t microbatches);

/// Sorts the figures as Sensitivity says.
void rank(Sensitivity& sensitivity);

} // namespace ppsim
