#pragma once
// How a stage's memory changes along its order: the one place that says when an activation lives.

#include "ppsim/sim/timeline.hpp"

namespace ppsim {

/// Parameters, gradients and optimizer state of the chunks that `stage` runs.
[[nodiscard]] Bytes static_bytes(const TaskGraph& graph, StageId stage);

/// Calls visit(time, bytes, count, task) for each change, in time order: an activation lives from the start of its F to
/// the end of its B, or of its W where the backward is split (SPEC section 3).
template <class Visit>
void walk_activations(const TaskGraph& graph, const Timeline& timeline, StageId stage, Visit visit) {
  const std::vector<Bytes>& activation = graph.scenario().memory.activation;
  const std::size_t first = index(graph.schedule().first_task(stage));
  const auto tasks = graph.schedule().stage(stage);
  const auto change = [&](std::size_t i) {
    const Bytes bytes = activation[tasks[i].chunk_index];
    const TaskId id = make_id<TaskId>(first + i);
    if (tasks[i].pass == Pass::forward)
      visit(timeline.tasks[first + i].start, bytes, 1, id);
    else if (frees_activation(tasks[i].pass))
      visit(timeline.tasks[first + i].end, Bytes{} - bytes, -1, id);
  };
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const bool backward_first = tasks[i].pairing == Pairing::first && tasks[i].pass != Pass::forward;
    if (backward_first &&
        timeline.tasks[first + i + 1].start < timeline.tasks[first + i].end) { // in one piece: F starts before B ends
      change(i + 1);
      change(i);
      ++i;
    } else {
      change(i);
    }
  }
}

} // namespace ppsim
