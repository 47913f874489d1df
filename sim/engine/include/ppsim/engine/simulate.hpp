#pragma once
// Simulate: from a TaskGraph to its Timeline, under each transfer model.

#include "ppsim/graph/timeline.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace ppsim {

/// Runs the graph under its scenario's transfer model. Deterministic: equal inputs give equal timelines everywhere.
/// Throws Error (`no`) when `blocking` sends and receives deadlock, naming who waits for whom.
[[nodiscard]] Timeline simulate(const TaskGraph& graph);
/// The same where stage s cannot start before stage_ready[s], as when it is still busy with the step before. One value
/// per stage, none before zero.
[[nodiscard]] Timeline simulate(const TaskGraph& graph, std::span<const SimTime> stage_ready);

/// For each task, the slot in which it starts when every pass takes one slot and transfers none (InfiniTrain's `step`).
[[nodiscard]] std::vector<std::uint32_t> unit_steps(const TaskGraph& graph);

} // namespace ppsim
