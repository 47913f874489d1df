#include "ppsim/engine/simulate.hpp"
#include "ppsim/viz/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace ppsim::viz {

std::string task_table(const TaskGraph& graph, const Timeline& timeline) {
  const std::vector<std::uint32_t> steps = unit_steps(graph);
  std::vector<std::uint32_t> order(graph.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) { return steps[a] < steps[b]; });
  std::string out;
  out += fmt::format("{:>6} {:>10} {:>6} {:>5} {:>5} {:>5} {:>11} {:>10} {:>16} {:>16}\n", "step", "microbatch",
                     "chunk", "local", "pass", "stage", "first_chunk", "last_chunk", "start_ns", "end_ns");
  const Shape& shape = graph.scenario().shape;
  const HeldChunks held{graph.schedule()};
  for (const std::uint32_t id : order) {
    const Task& task = graph.schedule().tasks()[id];
    const Span& span = timeline.tasks[id];
    const StageId stage = graph.schedule().stage_of(TaskId{id});
    out +=
        fmt::format("{:>6} {:>10} {:>6} {:>5} {:>5} {:>5} {:>11} {:>10} {:>16} {:>16}\n", steps[id],
                    index(task.microbatch), task.chunk_index, held.local_index(stage, task.chunk()), letter(task.pass),
                    index(stage), task.chunk_index == 0 ? 1 : 0, task.chunk_index + 1U == shape.chunks() ? 1 : 0,
                    span.start.time_since_epoch().count(), span.end.time_since_epoch().count());
  }
  return out;
}

} // namespace ppsim::viz
