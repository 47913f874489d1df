#include "ppsim/study/proven_bound.hpp"

#include "ppsim/synthesis/search.hpp"

#include <algorithm>

#include "synthesis_instance.hpp"

namespace ppsim {
namespace {

/// Of the windows' rules, on one run: about a second.
constexpr std::uint64_t most_steps = 1'000'000;

bool can_be_bounded(const TaskGraph& graph) {
  const Schedule& schedule = graph.schedule();
  const Scenario& scenario = graph.scenario();
  if (schedule.asynchronous() || schedule.forward_only() || scenario.shape.shared > 0) return false;
  if (scenario.costs.differ_by_microbatch() || scenario.memory.release_outputs) return false;
  if (scenario.network.slices > 1 || (scenario.recompute.is_on() && scenario.recompute.microbatches_without > 0))
    return false;
  return std::ranges::all_of(schedule.tasks(), [](const Task& task) { return task.pairing == Pairing::alone; });
}

/// The graph of an order of the same placement and passes, under `latency`.
std::optional<TaskGraph> plain_graph(const TaskGraph& graph) {
  const Schedule& schedule = graph.schedule();
  const std::vector<StageId> placement = placement_of(schedule);
  const bool splits =
      std::ranges::any_of(schedule.tasks(), [](const Task& task) { return task.pass == Pass::input_grad; });
  Schedule plain = plain_order(schedule.shape(), placement, splits);
  if (plain.size() != schedule.size()) return std::nullopt;
  for (const StageId stage : schedule.stage_ids()) // two directions, or replicas: a chunk is on several stages
    if (plain.stage(stage).size() != schedule.stage(stage).size()) return std::nullopt;
  Scenario scenario = graph.scenario();
  scenario.network.model = TransferModel::latency;
  return lower(std::move(plain), std::move(scenario), graph.place());
}

} // namespace

std::optional<ProvenBound> find_bound(const TaskGraph& graph, const Report& report) {
  if (!can_be_bounded(graph)) return std::nullopt;
  const std::optional<TaskGraph> plain = plain_graph(graph);
  if (!plain) return std::nullopt;
  const bool by_limit = graph.scenario().memory.limit.has_value();
  const bool knows_sizes = report.peak_bytes() > Bytes{};
  synthesis::Instance instance =
      make_instance(*plain, by_limit || knows_sizes ? std::nullopt : std::optional<std::size_t>{0});
  if (!by_limit)
    for (std::size_t stage = 0; stage < report.stages.size(); ++stage)
      instance.capacity[stage] = knows_sizes ? report.stages[stage].peak_activation_bytes.count()
                                             : static_cast<std::int64_t>(report.stages[stage].peak_live_activations);
  std::optional<synthesis::Order> own = as_order(graph.schedule(), *plain);
  if (fault_of(instance) || !own || !fits(instance, *own)) return std::nullopt;
  const synthesis::Found found = prove(instance, *std::move(own), most_steps);
  const bool whole =
      std::ranges::none_of(graph.schedule().tasks(), [](const Task& task) { return task.pass == Pass::input_grad; });
  return ProvenBound{Duration{found.bound}, whole, by_limit};
}

} // namespace ppsim
