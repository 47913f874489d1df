#pragma once
// Timeline: when each task and transfer ran, and what released it; simulated or measured.

#include "ppsim/sim/task_graph.hpp"

#include <vector>

namespace ppsim {

/// From start to end.
struct Span {
  SimTime start{};
  SimTime end{};
  [[nodiscard]] constexpr Duration length() const { return end - start; }
  bool operator==(const Span&) const = default;
};

/// When each task and transfer ran and what released it. All vectors are indexed by TaskId; a transfer has the id of
/// its sender. Both halves of an overlapped pair that runs in one piece have the span of the pair.
struct Timeline {
  std::vector<Span> tasks;
  std::vector<Span> transfers; ///< {0, 0} where a task sends nothing
  std::vector<TaskId>
      released_by; ///< the last input to arrive (the sender, for a transfer), or the task before; no_task for none
  std::vector<Cause> cause; ///< why released_by released it
  /// Where a transfer started later than its sender ended: the task (`blocking`: the other side's) or the transfer's
  /// sender (`link`: who held the link) that it waited for. Empty where transfers start at once (`latency`).
  std::vector<TaskId> transfer_released_by;
};

/// Runs the graph under its scenario's transfer model. Deterministic: equal inputs give equal timelines everywhere.
/// Throws Error (`no`) when `blocking` sends and receives deadlock, naming who waits for whom.
[[nodiscard]] Timeline simulate(const TaskGraph& graph);

/// For each task, the slot in which it starts when every pass takes one slot and transfers none (InfiniTrain's `step`).
[[nodiscard]] std::vector<std::uint32_t> unit_steps(const TaskGraph& graph);

} // namespace ppsim
