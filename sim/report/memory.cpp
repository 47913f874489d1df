#include "ppsim/report/detail/memory.hpp"

#include "ppsim/report/report.hpp"

#include <algorithm>

namespace ppsim {

std::size_t weight_versions(const TaskGraph& graph, const Timeline& timeline, StageId stage) {
  if (!graph.schedule().asynchronous()) return 1;
  std::size_t most = 1;
  std::vector<std::size_t> live(graph.schedule().shape().chunks());
  walk_activations(graph, timeline, stage, [&](SimTime, Bytes, int count, TaskId task) {
    std::size_t& here = live[graph.schedule().task(task).chunk_index];
    if (count > 0) most = std::max(most, ++here);
    if (count < 0) --here;
  });
  return most;
}

Bytes static_bytes(const TaskGraph& graph, StageId stage, std::size_t versions) {
  const Memory& memory = graph.scenario().memory;
  Bytes total;
  for (const std::uint16_t chunk : chunks_of(graph.schedule(), stage)) {
    total += Bytes{memory.parameters[chunk].count() * static_cast<std::int64_t>(versions)};
    total += memory.gradients[chunk] + memory.optimizer[chunk];
  }
  return total;
}

std::vector<MemoryPoint> memory_over_time(const TaskGraph& graph, const Timeline& timeline, StageId stage) {
  const std::size_t versions = weight_versions(graph, timeline, stage);
  std::vector<MemoryPoint> points{{SimTime{}, static_bytes(graph, stage, versions), 0}};
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
