#include "ppsim/study/what_if.hpp"

#include "ppsim/engine/simulate.hpp"
#include "ppsim/engine/steady.hpp"
#include "ppsim/report/report.hpp"

#include <algorithm>
#include <numeric>

namespace ppsim {
namespace {

Duration step_time(const TaskGraph& graph, const Scenario& scenario) {
  validate(scenario);
  return step_time(graph.with_costs(scenario));
}

/// Sets the values to their mean; true if they differed.
template <class Value>
bool equalise(std::vector<Value>& values) {
  if (std::ranges::adjacent_find(values, std::ranges::not_equal_to{}) == values.end()) return false;
  const Value sum = std::accumulate(values.begin(), values.end(), Value{0});
  std::ranges::fill(values, Value{divide_rounded(sum / Value{1}, static_cast<std::int64_t>(values.size()))});
  return true;
}

/// True if some backward recomputes.
bool recomputes(const TaskGraph& graph) {
  for (std::size_t id = 0; id < graph.size(); ++id)
    if (graph.recompute_time(make_id<TaskId>(id)) > Duration{0}) return true;
  return false;
}

} // namespace

WhatIf what_if(const TaskGraph& graph) {
  WhatIf result;
  if (graph.schedule().asynchronous()) return result; // its step time comes from longer orders
  if (graph.transfer_count() > 0 && !graph.scenario().network.is_free()) {
    Scenario scenario = graph.scenario();
    const std::size_t boundaries = scenario.network.latency.size();
    scenario.network = Network{};
    scenario.network.latency.assign(boundaries, Duration{0});
    scenario.network.boundary_bytes.assign(boundaries, Bytes{});
    result.no_communication = step_time(graph, scenario);
  }
  Scenario scenario = graph.scenario();
  bool changed = scenario.costs.differ_by_microbatch();
  scenario.costs.forget_microbatches();
  changed = equalise(scenario.costs.stage_ppm) || changed;
  for (std::vector<Duration>* values :
       {&scenario.costs.forward, &scenario.costs.input_grad, &scenario.costs.weight_grad, &scenario.recompute.time})
    changed = equalise(*values) || changed;
  for (std::vector<Duration>* values : {&scenario.costs.forward_collective, &scenario.costs.input_grad_collective})
    changed = (equalise(*values) && scenario.pair.kind == PairRule::Kind::hide) || changed;
  if (changed) result.equal_stages = step_time(graph, scenario);
  if (recomputes(graph)) {
    Scenario kept = graph.scenario();
    kept.recompute = {};
    result.no_recompute = step_time(graph, kept);
  }
  return result;
}

} // namespace ppsim
