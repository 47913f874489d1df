#pragma once
// The transfer models of simulate(), and shared functions.

#include "ppsim/graph/timeline.hpp"

#include <cstdint>
#include <span>

namespace ppsim {

/// `latency`: nothing contends, so the longest path through the DAG is the discrete-event result.
[[nodiscard]] Timeline simulate_latency(const TaskGraph& graph, std::span<const SimTime> stage_ready);
/// `link`: discrete events. A link serves transfers in the order in which their senders ended.
[[nodiscard]] Timeline simulate_link(const TaskGraph& graph, std::span<const SimTime> stage_ready);
/// The transfer model `blocking` (SPEC section 2). Stages start at zero or at `stage_ready`. Throws Error (`no`) if the
/// order deadlocks under it.
[[nodiscard]] Timeline simulate_blocking(const TaskGraph& graph, std::span<const SimTime> stage_ready = {});

/// A timeline before any task has run; stages cannot start before `stage_ready`, or zero if it is empty.
[[nodiscard]] Timeline empty_timeline(const Schedule& schedule, std::span<const SimTime> stage_ready);

/// Records that `from` lets `to` start at `arrival` at the earliest. Of several inputs that arrive last together, the
/// task before on the stage is recorded, otherwise the lowest id, so that the order of calls does not matter.
inline void release(Timeline& timeline, std::uint32_t from, std::uint32_t to, SimTime arrival, Cause cause) {
  SimTime& start = timeline.tasks[to].start;
  TaskId& by = timeline.released_by[to];
  if (arrival < start) return;
  if (arrival == start && by != no_task && (by == TaskId{to - 1} || (from != to - 1 && by < TaskId{from}))) return;
  start = arrival;
  by = TaskId{from};
  timeline.cause[to] = cause;
}

} // namespace ppsim
