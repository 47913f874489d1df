#include "ppsim/sim/steady.hpp"

#include <algorithm>

#include "update.hpp"

namespace ppsim {
namespace {

constexpr std::size_t steps = 8;
constexpr std::size_t settled = 4; ///< steps after which the start no longer counts

/// n / m: how often an asynchronous order's microbatches are repeated in the unit that is compared.
std::size_t repeats(const Shape& shape) {
  return (2 * shape.stages + shape.microbatches - 1) / shape.microbatches;
}

} // namespace

bool has_steady_state(const TaskGraph& graph) {
  return graph.schedule().asynchronous() || graph.scenario().update.step == OptimizerStep::per_stage;
}

std::size_t steady_tasks(const TaskGraph& graph) {
  return graph.size() * (graph.schedule().asynchronous() ? (2 + 3) * repeats(graph.schedule().shape()) : steps);
}

Duration steady_interval(const TaskGraph& graph) {
  const std::size_t stages = graph.schedule().shape().stages;
  std::vector<SimTime> ready(stages);
  std::vector<SimTime> settled_at;
  for (std::size_t step = 1; step <= steps; ++step) {
    const Timeline timeline = simulate(graph, ready);
    for (std::size_t stage = 0; stage < stages; ++stage)
      ready[stage] = stage_end(graph, timeline, make_id<StageId>(stage));
    if (step == settled) settled_at = ready;
  }
  const auto last = static_cast<std::size_t>(std::ranges::max_element(ready) - ready.begin());
  return Duration{divide_rounded((ready[last] - settled_at[last]).count(), std::int64_t{steps - settled})};
}

Duration steady_interval(const Generator& generator, const ScheduleRequest& request, const Scenario& scenario) {
  const std::size_t repeated = repeats(request.shape);
  const auto makespan = [&](std::size_t times) {
    ScheduleRequest longer = request;
    Scenario costs = scenario;
    longer.shape.microbatches = costs.shape.microbatches = times * repeated * request.shape.microbatches;
    return end_of(simulate(lower(make_schedule(generator, longer, costs), costs)));
  };
  const Duration more = makespan(3) - makespan(2);
  return Duration{divide_rounded(more.count(), static_cast<std::int64_t>(repeated))};
}

} // namespace ppsim
