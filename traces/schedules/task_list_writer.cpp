// InfiniTrain's task list, written; task_list.cpp shows the format.

#include "ppsim/engine/simulate.hpp"
#include "ppsim/graph/timeline.hpp"

#include <fmt/format.h>

#include "formats.hpp"

namespace ppsim::traces {
namespace {

/// `ids` sorted by key_of(id), ids of equal keys in the order they had.
template <class KeyOf>
std::vector<std::uint32_t> sorted_by(const std::vector<std::uint32_t>& ids, std::size_t keys, KeyOf key_of) {
  std::vector<std::size_t> next(keys + 1);
  for (const std::uint32_t id : ids) ++next[key_of(id) + 1];
  for (std::size_t key = 0; key < keys; ++key) next[key + 1] += next[key];
  std::vector<std::uint32_t> sorted(ids.size());
  for (const std::uint32_t id : ids) sorted[next[key_of(id)]++] = id;
  return sorted;
}

void refuse_other_tasks(const Schedule& schedule) {
  Problems problems;
  for (const Task& task : schedule.tasks())
    if (task.pairing != Pairing::alone || (task.pass != Pass::forward && task.pass != Pass::backward))
      add_within_limit(problems, [&] {
        return Problem{fmt::format("schedule '{}'", schedule.name()),
                       task.pairing != Pairing::alone
                           ? fmt::format("a task list can not hold an overlapped pair such as {}", to_string(task))
                           : fmt::format("a task list can not hold {}: it knows F and B", to_string(task)),
                       "write the schedule as PyTorch CSV"};
      });
  problems.throw_if_any();
}

} // namespace

std::string write_task_list(const TaskGraph& graph) {
  const Schedule& schedule = graph.schedule();
  refuse_other_tasks(schedule);
  const std::vector<std::uint32_t> steps = unit_steps(graph);
  const HeldChunks held{schedule};
  std::vector<std::uint32_t> order(schedule.size());
  std::vector<std::uint32_t> stage_of(schedule.size());
  for (const StageId stage : schedule.stage_ids())
    for (const TaskId id : schedule.task_ids(stage)) {
      order[index(id)] = static_cast<std::uint32_t>(id);
      stage_of[index(id)] = static_cast<std::uint32_t>(stage);
    }
  const std::size_t step_count = steps.empty() ? 0 : std::size_t{*std::ranges::max_element(steps)} + 1;
  order = sorted_by(order, schedule.shape().microbatches,
                    [&](std::uint32_t id) { return index(schedule.tasks()[id].microbatch); });
  order = sorted_by(order, step_count, [&](std::uint32_t id) { return steps[id]; });
  const std::size_t last = schedule.shape().chunks() - 1;
  std::string out{task_list_header};
  for (const std::uint32_t id : order) {
    const Task& task = schedule.tasks()[id];
    out += fmt::format("\n{},{},{},{},{:d},{},{:d},{:d}", steps[id], index(task.microbatch), task.chunk_index,
                       held.local_index(make_id<StageId>(stage_of[id]), task.chunk()), task.pass == Pass::forward,
                       stage_of[id], task.chunk_index == 0, task.chunk_index == last);
  }
  out.push_back('\n');
  return out;
}

} // namespace ppsim::traces
