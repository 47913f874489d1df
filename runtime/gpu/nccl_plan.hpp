#pragma once
// What NCCL needs of a program: its communicators, the order of their creation, and when a stage posts its receives.
// Independent of NCCL.

#include "ppsim/runtime/program.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace ppsim::runtime::gpu {

/// A communicator and the stages in it; a stage's rank is its position.
struct CommunicatorPlan {
  std::vector<StageId> members;
  [[nodiscard]] bool has(StageId stage) const { return rank_of(stage) < members.size(); }
  [[nodiscard]] std::size_t rank_of(StageId stage) const {
    return static_cast<std::size_t>(std::find(members.begin(), members.end(), stage) - members.begin());
  }
};

/// Pairs of stages that both hold a chunk and exchange its gradients; the lower one first.
[[nodiscard]] inline std::vector<std::pair<StageId, StageId>> sharing_stages(const Program& program) {
  std::set<std::pair<StageId, StageId>> pairs;
  for (std::size_t one = 0; one < program.stages.size(); ++one)
    for (std::size_t other = one + 1; other < program.stages.size(); ++other)
      for (const auto chunk : program.stages[one].chunks)
        if (std::ranges::binary_search(program.stages[other].chunks, chunk))
          pairs.emplace(make_id<StageId>(one), make_id<StageId>(other));
  return {pairs.begin(), pairs.end()};
}

/// First one per lane of the program, in order (P2p::batched: one of all stages), then one per pair of
/// sharing_stages().
[[nodiscard]] inline std::vector<CommunicatorPlan> plan_communicators(const Program& program) {
  std::vector<CommunicatorPlan> plans;
  if (program.p2p == P2p::batched) {
    CommunicatorPlan all;
    for (std::size_t stage = 0; stage < program.stages.size(); ++stage) all.members.push_back(make_id<StageId>(stage));
    plans.push_back(std::move(all));
  }
  for (const Lane& lane : program.lanes) plans.push_back({{lane.first, lane.second}});
  for (const auto& [one, other] : sharing_stages(program)) plans.push_back({{one, other}});
  return plans;
}

/// Positions in `plans`, in the order in which every process creates its communicators. The order must be the same
/// everywhere, or two processes would wait for each other. Those that begin at an even stage come first, so that
/// neighbours do not all wait for the first pair.
[[nodiscard]] inline std::vector<std::size_t> creation_order(const std::vector<CommunicatorPlan>& plans) {
  std::vector<std::size_t> order(plans.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_partition(order, [&](std::size_t plan) {
    return index(std::min(plans[plan].members.front(), plans[plan].members.back())) % 2 == 0;
  });
  return order;
}

/// One operation of a stage on a shared communicator.
struct LaneOperation {
  TransferRef transfer;
  bool sends = false;
  std::ptrdiff_t gate = never; ///< a receive is posted when the task at this position has ended; `begin`: at once
  static constexpr std::ptrdiff_t begin = -1;
  static constexpr std::ptrdiff_t never = std::numeric_limits<std::ptrdiff_t>::max();
};

/// The operations of `stage` on `lane`, in order. A waiting receive occupies multiprocessors, so it is posted about one
/// task ahead: after the last task with a transfer among the two before its consumer.
///
/// A gate adds an arc (gate -> transfer) to the graph that verify() found free of cycles, and must not close one. The
/// transfer's consumer and the next operation on the lane wait for the transfer. So no gate may come after the consumer
/// of a receive, or the producer of a send, of this or a later operation of this stage on the lane. Every path from the
/// transfer then leads to operations after the gate on this stage, and a path back to the gate would have closed a
/// cycle without it.
[[nodiscard]] inline std::vector<LaneOperation> lane_operations(const Program& program, StageId stage,
                                                                const Lane& lane) {
  const StageProgram& tasks = program.stages[index(stage)];
  const auto begin_of_stage = static_cast<std::ptrdiff_t>(index(program.schedule.first_task(stage)));
  const auto position_of = [&](TaskId task) { return static_cast<std::ptrdiff_t>(index(task)) - begin_of_stage; };
  // The last task up to each position that calls the transport when it ends.
  std::vector<std::ptrdiff_t> last_seen(tasks.tasks.size());
  std::ptrdiff_t seen = LaneOperation::begin;
  for (std::size_t i = 0; i < tasks.tasks.size(); ++i) {
    if (program.leaves_stage(tasks.tasks[i].input) || program.leaves_stage(tasks.tasks[i].output))
      seen = static_cast<std::ptrdiff_t>(i);
    last_seen[i] = seen;
  }
  std::vector<LaneOperation> operations;
  for (const TransferRef ref : lane.transfers)
    operations.push_back({.transfer = ref, .sends = program.channel(ref).from == stage});
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
