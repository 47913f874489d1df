#pragma once
// Which NCCL communicators a program needs, and in which order they are made. Knows nothing of NCCL.

#include "ppsim/runtime/program.hpp"

#include <algorithm>
#include <cstddef>
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

/// Pairs of stages that hold a chunk both, and so exchange its gradients; the lower one first.
[[nodiscard]] inline std::vector<std::pair<StageId, StageId>> sharing_stages(const Program& program) {
  std::set<std::pair<StageId, StageId>> pairs;
  for (std::size_t one = 0; one < program.stages.size(); ++one)
    for (std::size_t other = one + 1; other < program.stages.size(); ++other)
      for (const auto chunk : program.stages[one].chunks)
        if (std::ranges::binary_search(program.stages[other].chunks, chunk))
          pairs.emplace(make_id<StageId>(one), make_id<StageId>(other));
  return {pairs.begin(), pairs.end()};
}

/// First one per lane of the program, in its order (P2p::batched: one of all stages), then one per pair of
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

/// Positions in `plans` in the order in which every process makes those that it is in: the same everywhere, or two
/// would wait for each other. Those that begin at an even stage come first, so that neighbours do not all wait for the
/// first pair.
[[nodiscard]] inline std::vector<std::size_t> creation_order(const std::vector<CommunicatorPlan>& plans) {
  std::vector<std::size_t> order(plans.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_partition(order, [&](std::size_t plan) {
    return index(std::min(plans[plan].members.front(), plans[plan].members.back())) % 2 == 0;
  });
  return order;
}

} // namespace ppsim::runtime::gpu
