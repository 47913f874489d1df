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
constexpr std::uint64_t fewest_orders = 2;           // that find a better one
constexpr std::uint64_t steps_per_task = 8;          // of rules, before they refute what cannot be
constexpr std::uint64_t most_tasks_below = 12'000;   // of the orders with less sizes: each is a search of its own

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

/// How many millionths above the first bound a plan is left as it is. Rounds and patterns of a V are hard to beat while
/// transfers are short, and the bound is weak there.
std::int64_t good_enough_ppm(const DispatchInput& input) {
  const std::int64_t longest = input.transfer.empty() ? 0 : std::ranges::max(input.transfer);
  const bool is_short = longest <= std::ranges::min(input.forward) / 10;
  return input.shape.vpp == 2 && is_short ? 200'000 : 40'000; // what is published stays as it is published
}

/// That no order of the rival's memory is as short is often proven in a moment; its own search takes longer.
bool may_be_shorter(const AlternativeSchedule& rival, const Scenario& scenario, const DispatchInput& input,
                    std::int64_t makespan) {
  if (!rival.activations) return true;
  const DispatchInput its = dispatch_input(scenario, placement_of(input), *rival.activations);
  if (lower_bound(its).makespan >= makespan) return false;
  const synthesis::Instance instance = instance_of(its);
  return instance.tasks() > rival_steps / steps_per_task || fault_of(instance) ||
         !synthesis::is_refuted(instance, makespan - 1, rival_steps);
}

bool counts_span(const Scenario& scenario) {
  return scenario.update.step == OptimizerStep::per_stage;
}

bool is_better(const Scenario& scenario, const PlanScore& a, const PlanScore& b) {
  if (counts_span(scenario)) return a < b;
  return std::pair{a.makespan, a.span} < std::pair{b.makespan, b.span};
}

/// By stage: its largest activation, and one of each of its chunks.
struct ActivationSizes {
  std::vector<std::int64_t> one, least;

  /// So many are less than the fullest stage has sizes for, and no more than there are.
  [[nodiscard]] std::int64_t activations(const DispatchInput& input) const {
    std::int64_t most = 0;
    for (std::size_t stage = 0; stage < one.size(); ++stage)
      if (one[stage] > 0) most = std::max(most, (input.limit[stage] - 1) / one[stage]);
    return std::min(most, static_cast<std::int64_t>(input.shape.vpp * input.shape.microbatches));
  }

  /// Leaves each stage sizes for no more than so many of its activations; false where it cannot run with so little.
  bool shrink(DispatchInput& input, std::int64_t activations) const {
    for (std::size_t stage = 0; stage < one.size(); ++stage) {
      input.limit[stage] = std::min(input.limit[stage], activations * one[stage]);
      if (input.limit[stage] < least[stage]) return false;
    }
    return true;
  }
};

ActivationSizes activation_sizes(const DispatchInput& input) {
  ActivationSizes sizes{.one = std::vector<std::int64_t>(input.limit.size()),
                        .least = std::vector<std::int64_t>(input.limit.size())};
  for (std::size_t chunk = 0; chunk < input.stage.size(); ++chunk) {
    const std::uint32_t stage = input.stage[chunk];
    sizes.one[stage] = std::max(sizes.one[stage], input.taken[chunk]);
    sizes.least[stage] += input.taken[chunk];
  }
  return sizes;
}

} // namespace

Plan better_plan(const DispatchInput& input, const ScheduleRequest& request, const Scenario& scenario, Plan plan,
                 std::span<const AlternativeSchedule> rivals) {
  const bool by_span = counts_span(scenario);
  const Shape& shape = request.shape;
  const std::span<const Pass> passes = sequence_passes(true);
  const std::vector<StageId> placement = placement_of(input);
  Dispatch board{input};
  const auto offer = [&](const std::optional<synthesis::Order>& order) {
    if (!order || !board.follow(as_schedule("", shape, *order, passes))) return;
    if (is_better(scenario, board.score(), plan.score)) plan = {board.steps(), board.score()};
  };
  for (const AlternativeSchedule& rival : rivals)
    if (by_span || may_be_shorter(rival, scenario, input, plan.score.makespan))
      offer(as_order(make_schedule(*rival.generator, {.shape = shape}, scenario), placement, passes));
  const std::int64_t good_enough = good_enough_ppm(input);
  if (synthesis::is_near_enough(plan.score.makespan, lower_bound(input).makespan, good_enough)) return plan;
  const synthesis::Instance instance = instance_of(input);
  const std::uint64_t orders = most_placements / placements_per_task / instance.tasks();
  if (orders < fewest_orders || fault_of(instance)) return plan; // a fault: it is too large
  std::optional<synthesis::Order> start = as_order(to_schedule("", shape, plan), placement, passes);
  const synthesis::Found found = search(instance, {.orders = orders,
                                                   .proves = false,
                                                   .gap_ppm = near_enough_ppm,
                                                   .start_gap_ppm = good_enough,
                                                   .starts = {*std::move(start)}});
  if (found.plan) offer(found.plan->order);
  return plan;
}

Plan best_below(const DispatchInput& input, const ScheduleRequest& request, const Scenario& scenario, Plan plan,
                const std::function<Plan(const DispatchInput&)>& search) {
  if (counts_span(scenario)) return plan;
  const ActivationSizes sizes = activation_sizes(input);
  std::uint64_t left = most_tasks_below / instance_of(input).tasks();
  // rooms for up to 2p activations first: in more, few orders are shorter
  const std::int64_t all = sizes.activations(input);
  const std::int64_t usual = std::min(all, static_cast<std::int64_t>(2 * input.shape.stages));
  const auto search_below = [&](std::int64_t from, std::int64_t least) {
    DispatchInput less = input;
    for (std::int64_t activations = from; activations >= least && left > 0; --activations, --left) {
      if (!sizes.shrink(less, activations)) return;
      const synthesis::Instance instance = instance_of(less);
      if (fault_of(instance) || synthesis::is_refuted(instance, plan.score.makespan - 1, rival_steps)) return;
      Plan other = better_plan(less, request, scenario, search(less), {});
      if (is_better(scenario, other.score, plan.score)) plan = std::move(other);
    }
  };
  search_below(usual, 1);
  search_below(all, usual + 1);
  return plan;
}

} // namespace ppsim::generator
