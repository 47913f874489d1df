#include "ppsim/study/proven_bound.hpp"

#include "ppsim/synthesis/search.hpp"

#include <algorithm>

#include "pair_pieces.hpp"
#include "synthesis_instance.hpp"

namespace ppsim {
namespace {

/// The most steps of the windows' rules, on one run: about 1 s.
constexpr std::uint64_t most_steps = 1'000'000;

/// No order has a shorter makespan.
std::int64_t proven_makespan(const TaskGraph& plain, const synthesis::Instance& instance, synthesis::Order own) {
  if (!plain.scenario().costs.differ_by_microbatch()) return prove(instance, std::move(own), most_steps).bound;
  return bound_by_microbatch(instance, durations_of(plain), std::move(own), most_steps);
}

bool can_be_bounded(const TaskGraph& graph) {
  const Schedule& schedule = graph.schedule();
  const Scenario& scenario = graph.scenario();
  if (schedule.asynchronous() || schedule.forward_only() || scenario.shape.shared > 0) return false;
  if (scenario.memory.release_outputs) return false;
  if (scenario.network.slices > 1 || (scenario.recompute.is_on() && scenario.recompute.microbatches_without > 0))
    return false;
  return !pairs_overlap(scenario) || !scenario.costs.differ_by_microbatch();
}

} // namespace

std::optional<ProvenBound> find_bound(const TaskGraph& graph, const Report& report) {
  if (!can_be_bounded(graph)) return std::nullopt;
  const Schedule& schedule = graph.schedule();
  const std::vector<StageId> placement = placement_of(schedule);
  const bool splits = splits_backward(schedule);
  std::optional<synthesis::Order> own = as_order(schedule, placement, sequence_passes(splits));
  if (!own) return std::nullopt; // with two directions, or replicas, a chunk is on several stages
  Scenario scenario = graph.scenario();
  scenario.network.model = TransferModel::latency;
  const TaskGraph plain = lower(plain_order(schedule.shape(), placement, splits), std::move(scenario), graph.place());
  const bool by_limit = graph.scenario().memory.limit.has_value();
  const bool knows_sizes = report.peak_bytes() > Bytes{};
  synthesis::Instance instance =
      make_instance(plain, by_limit || knows_sizes ? std::nullopt : std::optional<std::size_t>{0});
  if (!by_limit)
    for (std::size_t stage = 0; stage < report.stages.size(); ++stage)
      instance.capacity[stage] = knows_sizes ? report.stages[stage].peak_activation_bytes.count()
                                             : static_cast<std::int64_t>(report.stages[stage].peak_live_activations);
  if (!plain.scenario().costs.differ_by_microbatch())
    instance = relaxed(pieces_of(plain, sequence_passes(splits), std::move(instance)));
  if (fault_of(instance) || !fits(instance, *own)) return std::nullopt;
  return ProvenBound{Duration{proven_makespan(plain, instance, *std::move(own))}, !splits, by_limit};
}

} // namespace ppsim
