#include "ppsim/graph/timeline.hpp"

#include <algorithm>

namespace ppsim {

SimTime tasks_end(const TaskGraph& graph, const Timeline& timeline) {
  SimTime end{};
  for (const StageId stage : graph.schedule().stage_ids())
    if (const auto ids = graph.schedule().task_ids(stage); !ids.empty())
      end = std::max(end, timeline.tasks[index(ids.back())].end);
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
