#include "synthesized.hpp"

#include "ppsim/schedule/detail/sequences.hpp"
#include "ppsim/synthesis/search.hpp"

#include <algorithm>

namespace ppsim::generator {
namespace {

constexpr std::int64_t near_enough_ppm = 10'000;
constexpr std::uint64_t most_placements = 2'000'000; // of tasks: about a quarter of a second
constexpr std::uint64_t refuting_steps = 1'000'000;  // of rules, on what a search may find: a tenth of a second
constexpr std::uint64_t placements_per_task = 8;     // by one order and what makes it better
constexpr std::uint64_t fewest_orders = 2;           // that find a better one
constexpr std::uint64_t steps_per_task = 8;          // of rules, before they refute what cannot be
constexpr std::uint64_t most_tasks_below = 100'000;  // of the orders in less room: each is a search of its own

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

/// That no order of so little memory is shorter is often proven in a moment; a search takes longer.
bool may_be_shorter(const DispatchInput& input, std::int64_t makespan) {
  if (lower_bound(input).makespan >= makespan) return false;
  const synthesis::Instance instance = instance_of(input);
  return instance.tasks() > refuting_steps / steps_per_task || fault_of(instance) ||
         !synthesis::is_refuted(instance, makespan - 1, refuting_steps);
}

bool counts_span(const Scenario& scenario) {
  return scenario.update.step == OptimizerStep::per_stage;
}

bool is_better(const Scenario& scenario, const PlanScore& a, const PlanScore& b) {
  if (counts_span(scenario)) return a < b;
  return std::pair{a.makespan, a.span} < std::pair{b.makespan, b.span};
}

/// Rooms for the activations of all stages, each smaller by the same amount on every stage, as memory is: those that
/// activations of one chunk fill on one stage. They do not depend on the room to begin with, so what is searched in
/// less room is also searched in more.
class Rooms {
public:
  explicit Rooms(const DispatchInput& input) : input_{input}, least_(input.limit.size()), most_(input.limit.size()) {
    for (std::size_t chunk = 0; chunk < input.stage.size(); ++chunk) {
      const std::uint32_t stage = input.stage[chunk];
      least_[stage] += input.taken[chunk];
      most_[stage] += static_cast<std::int64_t>(input.shape.microbatches) * input.taken[chunk];
    }
  }

  /// Takes away what no activation can use, if all that a stage ever holds are multiples of one size.
  void trim(DispatchInput& room) const {
    for (std::size_t chunk = 0; chunk < input_.stage.size(); ++chunk)
      if (input_.taken[chunk] != input_.taken[input_.chunks[input_.stage[chunk]].front()] ||
          (input_.kept[chunk] != 0 && input_.kept[chunk] != input_.taken[chunk]))
        return;
    shrink(room, least_rest(room, 0));
  }

  /// Goes on to the next room; false where that is too small.
  bool next(DispatchInput& room) const { return shrink(room, least_rest(room, 1)); }

  /// Goes on to the first room with memory for no more than so many microbatches on any stage; false where that is too
  /// small.
  bool skip_to(DispatchInput& room, std::size_t microbatches) const {
    std::int64_t by = 0;
    for (std::size_t stage = 0; stage < least_.size(); ++stage)
      if (least_[stage] > 0)
        by = std::max(by, room.limit[stage] - static_cast<std::int64_t>(microbatches) * least_[stage]);
    return shrink(room, by);
  }

private:
  /// The least that one stage has beyond activations of one chunk, or beyond all its activations: `at_least` or more.
  [[nodiscard]] std::int64_t least_rest(const DispatchInput& room, std::int64_t at_least) const {
    std::int64_t least = Dispatch::never;
    for (std::size_t chunk = 0; chunk < input_.stage.size(); ++chunk) {
      const std::int64_t taken = input_.taken[chunk];
      if (taken == 0) continue;
      const std::uint32_t stage = input_.stage[chunk];
      const std::int64_t over = room.limit[stage] - most_[stage];
      least = std::min(least, over >= at_least ? over : (room.limit[stage] - at_least) % taken + at_least);
    }
    return least;
  }

  bool shrink(DispatchInput& room, std::int64_t by) const {
    if (by == Dispatch::never) return false; // nothing takes memory
    for (std::size_t stage = 0; stage < least_.size(); ++stage) {
      if (least_[stage] > 0) room.limit[stage] -= by;
      if (room.limit[stage] < least_[stage]) return false;
    }
    return true;
  }

  const DispatchInput& input_;
  std::vector<std::int64_t> least_; // by stage: an activation of each of its chunks
  std::vector<std::int64_t> most_;  // by stage: all activations
};

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
    if (by_span || !rival.activations ||
        may_be_shorter(dispatch_input(scenario, placement, *rival.activations), plan.score.makespan))
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

Plan best_within(const DispatchInput& input, const ScheduleRequest& request, const Scenario& scenario,
                 const std::function<Plan(const DispatchInput&)>& search, std::span<const AlternativeSchedule> rivals) {
  const Rooms rooms{input};
  DispatchInput room = input;
  rooms.trim(room);
  Plan plan = better_plan(room, request, scenario, search(room), rivals);
  std::uint64_t left = most_tasks_below / instance_of(input).tasks();
  const auto search_in = [&](const DispatchInput& less) {
    if (left == 0) return false;
    const bool may_be_better =
        counts_span(scenario) ? lower_bound(less).span < plan.score.span : may_be_shorter(less, plan.score.makespan);
    if (!may_be_better) return false;
    --left;
    Plan other = better_plan(less, request, scenario, search(less), {});
    if (is_better(scenario, other.score, plan.score)) plan = std::move(other);
    return true;
  };
  // in more room than for 2p activations few orders are better, so what is in there comes last
  const DispatchInput whole = room;
  bool fits = rooms.skip_to(room, 2 * input.shape.stages / input.shape.vpp);
  const DispatchInput usual = room;
  if (usual.limit == whole.limit) fits = rooms.next(room);
  while (fits && search_in(room)) fits = rooms.next(room);
  room = whole;
  while (rooms.next(room) && room.limit > usual.limit && search_in(room)) {
  }
  return plan;
}

} // namespace ppsim::generator
