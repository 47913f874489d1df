#include "synthesized.hpp"

#include "ppsim/synthesis/search.hpp"

#include <algorithm>

namespace ppsim::generator {
namespace {

constexpr std::int64_t good_enough_percent = 4; // above the first bound: what is published stays as it is published
constexpr std::int64_t near_enough_ppm = 10'000;
constexpr std::uint64_t most_placements = 2'000'000; // of tasks: about a quarter of a second
constexpr std::uint64_t placements_per_task = 8;     // by one order and what makes it better

constexpr std::array passes{Pass::forward, Pass::input_grad, Pass::weight_grad};

std::uint16_t sequence_of(const Plan::Step& step) {
  const auto pass = std::ranges::find(passes, step.pass) - passes.begin();
  return static_cast<std::uint16_t>(passes.size() * step.chunk + static_cast<std::size_t>(pass));
}

synthesis::Instance instance_of(const DispatchInput& input) {
  synthesis::Instance instance;
  instance.microbatches = static_cast<std::uint32_t>(input.shape.microbatches);
  instance.capacity = input.limit;
  for (std::uint32_t chunk = 0; chunk < input.stage.size(); ++chunk) {
    const std::uint32_t own = 3 * chunk;
    const std::uint32_t stage = input.stage[chunk];
    instance.sequences.push_back({stage, input.forward[chunk], input.taken[chunk], 0, 0});
    instance.sequences.push_back({stage, input.input_grad[chunk], 0, input.taken[chunk] - input.kept[chunk], 0});
    instance.sequences.push_back({stage, input.weight_grad[chunk], 0, input.kept[chunk], 0});
    instance.arcs.push_back({own, own + 1, 0});
    instance.arcs.push_back({own + 1, own + 2, 0});
    if (chunk + 1 == input.stage.size()) continue;
    instance.arcs.push_back({own, own + 3, input.transfer[chunk]});
    instance.arcs.push_back({own + 4, own + 1, input.transfer[chunk]});
  }
  return instance;
}

synthesis::Order order_of(const Plan& plan) {
  synthesis::Order order(plan.steps.size());
  for (std::size_t stage = 0; stage < order.size(); ++stage)
    for (const Plan::Step& step : plan.steps[stage]) order[stage].push_back(sequence_of(step));
  return order;
}

/// Its score is that of the board, which runs it.
Plan plan_of(const synthesis::Order& order, Dispatch& board) {
  Plan plan{.steps = std::vector<std::vector<Plan::Step>>(order.size()), .score = {}};
  for (std::size_t stage = 0; stage < order.size(); ++stage)
    for (const std::uint16_t sequence : order[stage])
      plan.steps[stage].push_back({passes[sequence % 3U], static_cast<std::uint16_t>(sequence / 3U)});
  PPSIM_ASSERT(board.follow(to_schedule("", board.input().shape, plan)));
  plan.score = board.score();
  return plan;
}

/// Backwards in two parts, one behind the other.
Schedule split(const Schedule& schedule) {
  ScheduleBuilder builder{schedule.name(), schedule.shape()};
  for (const StageId stage : schedule.stage_ids()) {
    for (const Task& task : schedule.stage(stage)) {
      if (task.pass != Pass::backward) {
        builder.add(task);
        continue;
      }
      builder.add(Pass::input_grad, task.chunk_index, index(task.microbatch));
      builder.add(Pass::weight_grad, task.chunk_index, index(task.microbatch));
    }
    builder.end_stage();
  }
  return builder.build();
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
  Dispatch board{input};
  const auto offer = [&](Plan other) {
    if (is_better(other.score, plan.score)) plan = std::move(other);
  };
  for (const Generator* const other : others)
    if (board.follow(split(make_schedule(*other, {.shape = request.shape}, scenario))))
      offer({board.steps(), board.score()});
  if (!is_worth_a_search(input)) return plan;
  const synthesis::Instance instance = instance_of(input);
  if (fault_of(instance)) return plan; // too large
  if (plan.score.makespan <= first_bound(instance) * (100 + good_enough_percent) / 100) return plan;
  const std::uint64_t orders = most_placements / placements_per_task / instance.tasks();
  if (orders == 0) return plan;
  const synthesis::Found found = search(instance, {.effort = 0,
                                                   .orders = orders,
                                                   .proves = false,
                                                   .seed = 1,
                                                   .gap_ppm = near_enough_ppm,
                                                   .starts = {order_of(plan)},
                                                   .go_on = {}});
  if (found.plan) offer(plan_of(found.plan->order, board));
  return plan;
}

} // namespace ppsim::generator
