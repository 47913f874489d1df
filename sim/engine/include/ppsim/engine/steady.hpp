#pragma once
// Steady state: what a step costs in the long run where stages do not meet between steps (SPEC section 4).

#include "ppsim/graph/timeline.hpp"

namespace ppsim {

/// Whether steps follow each other without a flush, so that the makespan of one is not what it costs.
[[nodiscard]] bool has_steady_state(const TaskGraph& graph);
/// How many tasks steady_interval simulates at least: eight steps, or the first run of an asynchronous schedule.
[[nodiscard]] std::uint64_t steady_tasks(const TaskGraph& graph);

/// The interval between steps of a graph that has_steady_state(). With an optimizer step per stage: eight steps, in
/// which a stage starts the next one when its optimizer step has ended; (end of the eighth - end of the fourth) / 4 on
/// the last stage to end, rounded to the nearest. Of an asynchronous schedule, which must have an origin(), from an
/// order that its generator makes for more microbatches: once the end of each pass of each microbatch is the same time
/// after that of the microbatch one period before, that time, scaled from the period to m and rounded to the nearest. A
/// run that does not settle is doubled up to 2^19 tasks; then it is the mean over the later part. Throws Error as
/// make_schedule(), lower() and simulate() do.
[[nodiscard]] Duration steady_interval(const TaskGraph& graph);

/// What a step costs in the long run: that interval, or where stages meet between steps the makespan.
[[nodiscard]] Duration step_time(const TaskGraph& graph);

} // namespace ppsim
