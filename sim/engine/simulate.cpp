#include "ppsim/engine/simulate.hpp"

#include "ppsim/base/call.hpp"
#include "ppsim/base/error.hpp"
#include "ppsim/engine/detail/update.hpp"
#include "ppsim/engine/streams.hpp"
#include "ppsim/graph/detail/dag.hpp"

#include <algorithm>
#include <utility>

#include "models.hpp"

namespace ppsim {
namespace {

Timeline run_tasks(const TaskGraph& graph, std::span<const SimTime> stage_ready) {
  switch (graph.scenario().network.model) {
  case TransferModel::latency:
    return simulate_latency(graph, stage_ready);
  case TransferModel::link:
    return simulate_link(graph, stage_ready);
  case TransferModel::blocking:
    return simulate_blocking(graph, stage_ready);
  case TransferModel::streams:
    break; // see simulate()
  }
  return {};
}

} // namespace

Timeline empty_timeline(const Schedule& schedule, std::span<const SimTime> stage_ready) {
  Timeline timeline;
  timeline.tasks.resize(schedule.size());
  timeline.transfers.resize(schedule.size());
  timeline.released_by.assign(schedule.size(), no_task);
  timeline.cause.assign(schedule.size(), Cause::none);
  for (std::size_t stage = 0; stage < stage_ready.size(); ++stage)
    if (const auto ids = schedule.task_ids(make_id<StageId>(stage)); !ids.empty())
      timeline.tasks[index(ids.front())].start = stage_ready[stage];
  return timeline;
}

Timeline simulate(const TaskGraph& graph) {
  return simulate(graph, {});
}

Timeline simulate(const TaskGraph& graph, std::span<const SimTime> stage_ready) {
  check_stop();
  PPSIM_ASSERT(stage_ready.empty() || stage_ready.size() == graph.schedule().shape().stages);
  if (graph.scenario().network.model == TransferModel::streams)
    return simulate(graph, operations_of(graph), communicators_of(graph), stage_ready);
  Timeline timeline = run_tasks(graph, stage_ready);
  add_update(graph, timeline);
  return timeline;
}

std::vector<std::uint32_t> unit_steps(const TaskGraph& graph) {
  const Dag& dag = graph.dag();
  std::vector<std::uint32_t> steps(graph.size());
  for (const TaskId task : dag.wiring->topological_order) {
    const auto from = static_cast<std::uint32_t>(index(task));
    for (auto [edge, end] = out_edges(from, dag.wiring->graph); edge != end; ++edge) {
      const bool together = dag.wiring->graph[*edge].is_pair(); // both halves of a pair start in one slot
      std::uint32_t& step = steps[target(*edge, dag.wiring->graph)];
      step = std::max(step, steps[from] + (together ? 0 : 1));
    }
  }
  return steps;
}

} // namespace ppsim
