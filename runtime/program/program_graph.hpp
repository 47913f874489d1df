#pragma once
// The operations of a program (tasks and transfers) with their dependencies, to find deadlocks and orders.

#include "ppsim/base/wait_graph.hpp"
#include "ppsim/runtime/program.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ppsim::runtime {

/// Why an operation waits for another one.
enum class WaitReason : std::uint8_t {
  order,  ///< a task waits for the one before it on its stage
  output, ///< a transfer waits for the task that makes it
  input,  ///< a task waits for the transfer that it needs
  slot,   ///< a task waits for the one that frees the slot of its output
  lane,   ///< a transfer waits for the one before it on their communicator
  posted, ///< P2p::batched: a transfer waits for the task after which one of its stages posts it
  batch   ///< P2p::batched: a task waits for a transfer of the batch before it
};

/// One operation per task (numbered as in the schedule), then one per transfer, channel by channel. A send and its
/// receive are one operation, because they meet.
class ProgramGraph {
public:
  using Node = WaitGraph::Node;
  using Arc = WaitGraph::Arc; ///< `why` is a WaitReason

  /// `program` must have consistent references (positions, channels).
  explicit ProgramGraph(const Program& program);

  [[nodiscard]] const WaitGraph& waits() const { return graph_; }
  [[nodiscard]] bool is_task(Node node) const { return node < tasks_; }
  [[nodiscard]] static TaskId task(Node node) { return make_id<TaskId>(node); }
  [[nodiscard]] TransferRef transfer(Node node) const;
  [[nodiscard]] Node node_of(TransferRef ref) const { return first_transfer_[index(ref.channel)] + ref.position; }

private:
  using Listed = WaitGraph::Listed;
  void list_stage(const StageProgram& stage, std::vector<Listed>& listed) const;
  static void list_channel(const Channel& channel, const std::vector<Node>& consumers, std::vector<Listed>& listed);
  void list_batches(const StageProgram& stage, std::vector<Listed>& listed) const;

  Node tasks_ = 0;
  std::vector<Node> first_transfer_; ///< by channel
  WaitGraph graph_;
};

/// The order in which the communicators of `program` take its transfers, for find_hang(): on edges and pairs that of
/// its lanes, each operation as early as those before it allow; otherwise its batches, which the next task waits for.
[[nodiscard]] CommOrder operations_of(const Program& program);

/// Throws Error (`no`) with a cycle of operations if the program does not run to its end: sends and receives that hang
/// for any number of slots (find_hang), or too few slots.
void refuse_deadlock(const Program& program);

/// The number of tasks that a stage runs in one piece from `position`, for batches: an overlapped pair, or one.
[[nodiscard]] std::size_t slot_size(const StageProgram& stage, std::size_t position);

} // namespace ppsim::runtime
