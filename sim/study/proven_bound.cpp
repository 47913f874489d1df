#include "ppsim/study/proven_bound.hpp"

#include "ppsim/synthesis/search.hpp"

#include <algorithm>

#include "link_stages.hpp"
#include "pair_pieces.hpp"
#include "synthesis_instance.hpp"

namespace ppsim {
namespace {

/// The most steps of the windows' rules, on one run: about a tenth of a second.
constexpr std::uint64_t most_steps = 1'000'000;
constexpr std::uint64_t most_steps_of_ends = 10'000'000; // the same for cases from both ends

/// No order has a shorter makespan.
std::int64_t proven_makespan(const TaskGraph& plain, const synthesis::Instance& instance, synthesis::Order own,
                             bool thorough) {
  if (plain.scenario().costs.differ_by_microbatch())
    return bound_by_microbatch(instance, durations_of(plain), std::move(own), most_steps);
  return prove(instance, std::move(own), most_steps, thorough ? most_steps_of_ends : 0).bound;
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

/// Whether the rules can count that a link runs one transfer at a time.
bool bounds_links(const Scenario& scenario) {
  return scenario.network.model == TransferModel::link && !scenario.costs.differ_by_microbatch() &&
         !pairs_overlap(scenario);
}

/// The same memory as in the run, or the scenario's limit.
synthesis::Instance instance_within(const TaskGraph& plain, const Report& report) {
  const bool by_limit = plain.scenario().memory.limit.has_value();
  const bool knows_sizes = report.peak_bytes() > Bytes{};
  synthesis::Instance instance =
      make_instance(plain, by_limit || knows_sizes ? std::nullopt : std::optional<std::size_t>{0});
  if (!by_limit)
    for (std::size_t stage = 0; stage < report.stages.size(); ++stage)
      instance.capacity[stage] = knows_sizes ? report.stages[stage].peak_activation_bytes.count()
                                             : static_cast<std::int64_t>(report.stages[stage].peak_live_activations);
  return instance;
}

/// With transfers under that model. None if it is too large, or the order does not fit.
std::optional<Duration> bound_under(TransferModel transfers, const TaskGraph& graph, const Report& report,
                                    synthesis::Order order, bool thorough) {
  const Schedule& schedule = graph.schedule();
  const bool splits = splits_backward(schedule);
  const std::span<const Pass> passes = sequence_passes(splits);
  Scenario scenario = graph.scenario();
  scenario.network.model = transfers;
  const TaskGraph plain =
      lower(plain_order(schedule.shape(), placement_of(schedule), splits), std::move(scenario), graph.place());
  synthesis::Instance instance = instance_within(plain, report);
  if (!plain.scenario().costs.differ_by_microbatch()) instance = relaxed(pieces_of(plain, passes, std::move(instance)));
  if (fault_of(instance) || !fits(instance, order)) return std::nullopt;
  std::optional<synthesis::Order> own = with_transfers(plain, instance, passes, std::move(order));
  if (!own) return std::nullopt;
  return Duration{proven_makespan(plain, instance, *std::move(own), thorough)};
}

} // namespace

std::optional<ProvenBound> find_bound(const TaskGraph& graph, const Report& report, bool thorough) {
  if (!can_be_bounded(graph)) return std::nullopt;
  const Schedule& schedule = graph.schedule();
  const bool splits = splits_backward(schedule);
  const std::optional<synthesis::Order> own = as_order(schedule, placement_of(schedule), sequence_passes(splits));
  if (!own) return std::nullopt; // with two directions, or replicas, a chunk is on several stages
  std::optional<Duration> bound = bound_under(TransferModel::latency, graph, report, *own, thorough);
  if (!bound) return std::nullopt;
  if (bounds_links(graph.scenario())) // in as many steps, rules of more sequences can prove less
    bound = std::max(*bound, bound_under(TransferModel::link, graph, report, *own, thorough).value_or(*bound));
  return ProvenBound{.makespan = *bound, .whole = !splits, .by_limit = graph.scenario().memory.limit.has_value()};
}

} // namespace ppsim
