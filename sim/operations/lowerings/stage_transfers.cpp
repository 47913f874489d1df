#include "ppsim/operations/detail/stage_transfers.hpp"

#include "ppsim/base/call.hpp"
#include "ppsim/graph/detail/dag.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace ppsim::lowering {
namespace {

constexpr std::uint32_t none = 0xFFFFFFFFU;

} // namespace

StageTransfers::StageTransfers(const TaskGraph& graph) {
  const Schedule& schedule = graph.schedule();
  all_.reserve(graph.transfer_count());
  std::map<std::pair<StageId, StageId>, std::uint32_t> numbers;
  for (const StageId from : schedule.stage_ids()) {
    check_stop();
    const std::size_t first = index(schedule.first_task(from));
    for (const TaskId sender : schedule.task_ids(from)) {
      const std::optional<TaskId> receiver = graph.receiver(sender);
      if (!receiver) continue;
      const StageId to = schedule.stage_of(*receiver);
      const auto number = numbers.try_emplace({from, to}, static_cast<std::uint32_t>(numbers.size())).first->second;
      const std::size_t needed = index(pair_begin(schedule, *receiver)) - index(schedule.first_task(to));
      all_.push_back({.sender = sender,
                      .receiver = *receiver,
                      .from = from,
                      .to = to,
                      .pass = schedule.task(sender).pass,
                      .edge = number,
                      .send_from = static_cast<std::uint32_t>(index(pair_end(schedule, sender)) - first),
                      .needed = static_cast<std::uint32_t>(needed)});
    }
  }
  edges_ = numbers.size();
}

std::vector<std::uint32_t> StageTransfers::latest() const {
  std::vector<std::uint32_t> latest(all_.size());
  std::vector<std::uint32_t> limit(edges_, none);
  for (std::size_t i = all_.size(); i-- > 0;)
    latest[i] = limit[all_[i].edge] = std::min(limit[all_[i].edge], all_[i].needed);
  return latest;
}

std::vector<SimTime> unit_ends(const TaskGraph& graph, const StageTransfers& transfers) {
  const Schedule& schedule = graph.schedule();
  const Durations durations{graph.dag(), schedule.tasks()};
  std::vector<std::uint32_t> transfer_of(graph.size(), none);
  for (std::size_t i = 0; i < transfers.all().size(); ++i)
    transfer_of[index(transfers.all()[i].sender)] = static_cast<std::uint32_t>(i);
  std::vector<bool> begins_stage(graph.size() + 1);
  for (const std::uint32_t first : schedule.offsets()) begins_stage[first] = true;
  std::vector<SimTime> ready(graph.size());
  std::vector<SimTime> ends(graph.size());
  for (const TaskId task : graph.dag().wiring->topological_order) {
    const std::size_t id = index(task);
    if (schedule.task(task).pairing != Pairing::second) { // the first half of a pair waits for the inputs of both
      const std::size_t end = index(pair_end(schedule, task));
      SimTime now = ready[id];
      for (std::size_t half = id; half < end; ++half) {
        if (half > id) now += durations.pair_delay(durations[id]);
        now += durations[half];
      }
      for (std::size_t half = id; half < end; ++half) ends[half] = now;
      if (!begins_stage[end]) ready[end] = std::max(ready[end], now);
    }
    if (transfer_of[id] == none) continue;
    SimTime& arrival = ready[index(pair_begin(schedule, transfers.all()[transfer_of[id]].receiver))];
    arrival = std::max(arrival, ends[id] + graph.transfer_time(task));
  }
  return ends;
}

std::vector<std::uint32_t> places_in_time(const TaskGraph& graph, std::span<const SimTime> ends) {
  const Schedule& schedule = graph.schedule();
  // Of equal times, the topological order decides; in it, the first half of a pair follows the inputs of both.
  std::vector<std::uint32_t> position(graph.size());
  std::uint32_t next = 0;
  for (const TaskId task : graph.dag().wiring->topological_order) position[index(task)] = next++;
  const auto rank = [&](TaskId id) {
    return std::tuple{ends[index(id)], position[index(pair_begin(schedule, id))], id};
  };
  std::vector<TaskId> order = graph.dag().wiring->topological_order;
  std::ranges::sort(order, {}, rank);
  std::vector<std::uint32_t> places(graph.size());
  for (std::size_t i = 0; i < order.size(); ++i) places[index(order[i])] = static_cast<std::uint32_t>(i);
  return places;
}

CommOrder sorted_order(std::vector<std::vector<PlacedOp>> stages) {
  std::vector<CommOp> ops;
  std::vector<std::uint32_t> offsets{0};
  for (std::vector<PlacedOp>& stage : stages) {
    std::ranges::sort(stage, {}, [](const PlacedOp& placed) { return std::pair{placed.op.before, placed.key}; });
    for (const PlacedOp& placed : stage) ops.push_back(placed.op);
    offsets.push_back(static_cast<std::uint32_t>(ops.size()));
    stage = {};
  }
  return {std::move(ops), std::move(offsets)};
}

CommOrder order_with(const StageTransfers& transfers, std::span<const std::uint32_t> receives, std::size_t stages) {
  constexpr std::uint64_t behind_sends = std::uint64_t{1} << 63U;
  std::vector<std::vector<PlacedOp>> rows(stages);
  for (std::size_t i = 0; i < receives.size(); ++i) {
    const StageTransfer& transfer = transfers.all()[i];
    rows[index(transfer.from)].push_back(
        {{.sender = transfer.sender, .before = transfer.send_from, .is_send = true}, i});
    rows[index(transfer.to)].push_back({{.sender = transfer.sender, .before = receives[i]}, behind_sends | i});
  }
  return sorted_order(std::move(rows));
}

} // namespace ppsim::lowering
