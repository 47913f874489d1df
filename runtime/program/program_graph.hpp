#pragma once
// The operations of a program (tasks and transfers) and what each waits for: what is asked whether it runs to its end,
// and in which order.

#include "ppsim/base/wait_graph.hpp"
#include "ppsim/runtime/program.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ppsim::runtime {

/// Why an operation waits for another one.
enum class WaitReason : std::uint8_t {
  order,  ///< task for the one before it on its stage
  output, ///< transfer for the task that makes it
  input,  ///< task for the transfer that it needs
  slot,   ///< task for the one that frees the slot of its output
  lane,   ///< transfer for the one before it on their communicator
  posted, ///< P2p::batched: transfer for the task after which one of its stages posts it
  batch   ///< P2p::batched: task for a transfer of the batch before it
};

/// One operation per task (numbered as in the schedule), then one per transfer, channel by channel: a send and its
/// receive are one, as they meet.
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

/// The order in which the communicators of `program` take its transfers, as find_hang() takes it: on edges and pairs
/// that of its lanes, each operation as early as those before it allow; else its batches, for which the next task
/// waits.
[[nodiscard]] CommOrder operations_of(const Program& program);

/// Throws Error (`no`) with a cycle of operations where the program does not run to its end: sends and receives that
/// hang whatever the slots are (find_hang), or else where slots are too few.
void refuse_deadlock(const Program& program);

/// Tasks that a stage runs in one piece from `position` on, as far as batches are concerned: an overlapped pair, or
/// one.
[[nodiscard]] std::size_t slot_size(const StageProgram& stage, std::size_t position);

} // namespace ppsim::runtime
