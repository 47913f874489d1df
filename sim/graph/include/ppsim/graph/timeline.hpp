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

/// What released a reduction or an optimizer step: the last of its inputs, a task, its transfer (if sending blocks the
/// stage) or a reduction.
struct UpdateRelease {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  TaskId task = no_task;
  bool sent = false;            ///< the task's transfer released it
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

/// A stage's optimizer step for all its chunks; zero length if the stage has no such cost.
struct OptimizerRun {
  Span span;
  UpdateRelease released_by;
};

/// What a stage waits for after its last task: the end of the transfer of `by`, or of its group.
struct HeldEnd {
  SimTime at{};
  TaskId by = no_task; ///< the transfer's sender
};

/// The times of one send or receive.
struct OpRun {
  SimTime launched{}; ///< when its stage had run the tasks before it
  SimTime front{};    ///< when it also was the first on its communicator
  SimTime done{};     ///< when it and the others of its group on that communicator were done
};

/// When each task and transfer ran and what released it. TaskId indexes the vectors of tasks and transfers; a transfer
/// has the id of its sender. Both halves of an overlapped pair that runs in one piece have the span of the pair.
struct Timeline {
  std::vector<Span> tasks;
  std::vector<Span> transfers; ///< {0, 0} if a task sends nothing; with slices, from the first to the last; under
                               ///< `streams`, from when data flows
  std::vector<TaskId>
      released_by; ///< the last input to arrive (for a transfer, its sender) or the task before; no_task if none
  std::vector<Cause> cause; ///< why released_by released it
  /// What delayed a transfer that started after its sender's end. `link`: the sender of the transfer that used the
  /// link. `blocking`: the task after which the later side was ready. `streams`: that task, or the sender of the
  /// transfer in front. Empty if transfers start at once (`latency`).
  std::vector<TaskId> transfer_released_by;
  /// Under `streams`, otherwise empty: whether transfer_released_by is the sender of a transfer in front, not a task.
  std::vector<bool> waited_for_transfer;
  /// Under `streams`, otherwise empty: for a task that started after the arrival of its input (or the end of its own
  /// send), the sender of the transfer of the same group that ended then; otherwise no_task.
  std::vector<TaskId> group_released_by;
  std::vector<HeldEnd> held_end;       ///< under `streams`, by stage; empty if no stage waits after its last task
  std::vector<OpRun> operations;       ///< under `streams`, in the order of CommOrder::ops()
  std::vector<Reduction> reductions;   ///< stage by stage in the order they ran; the tied ones last
  std::vector<OptimizerRun> optimizer; ///< by stage; empty if nothing follows the tasks (Update::is_free)
};

/// The end of the last task, reduction or optimizer step.
[[nodiscard]] SimTime end_of(const Timeline& timeline);
/// The end of the last task of all stages.
[[nodiscard]] SimTime tasks_end(const TaskGraph& graph, const Timeline& timeline);

} // namespace ppsim
