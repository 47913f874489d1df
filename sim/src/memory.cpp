#include "memory.hpp"

#include "ppsim/sim/report.hpp"

#include <algorithm>

namespace ppsim {

Bytes static_bytes(const TaskGraph& graph, StageId stage) {
  const Memory& memory = graph.scenario().memory;
  std::vector<bool> held(graph.scenario().shape.chunks());
  Bytes total;
  for (const Task& task : graph.schedule().stage(stage)) {
    if (held[task.chunk_index]) continue;
    held[task.chunk_index] = true;
    total +=
        memory.parameters[task.chunk_index] + memory.gradients[task.chunk_index] + memory.optimizer[task.chunk_index];
  }
  return total;
}

std::vector<MemoryPoint> memory_over_time(const TaskGraph& graph, const Timeline& timeline, StageId stage) {
  std::vector<MemoryPoint> points{{SimTime{}, static_bytes(graph, stage), 0}};
  walk_activations(graph, timeline, stage, [&](SimTime at, Bytes change, int count, TaskId) {
    const MemoryPoint& before = points.back();
    const MemoryPoint after{at, before.bytes + change,
                            before.live + static_cast<std::size_t>(static_cast<std::ptrdiff_t>(count))};
    if (before.at == at && points.size() > 1)
      points.back() = after;
    else
      points.push_back(after);
  });
  return points;
}

} // namespace ppsim
