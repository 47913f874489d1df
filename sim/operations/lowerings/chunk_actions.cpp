// UNSHARD, RESHARD and REDUCE_GRAD, as PyTorch (torch/distributed/pipelining/schedules.py) adds them to an order of
// tasks.

#include "chunk_actions.hpp"

#include "ppsim/operations/lowering.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace ppsim::lowering {
namespace {

using Kind = ChunkAction::Kind;

/// The chunks that a stage runs from some position on, the next ones first.
class ChunksAhead {
public:
  /// Moves back over a task or a pair.
  void go_back_over(std::span<const Task> unit) {
    ++units_;
    for (std::size_t i = unit.size(); i-- > 0;) {
      std::erase_if(chunks_, [&](const Next& next) { return next.chunk == unit[i].chunk_index; });
      chunks_.insert(chunks_.begin(), {unit[i].chunk_index, units_});
    }
  }
  /// The chunks whose parameters PyTorch gathers: three, and one more if a pair adds two.
  [[nodiscard]] std::vector<std::uint16_t> kept() const {
    constexpr std::size_t most = 3; // max_active_stages
    std::vector<std::uint16_t> kept;
    for (std::size_t i = 0; i < chunks_.size(); ++i)
      if (i < most || (i == most && chunks_[i].unit == chunks_[i - 1].unit)) kept.push_back(chunks_[i].chunk);
    return kept;
  }

private:
  struct Next {
    std::uint16_t chunk = 0;
    std::size_t unit = 0; ///< counted from the end
  };
  std::vector<Next> chunks_;
  std::size_t units_ = 0;
};

/// The actions between the gathered sets `from` and `to`: RESHARD first. PyTorch drops several in set order, which is
/// unspecified: here by rising chunk.
void change(std::vector<std::uint16_t> from, const std::vector<std::uint16_t>& to, std::uint32_t before,
            std::vector<ChunkAction>& actions) {
  const std::vector<std::uint16_t> had = from;
  std::ranges::sort(from);
  for (const std::uint16_t chunk : from)
    if (std::ranges::find(to, chunk) == to.end()) actions.push_back({Kind::reshard, chunk, before});
  for (const std::uint16_t chunk : to)
    if (std::ranges::find(had, chunk) == had.end()) actions.push_back({Kind::unshard, chunk, before});
}

} // namespace

std::vector<ChunkAction> pytorch_actions(const Schedule& schedule, StageId stage, bool reduces) {
  const std::span<const Task> tasks = schedule.stage(stage);
  std::vector<ChunkAction> reversed; // from back to front, so that the next chunks are known without a search
  ChunksAhead ahead;
  std::set<std::uint16_t> trained;
  const auto add = [&](std::vector<ChunkAction>& actions) { // between the same two tasks
    reversed.insert(reversed.end(), actions.rbegin(), actions.rend());
    actions.clear();
  };
  std::vector<ChunkAction> here;
  for (std::size_t end = tasks.size(); end > 0;) {
    const std::vector<std::uint16_t> behind = ahead.kept();
    const std::size_t begin = end - (tasks[end - 1].pairing == Pairing::second ? 2 : 1);
    const auto unit = tasks.subspan(begin, end - begin);
    ahead.go_back_over(unit);
    const auto before = static_cast<std::uint32_t>(end);
    for (const Task& task : unit)
      if (frees_activation(task.pass) && trained.insert(task.chunk_index).second && reduces)
        here.push_back({Kind::reduce_grad, task.chunk_index, before});
    if (reduces || end < tasks.size()) change(ahead.kept(), behind, before, here);
    add(here);
    end = begin;
  }
  change({}, ahead.kept(), 0, here);
  add(here);
  std::ranges::reverse(reversed);
  return reversed;
}

namespace {

/// The number of operations before the task at `before`.
std::uint32_t count_ahead_of(std::span<const CommOp> ops, std::uint32_t before) {
  return static_cast<std::uint32_t>(std::ranges::upper_bound(ops, before, {}, &CommOp::before) - ops.begin());
}

/// Adds the missing REDUCE_GRAD of each chunk from `pytorch`, before other actions at the same place, or removes all.
void settle_reductions(std::vector<ChunkAction>& actions, const std::vector<ChunkAction>& pytorch, bool reduces,
                       std::span<const CommOp> ops) {
  const auto is_reduction = [](const ChunkAction& action) { return action.kind == Kind::reduce_grad; };
  if (!reduces) {
    std::erase_if(actions, is_reduction);
    return;
  }
  for (ChunkAction added : pytorch) {
    const auto is_same = [&](const ChunkAction& action) {
      return is_reduction(action) && action.chunk_index == added.chunk_index;
    };
    if (!is_reduction(added) || std::ranges::any_of(actions, is_same)) continue;
    const auto at = std::ranges::lower_bound(actions, added.before, {}, &ChunkAction::before);
    added.behind = count_ahead_of(ops, added.before);
    if (at != actions.end() && at->before == added.before) added.behind = std::min(added.behind, at->behind);
    actions.insert(at, added);
  }
}

} // namespace

std::vector<ChunkAction> actions_of(const Schedule& schedule, StageId stage, bool reduces) {
  std::vector<ChunkAction> pytorch = pytorch_actions(schedule, stage, reduces);
  if (schedule.chunk_actions().empty()) return pytorch;
  std::vector<ChunkAction> actions = schedule.chunk_actions()[index(stage)];
  for (ChunkAction& action : actions) action.behind = 0;
  settle_reductions(actions, pytorch, reduces, {});
  return actions;
}

} // namespace ppsim::lowering

namespace ppsim {

CommOrder with_chunk_actions(const TaskGraph& graph, const CommOrder& order) {
  const Schedule& schedule = graph.schedule();
  const bool reduces = graph.scenario().network.streams.reduce_grad;
  const bool is_placed = !order.actions().empty(); // among these sends and receives
  ChunkActions all = order.actions();
  all.resize(schedule.shape().stages);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto stage = make_id<StageId>(i);
    const auto ops = order.stage(stage);
    if (is_placed) {
      lowering::settle_reductions(all[i], lowering::pytorch_actions(schedule, stage, reduces), reduces, ops);
    } else {
      all[i] = lowering::actions_of(schedule, stage, reduces);
      for (ChunkAction& action : all[i]) action.behind = lowering::count_ahead_of(ops, action.before);
    }
  }
  return order.with_actions(std::move(all));
}

} // namespace ppsim
