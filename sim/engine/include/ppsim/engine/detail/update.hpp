#pragma once
#include "ppsim/graph/timeline.hpp"

#include <span>

namespace ppsim {

/// Adds the work after the tasks to `timeline`: gradient reductions and optimizer steps (SPEC section 2), for any
/// transfer model. Without such costs in the scenario, `timeline` stays unchanged.
void add_update(const TaskGraph& graph, Timeline& timeline);

/// W, alone or as part of B.
[[nodiscard]] constexpr bool adds_to_weights(Pass pass) {
  return pass == Pass::backward || pass == Pass::weight_grad;
}

/// The end of that work, if stages end their tasks, and chunks have their last gradients, at these times.
[[nodiscard]] SimTime end_of_update(const TaskGraph& graph, const HeldChunks& held, std::span<const SimTime> stages,
                                    std::span<const SimTime> gradients);

/// When `stage` ends its step: its tasks (under `blocking` also its last send) and its optimizer step, if any.
[[nodiscard]] SimTime stage_end(const TaskGraph& graph, const Timeline& timeline, StageId stage);

} // namespace ppsim
