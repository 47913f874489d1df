#pragma once
#include "ppsim/sim/timeline.hpp"

namespace ppsim {

/// Adds what follows the tasks: gradient reductions and optimizer steps (SPEC section 2), for any transfer model.
/// Leaves `timeline` as it is where the scenario has no such cost.
void add_update(const TaskGraph& graph, Timeline& timeline);

} // namespace ppsim
