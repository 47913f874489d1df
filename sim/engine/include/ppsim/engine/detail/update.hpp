#pragma once
#include "ppsim/graph/timeline.hpp"

namespace ppsim {

/// Adds what follows the tasks: gradient reductions and optimizer steps (SPEC section 2), for any transfer model.
/// Leaves `timeline` as it is where the scenario has no such cost.
void add_update(const TaskGraph& graph, Timeline& timeline);

/// When `stage` is done with its step: its tasks (under `blocking` its last send too) and, where there is one, its
/// optimizer step.
[[nodiscard]] SimTime stage_end(const TaskGraph& graph, const Timeline& timeline, StageId stage);

} // namespace ppsim
