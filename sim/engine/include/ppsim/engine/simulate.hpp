#pragma once
// Simulate: computes the Timeline of a TaskGraph under each transfer model.

#include "ppsim/graph/timeline.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace ppsim {

/// Runs the graph under its scenario's transfer model. Deterministic: equal inputs give equal timelines on every
/// platform. Throws Error (`no`) if `blocking` or `streams` transfers deadlock, with the cycle of waits.
[[nodiscard]] Timeline simulate(const TaskGraph& graph);
/// The same if stage s cannot start before stage_ready[s], for example while it still works on the step before. One
/// value per stage, none below zero.
[[nodiscard]] Timeline simulate(const TaskGraph& graph, std::span<const SimTime> stage_ready);

/// For each task, the slot in which it starts if every pass takes one slot and transfers none (InfiniTrain's `step`).
[[nodiscard]] std::vector<std::uint32_t> unit_steps(const TaskGraph& graph);

} // namespace ppsim
