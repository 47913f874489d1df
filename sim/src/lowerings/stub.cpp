// Stands in for the functions of part B until it is merged; then this file goes.
#include "ppsim/sim/error.hpp"
#include "ppsim/sim/lowering.hpp"

namespace ppsim {

/// Every receive right before the task that needs it, every send right behind the task that makes its content.
CommOrder operations_of(const TaskGraph& graph) {
  const Schedule& schedule = graph.schedule();
  if (const CommOrder* order = schedule.communications()) return *order;
  std::vector<TaskId> sender_of(graph.size(), no_task);
  for (std::size_t id = 0; id < graph.size(); ++id)
    if (const auto receiver = graph.receiver(make_id<TaskId>(id))) sender_of[index(*receiver)] = make_id<TaskId>(id);
  std::vector<CommOp> ops;
  std::vector<std::uint32_t> offsets{0};
  for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage) {
    const std::size_t first = index(schedule.first_task(make_id<StageId>(stage)));
    const std::size_t end = index(schedule.first_task(make_id<StageId>(stage + 1)));
    for (std::size_t id = first; id < end;) {
      const std::size_t size = schedule.tasks()[id].pairing == Pairing::first ? 2 : 1;
      for (std::size_t task = id; task < id + size; ++task)
        if (sender_of[task] != no_task)
          ops.push_back({.sender = sender_of[task], .before = static_cast<std::uint32_t>(id - first)});
      for (std::size_t task = id; task < id + size; ++task)
        if (graph.receiver(make_id<TaskId>(task)))
          ops.push_back({.sender = make_id<TaskId>(task),
                         .before = static_cast<std::uint32_t>(id + size - first),
                         .is_send = true});
      id += size;
    }
    offsets.push_back(static_cast<std::uint32_t>(ops.size()));
  }
  return {std::move(ops), std::move(offsets)};
}

Communicators communicators_of(const TaskGraph& graph) {
  return graph.scenario().network.streams.communicators.value_or(
      graph.schedule().communications() != nullptr ? Communicators::group : Communicators::edge);
}

} // namespace ppsim
