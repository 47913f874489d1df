#pragma once
#include "ppsim/sim/timeline.hpp"

namespace ppsim {

/// The transfer model `blocking` (SPEC section 2). Stages start at zero, or when `stage_ready` says. Throws Error
/// (`no`) when the order deadlocks under it.
[[nodiscard]] Timeline simulate_blocking(const TaskGraph& graph, std::span<const SimTime> stage_ready = {});

} // namespace ppsim
