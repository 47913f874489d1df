#include "synthesized.hpp"

#include "ppsim/schedule/detail/sequences.hpp"
#include "ppsim/synthesis/search.hpp"

#include <algorithm>

namespace ppsim::generator {
namespace {

constexpr std::int64_t good_enough_percent = 4; // above the first bound: what is published stays as it is published
constexpr std::int64_t near_enough_ppm = 10'000;
constexpr std::uint64_t most_placements = 2'000'000; // of tasks: about a quarter of a second
constexpr std::uint64_t placements_per_task = 8;     // by one order and what makes it better

synthesis::Instance instance_of(const DispatchInput& input, std::size_t passes) {
  synthesis::Instance instance;
  instance.microbatches = static_cast<std::uint32_t>(input.shape.microbatches);
  instance.capacity = input.limit;
  for (std::size_t chunk = 0; chunk < input.stage.size(); ++chunk) {
    const std::uint32_t stage = input.stage[chunk];
    instance.sequences.push_back({stage, input.forward[chunk], input.taken[chunk], 0, 0});
    instance.sequences.push_back({stage, input.input_grad[chunk], 0, input.taken[chunk] - input.kept[chunk], 0});
    instance.sequences.push_back({stage, input.weight_grad[chunk], 0, input.kept[chunk], 0});
  }
  instance.arcs = pipeline_arcs(passes, input.transfer);
  return instance;
}

/// Rounds and patterns of a V are hard to beat while transfers are short.
bool is_worth_a_search(const DispatchInput& input) {
  if (input.shape.vpp == 1) return true;
  const std::int64_t longest = input.transfer.empty() ? 0 : std::ranges::max(input.transfer);
  return longest > std::ranges::min(input.forward) / 10;
}

} // namespace

Plan better_plan(const DispatchInput& input, const ScheduleRequest& request, const Scenario& scenario, Plan plan,
                 std::span<const Generator* const> others) {
  const bool by_span = scenario.update.step == OptimizerStep::per_stage;
  const auto is_better = [by_span](const PlanScore& a, const PlanScore& b) {
    if (a.span <= b.span) return a < b || a.makespan < b.makespan;
    return !by_span && b.makespan - a.makespan >= b.makespan / 50;
  };
  const Shape& shape = request.shape;
  const std::span<const Pass> passes = sequence_passes(true);
  std::vector<StageId> placement;
  placement.reserve(input.stage.size());
  for (const std::uint32_t stage : input.stage) placement.push_back(StageId{stage});
  Dispatch board{input};
  const auto offer = [&](const std::optional<synthesis::Order>& order) {
    if (!order || !board.follow(as_schedule("", shape, *order, passes))) return;
    if (is_better(board.score(), plan.score)) plan = {board.steps(), board.score()};
  };
  for (const Generator* const other : others)
    offer(as_order(make_schedule(*other, {.shape = shape}, scenario), placement, passes));
  const auto good_enough = [&plan](std::int64_t bound) {
    return plan.score.makespan <= bound * (100 + good_enough_percent) / 100;
  };
  if (!is_worth_a_search(input) || good_enough(lower_bound(input).makespan)) return plan;
  const synthesis::Instance instance = instance_of(input, passes.size());
  if (fault_of(instance) || good_enough(first_bound(instance))) return plan; // a fault: it is too large
  const std::uint64_t orders = most_placements / placements_per_task / instance.tasks();
  if (orders == 0) return plan;
  std::optional<synthesis::Order> start = as_order(to_schedule("", shape, plan), placement, passes);
  const synthesis::Found found =
      search(instance, {.orders = orders, .proves = false, .gap_ppm = near_enough_ppm, .starts = {*std::move(start)}});
  if (found.plan) offer(found.plan->order);
  return plan;
}

} // namespace ppsim::generator
