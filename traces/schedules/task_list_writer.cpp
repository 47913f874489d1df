// InfiniTrain's task list, written; task_list.cpp shows the format.

#include "ppsim/engine/simulate.hpp"
#include "ppsim/graph/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "formats.hpp"

namespace ppsim::traces {
namespace {

void refuse_other_tasks(const Schedule& schedule) {
  for (const Task& task : schedule.tasks()) {
    const bool is_paired = task.pairing != Pairing::alone;
    if (!is_paired && (task.pass == Pass::forward || task.pass == Pass::backward)) continue;
    throw Error{ExitCode::bad_input,
                Problem{fmt::format("schedule '{}'", schedule.name()),
                        is_paired ? fmt::format("a task list cannot hold overlapped pairs such as {}", to_string(task))
                                  : fmt::format("a task list cannot hold {}: it has only F and B", to_string(task)),
                        "write PyTorch CSV: a file name that does not end in .tasks.csv"}};
  }
}

} // namespace

std::string write_task_list(const TaskGraph& graph) {
  const Schedule& schedule = graph.schedule();
  refuse_other_tasks(schedule);
  const std::vector<std::uint32_t> steps = unit_steps(graph);
  const HeldChunks held{schedule};
  std::vector<TaskId> order;
  order.reserve(schedule.size());
  for (const StageId stage : schedule.stage_ids())
    for (const TaskId id : schedule.task_ids(stage)) order.push_back(id);
  std::ranges::sort(order, {}, [&](TaskId id) {
    return std::tuple{steps[index(id)], schedule.task(id).microbatch, id};
  });
  const std::size_t last = schedule.shape().chunks() - 1;
  std::string out{task_list_header};
  for (const TaskId id : order) {
    const Task& task = schedule.task(id);
    const StageId stage = schedule.stage_of(id);
    out += fmt::format("\n{},{},{},{},{:d},{},{:d},{:d}", steps[index(id)], index(task.microbatch), task.chunk_index,
                       held.local_index(stage, task.chunk()), task.pass == Pass::forward, index(stage),
                       task.chunk_index == 0, task.chunk_index == last);
  }
  out.push_back('\n');
  return out;
}

} // namespace ppsim::traces
