#pragma once
#include "ppsim/sim/timeline.hpp"

namespace ppsim {

/// The transfer model `blocking` (SPEC section 2). Throws Error (`no`) when the order deadlocks under it.
[[nodiscard]] Timeline simulate_blocking(const TaskGraph& graph);

} // namespace ppsim
