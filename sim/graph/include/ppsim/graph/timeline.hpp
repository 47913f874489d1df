#pragma once
// Timeline: when each task and transfer ran, and what released it; simulated or measured.

#include "ppsim/graph/task_graph.hpp"

#include <vector>

namespace ppsim {

/// From start to end.
struct Span {
  SimTime start{};
  SimTime end{};
  [[nodiscard]] constexpr Duration length() const { return end - start; }
  bool operator==(const Span&) const = default;
};

/// What let a reduction or an optimizer step start: the last of what it waited for, a task (or the transfer that a task
/// sent, where sending holds the stage) or a reduction.
struct UpdateRelease {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  TaskId task = no_task;
  bool sent = false;            ///< it was not the task but its transfer
  std::size_t reduction = none; ///< position in Timeline::reductions; then `task` is not set
};

/// The reduction of one chunk's gradients on one of the stages that hold it.
struct Reduction {
  StageId stage{};
  ChunkId chunk{};
  bool tied = false; ///< of the embedding that the first and the last chunk share, between their stages
  Span span;
  UpdateRelease released_by;
};

/// A stage's optimizer step for all its chunks; without length where the stage has no such cost.
struct OptimizerRun {
  Span span;
  UpdateRelease released_by;
};

/// What a stage waits for after its last task: the end of the transfer `by`, for itself or for its group.
struct HeldEnd {
  SimTime at{};
  TaskId by = no_task; ///< its sender
};

/// When one send or receive was where.
struct OpRun {
  SimTime launched{}; ///< its stage had done the tasks before it
  SimTime front{};    ///< and it was the next on its communicator there
  SimTime done{};     ///< it, and the others of its group on that communicator
};

/// When each task and transfer ran and what released it. The vectors of tasks and transfers are indexed by TaskId; a
/// transfer has the id of its sender. Both halves of an overlapped pair that runs in one piece have the span of the
/// pair.
struct Timeline {
  std::vector<Span> tasks;
  std::vector<Span> transfers; ///< {0, 0} where a task sends nothing; in slices, from the first to the last; under
                               ///< `streams` from when data flows
  std::vector<TaskId>
      released_by; ///< the last input to arrive (the sender, for a transfer), or the task before; no_task for none
  std::vector<Cause> cause; ///< why released_by released it
  /// Where a transfer started later than its sender ended: the task (`blocking`, `streams`: after which a side came
  /// that far) or the transfer's sender (`link`: who held the link; `streams`: who stood in front) that it waited for.
  /// Empty where transfers start at once (`latency`).
  std::vector<TaskId> transfer_released_by;
  /// Of `streams`, else empty. Whether transfer_released_by names a transfer, which stood in front, rather than a task.
  std::vector<bool> waited_for_transfer;
  /// The same: where a task started later than its input (or its own send) was there, the sender of the transfer of the
  /// same group that ended then; no_task elsewhere.
  std::vector<TaskId> group_released_by;
  std::vector<HeldEnd> held_end;       ///< as above, by stage; empty where no stage waits after its last task
  std::vector<OpRun> operations;       ///< as above, as in CommOrder::ops()
  std::vector<Reduction> reductions;   ///< stage by stage, each stage's as they ran; the tied ones last
  std::vector<OptimizerRun> optimizer; ///< by stage; empty where nothing follows the tasks (Update::is_free)
};

/// The end of the last task, reduction or optimizer step.
[[nodiscard]] SimTime end_of(const Timeline& timeline);
/// The end of the last task of all stages.
[[nodiscard]] SimTime tasks_end(const TaskGraph& graph, const Timeline& timeline);

} // namespace ppsim
