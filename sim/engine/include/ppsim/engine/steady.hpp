#pragma once
// Steady state: the time of a step in the long run, if stages do not meet between steps (SPEC section 4).

#include "ppsim/graph/timeline.hpp"

namespace ppsim {

/// Whether steps follow each other without a flush. The makespan of one step is then not its cost.
[[nodiscard]] bool has_steady_state(const TaskGraph& graph);
/// The fewest tasks that steady_interval() simulates: eight steps, or the first run of an asynchronous schedule.
[[nodiscard]] std::uint64_t steady_tasks(const TaskGraph& graph);

/// The interval between steps of a graph for which has_steady_state() holds.
///
/// Optimizer step per stage: simulates eight steps; a stage starts the next step when its optimizer step has ended. The
/// interval is (end of the eighth - end of the fourth) / 4 on the last stage to end, rounded to the nearest.
///
/// Asynchronous schedule, which must have an origin(): simulates the order that its generator makes for more
/// microbatches, until each pass of each microbatch ends a constant time after the same pass one period before. The
/// interval is that time, scaled from the period to m and rounded to the nearest. A run that does not settle is doubled
/// up to 2^19 tasks; the interval is then the mean over its later part.
///
/// Throws Error as make_schedule(), lower() and simulate().
[[nodiscard]] Duration steady_interval(const TaskGraph& graph);

/// The time of a step in the long run: steady_interval(), or the makespan if stages meet between steps.
[[nodiscard]] Duration step_time(const TaskGraph& graph);

} // namespace ppsim
