#pragma once
#include "ppsim/graph/timeline.hpp"

#include <span>

namespace ppsim {

/// Adds what follows the tasks: gradient reductions and optimizer steps (SPEC section 2), for any transfer model.
/// Leaves `timeline` as it is where the scenario has no such cost.
void add_update(const TaskGraph& graph, Timeline& timeline);

/// W, alone or as a part of B.
[[nodiscard]] constexpr bool adds_to_weights(Pass pass) {
  return pass == Pass::backward || pass == Pass::weight_grad;
}

/// When all of that is over, where stages end their tasks, and chunks have their last gradients, at these times.
[[nodiscard]] SimTime end_of_update(const TaskGraph& graph, const HeldChunks& held, std::span<const SimTime> stages,
                                    std::span<const SimTime> gradients);

/// When `stage` is done with its step: its tasks (under `blocking` its last send too) and, where there is one, its
/// optimizer step.
[[nodiscard]] SimTime stage_end(const TaskGraph& graph, const Timeline& timeline, StageId stage);

} // namespace ppsim
