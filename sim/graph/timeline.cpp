#include "ppsim/graph/timeline.hpp"

#include <algorithm>

namespace ppsim {

SimTime tasks_end(const TaskGraph& graph, const Timeline& timeline) {
  SimTime end{};
  for (std::size_t stage = 0; stage < graph.schedule().shape().stages; ++stage) {
    const std::size_t first = index(graph.schedule().first_task(make_id<StageId>(stage)));
    const std::size_t behind = index(graph.schedule().first_task(make_id<StageId>(stage + 1)));
    if (behind > first) end = std::max(end, timeline.tasks[behind - 1].end);
  }
  return end;
}

SimTime end_of(const Timeline& timeline) {
  SimTime end{};
  for (const Span& span : timeline.tasks) end = std::max(end, span.end);
  for (const Reduction& reduction : timeline.reductions) end = std::max(end, reduction.span.end);
  for (const OptimizerRun& step : timeline.optimizer) end = std::max(end, step.span.end);
  return end;
}

} // namespace ppsim
