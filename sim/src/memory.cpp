#include "memory.hpp"

#include "ppsim/sim/report.hpp"

#include <algorithm>

namespace ppsim {

Bytes static_bytes(const TaskGraph& graph, StageId stage) {
  const Memory& memory = graph.scenario().memory;
  Bytes total;
  for (const std::uint16_t chunk : chunks_of(graph.schedule(), stage))
    total += memory.parameters[chunk] + memory.gradients[chunk] + memory.optimizer[chunk];
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
