#pragma once
// When a stage posts its receives. Knows nothing of NCCL.

#include "ppsim/runtime/program.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace ppsim::runtime::gpu {

/// One operation of a stage on a communicator that others share.
struct LaneOperation {
  TransferRef transfer;
  bool sends = false;
  std::ptrdiff_t gate = never; ///< a receive is posted when the task at this position has ended; `begin`: at once
  static constexpr std::ptrdiff_t begin = -1;
  static constexpr std::ptrdiff_t never = std::numeric_limits<std::ptrdiff_t>::max();
};

/// What `stage` launches on `lane`, in order. A receive that waits keeps multiprocessors busy, so it is posted about a
/// task ahead: when the last task with a transfer of its own, of those up to two before its consumer, has ended.
///
/// A gate adds an arc (gate -> transfer) to the graph that verify() found free of cycles. It must not close one: what
/// waits for the transfer is its consumer, and what follows it on the lane. So no gate lies behind what a later
/// operation of this stage on the lane needs: the consumer of a receive, or the producer of a send. Then every path out
/// of the transfer leads to what comes behind the gate on this stage anyway, and a path back to the gate would have
/// closed a cycle without it.
[[nodiscard]] inline std::vector<LaneOperation> lane_operations(const Program& program, StageId stage,
                                                                const Lane& lane) {
  const StageProgram& tasks = program.stages[index(stage)];
  const auto begin_of_stage = static_cast<std::ptrdiff_t>(index(program.schedule.first_task(stage)));
  const auto position_of = [&](TaskId task) { return static_cast<std::ptrdiff_t>(index(task)) - begin_of_stage; };
  // Last task up to each position that calls the transport when it ends.
  std::vector<std::ptrdiff_t> last_seen(tasks.tasks.size());
  std::ptrdiff_t seen = LaneOperation::begin;
  const auto is_remote = [&](const std::optional<TransferRef>& ref) {
    return ref && !program.channels[index(ref->channel)].is_local();
  };
  for (std::size_t i = 0; i < tasks.tasks.size(); ++i) {
    if (is_remote(tasks.tasks[i].input) || is_remote(tasks.tasks[i].output)) seen = static_cast<std::ptrdiff_t>(i);
    last_seen[i] = seen;
  }
  std::vector<LaneOperation> operations;
  for (const TransferRef ref : lane.transfers)
    operations.push_back({.transfer = ref, .sends = program.channels[index(ref.channel)].from == stage});
  std::ptrdiff_t bound = LaneOperation::never;
  for (auto operation = operations.rbegin(); operation != operations.rend(); ++operation) {
    const Transfer& transfer = program.transfer(operation->transfer);
    if (operation->sends) {
      bound = std::min(bound, position_of(transfer.producer));
      continue;
    }
    const std::ptrdiff_t consumer = position_of(transfer.consumer);
    bound = std::min(bound, consumer - 1);
    const std::ptrdiff_t latest = std::min(bound, consumer - 2);
    operation->gate = latest < 0 ? LaneOperation::begin : last_seen[static_cast<std::size_t>(latest)];
  }
  return operations;
}

} // namespace ppsim::runtime::gpu
