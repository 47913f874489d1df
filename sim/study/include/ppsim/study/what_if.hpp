#pragma once
// What-if figures: the step time of the same order under costs that differ in one respect, each from its own
// simulation.

#include "ppsim/graph/task_graph.hpp"

#include <optional>

namespace ppsim {

/// Step times of the same order. None if the change has no effect or the schedule is asynchronous.
struct WhatIf {
  std::optional<Duration> no_communication; ///< transfers take no time
  std::optional<Duration> equal_stages;     ///< every chunk costs the mean of its pass
  std::optional<Duration> no_recompute;     ///< every forward keeps its activation
};

[[nodiscard]] WhatIf what_if(const TaskGraph& graph);

} // namespace ppsim
