#include "synthesized.hpp"

#include "ppsim/schedule/detail/sequences.hpp"
#include "ppsim/synthesis/search.hpp"

#include <algorithm>

namespace ppsim::generator {
namespace {

constexpr std::int64_t near_enough_ppm = 10'000;
constexpr std::uint64_t most_placements = 2'000'000; // of tasks: about a quarter of a second
constexpr std::uint64_t rival_steps = 1'000'000;     // of rules, on what a rival can be: a tenth of a second
constexpr std::uint64_t placements_per_task = 8;     // by one order and what makes it better

synthesis::Instance instance_of(const DispatchInput& input) {
  synthesis::Instance instance;
  instance.microbatches = static_cast<std::uint32_t>(input.shape.microbatches);
  instance.capacity = input.limit;
  for (std::size_t chunk = 0; chunk < input.stage.size(); ++chunk) {
    const std::uint32_t stage = input.stage[chunk];
    instance.sequences.push_back({stage, input.forward[chunk], input.taken[chunk], 0, 0});
    instance.sequences.push_back({stage, input.input_grad[chunk], 0, input.taken[chunk] - input.kept[chunk], 0});
    instance.sequences.push_back({stage, input.weight_grad[chunk], 0, input.kept[chunk], 0});
  }
  instance.arcs = pipeline_arcs(sequence_passes(true).size(), input.transfer);
  return instance;
}

std::vector<StageId> placement_of(const DispatchInput& input) {
  std::vector<StageId> placement;
  placement.reserve(input.stage.size());
  for (const std::uint32_t stage : input.stage) placement.push_back(StageId{stage});
  return placement;
}

/// How far above the first bound a plan is left as it is. Rounds and patterns of a V are hard to beat while transfers
/// are short, and the bound is weak there.
std::int64_t good_enough_percent(const DispatchInput& input) {
  const std::int64_t longest = input.transfer.empty() ? 0 : std::ranges::max(input.transfer);
  const bool is_short = longest <= std::ranges::min(input.forward) / 10;
  return input.shape.vpp == 2 && is_short ? 20 : 4; // 4: what is published stays as it is published
}

/// That no order of the rival's memory is as short is proven in a moment; its own search takes longer.
bool may_be_shorter(const Rival& rival, const Scenario& scenario, const DispatchInput& input, std::int64_t makespan) {
  if (!rival.activations) return true;
  const synthesis::Instance instance = instance_of(dispatch_input(scenario, placement_of(input), *rival.activations));
  return fault_of(instance) || !synthesis::is_refuted(instance, makespan - 1, rival_steps);
}

} // namespace

Plan better_plan(const DispatchInput& input, const ScheduleRequest& request, const Scenario& scenario, Plan plan,
                 std::span<const Rival> rivals) {
  const bool by_span = scenario.update.step == OptimizerStep::per_stage;
  const auto is_better = [by_span](const PlanScore& a, const PlanScore& b) {
    if (by_span) return a < b;
    return std::pair{a.makespan, a.span} < std::pair{b.makespan, b.span};
  };
  const Shape& shape = request.shape;
  const std::span<const Pass> passes = sequence_passes(true);
  const std::vector<StageId> placement = placement_of(input);
  Dispatch board{input};
  const auto offer = [&](const std::optional<synthesis::Order>& order) {
    if (!order || !board.follow(as_schedule("", shape, *order, passes))) return;
    if (is_better(board.score(), plan.score)) plan = {board.steps(), board.score()};
  };
  for (const Rival& rival : rivals)
    if (by_span || may_be_shorter(rival, scenario, input, plan.score.makespan))
      offer(as_order(make_schedule(*rival.generator, {.shape = shape}, scenario), placement, passes));
  const auto good_enough = [&plan, percent = good_enough_percent(input)](std::int64_t bound) {
    return plan.score.makespan <= bound * (100 + percent) / 100;
  };
  if (good_enough(lower_bound(input).makespan)) return plan;
  const synthesis::Instance instance = instance_of(input);
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
