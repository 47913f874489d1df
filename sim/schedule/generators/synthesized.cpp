#include "synthesized.hpp"

#include "ppsim/schedule/detail/sequences.hpp"
#include "ppsim/synthesis/search.hpp"

#include <algorithm>

namespace ppsim::generator {
namespace {

constexpr std::uint64_t most_placements = 2'000'000; // of tasks: about a quarter of a second
constexpr std::uint64_t refuting_steps = 1'000'000;  // of rules, on what a search may find: a tenth of a second
constexpr std::uint64_t placements_per_task = 8;     // by one order and what makes it better
constexpr std::uint64_t fewest_orders = 2;           // that find a better one
constexpr std::uint64_t steps_per_task = 8;          // of rules, before they refute what cannot be
constexpr std::int64_t far_ppm = 500'000;            // above the bound of the search
constexpr std::uint64_t more_guide_steps = 20;       // times as many, if the orders by fewer are far from the best
constexpr std::uint64_t most_tasks_below = 50'000;   // of the orders in less room: each is a search of its own

synthesis::Instance instance_of(const DispatchInput& input) {
  synthesis::Instance instance;
  instance.microbatches = static_cast<std::uint32_t>(input.shape.microbatches);
  instance.capacity = input.limit;
  for (std::size_t chunk = 0; chunk < input.stage.size(); ++chunk) {
    const std::uint32_t stage = input.stage[chunk];
    instance.sequences.push_back({stage, input.forward[chunk], input.taken[chunk], 0, 0});
    instance.sequences.push_back({stage, input.input_grad[chunk], input.restored[chunk],
                                  input.taken[chunk] + input.restored[chunk] - input.kept[chunk], 0});
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

/// How many millionths above the first bound a plan is left as it is. Published patterns of a V are hard to beat if all
/// tasks take equally long and transfers are short; the bound is weak there.
std::int64_t good_enough_ppm(const DispatchInput& input) {
  if (input.shape.vpp != 2) return 40'000; // the orders that others measured were that good
  const std::int64_t task = input.forward.front();
  for (const auto* times : {&input.forward, &input.input_grad, &input.weight_grad})
    if (std::ranges::any_of(*times, [&](std::int64_t each) { return each != task; })) return 0;
  return std::ranges::max(input.transfer) <= task / 10 ? 200'000 : 0;
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

/// Smaller rooms for the activations of all stages: each has so much less on every stage, as with less memory. They are
/// those that activations of one chunk fill on one stage, and do not depend on the room to begin with: what is searched
/// in less room is also searched in more.
class Rooms {
public:
  explicit Rooms(const DispatchInput& input) : input_{input}, least_(input.limit.size()), most_(input.limit.size()) {
    for (std::size_t chunk = 0; chunk < input.stage.size(); ++chunk) {
      const std::uint32_t stage = input.stage[chunk];
      least_[stage] += input.taken[chunk];
      most_[stage] += static_cast<std::int64_t>(input.shape.microbatches) * input.taken[chunk];
    }
  }

  [[nodiscard]] DispatchInput with(std::int64_t less) const {
    DispatchInput room = input_;
    for (std::size_t stage = 0; stage < least_.size(); ++stage)
      if (least_[stage] > 0) {
        room.limit[stage] -= less;
        room.forward_limit[stage] -= less;
      }
    return room;
  }

  /// What no activation can use, if all that a stage ever holds are multiples of one size.
  [[nodiscard]] std::int64_t unused() const {
    for (std::size_t chunk = 0; chunk < input_.stage.size(); ++chunk)
      if (input_.taken[chunk] != input_.taken[input_.chunks[input_.stage[chunk]].front()] ||
          input_.restored[chunk] != 0 || (input_.kept[chunk] != 0 && input_.kept[chunk] != input_.taken[chunk]))
        return 0;
    return if_enough(least_rest(0, 0)).value_or(0);
  }

  /// The next room; none where it is too small.
  [[nodiscard]] std::optional<std::int64_t> after(std::int64_t less) const {
    return if_enough(less + least_rest(less, 1));
  }

  /// The first room with memory for no more than so many microbatches on any stage; none where it is too small.
  [[nodiscard]] std::optional<std::int64_t> for_microbatches(std::size_t most) const {
    std::int64_t less = 0;
    for (std::size_t stage = 0; stage < least_.size(); ++stage)
      if (least_[stage] > 0)
        less = std::max(less, input_.forward_limit[stage] - static_cast<std::int64_t>(most) * least_[stage]);
    return if_enough(less);
  }

private:
  /// The least that one stage has beyond activations of one chunk, or beyond all its activations: `at_least` or more.
  [[nodiscard]] std::int64_t least_rest(std::int64_t less, std::int64_t at_least) const {
    std::int64_t least = Dispatch::never;
    for (std::size_t chunk = 0; chunk < input_.stage.size(); ++chunk) {
      const std::int64_t taken = input_.taken[chunk];
      if (taken == 0) continue;
      const std::int64_t limit = input_.forward_limit[input_.stage[chunk]] - less;
      const std::int64_t over = limit - most_[input_.stage[chunk]];
      least = std::min(least, over >= at_least ? over : (limit - at_least) % taken + at_least);
    }
    return least;
  }

  [[nodiscard]] std::optional<std::int64_t> if_enough(std::int64_t less) const {
    for (std::size_t stage = 0; stage < least_.size(); ++stage)
      if (least_[stage] > 0 && input_.forward_limit[stage] - less < least_[stage]) return std::nullopt;
    return less < Dispatch::never ? std::optional{less} : std::nullopt; // never: nothing takes memory
  }

  const DispatchInput& input_;
  std::vector<std::int64_t> least_; // by stage: an activation of each of its chunks
  std::vector<std::int64_t> most_;  // by stage: all activations
};

void make_rival(Rival& rival, const Shape& shape, const Scenario& scenario, std::span<const StageId> placement) {
  if (rival.is_made) return;
  const Schedule made = make_schedule(*rival.generator, {.shape = shape}, scenario);
  rival.order = as_order(made, placement, sequence_passes(true));
  rival.whole = as_order(made, placement, sequence_passes(false));
  rival.is_made = true;
}

} // namespace

Plan better_plan(const DispatchInput& input, const ScheduleRequest& request, const Scenario& scenario, Plan plan,
                 std::span<Rival> rivals) {
  const bool by_span = counts_span(scenario);
  const Shape& shape = request.shape;
  const std::span<const Pass> passes = sequence_passes(true);
  const std::vector<StageId> placement = placement_of(input);
  Dispatch board{input};
  const auto offer = [&](const std::optional<synthesis::Order>& order) {
    if (!order || !board.follow(as_schedule("", shape, *order, passes))) return;
    if (is_better(scenario, board.score(), plan.score)) plan = {board.steps(), board.score()};
  };
  for (Rival& rival : rivals) {
    if (!rival.is_made && !by_span && rival.activations &&
        !may_be_shorter(dispatch_input(scenario, placement, *rival.activations), plan.score.makespan))
      continue;
    make_rival(rival, shape, scenario, placement);
    offer(rival.order);
  }
  const std::int64_t good_enough = good_enough_ppm(input);
  if (synthesis::is_near_enough(plan.score.makespan, lower_bound(input).makespan, good_enough)) return plan;
  const synthesis::Instance instance = instance_of(input);
  const std::uint64_t orders = most_placements / placements_per_task / instance.tasks();
  if (orders < fewest_orders || fault_of(instance)) return plan; // a fault: it is too large
  const std::optional<synthesis::Order> start = as_order(to_schedule("", shape, plan), placement, passes);
  synthesis::SearchOptions options{.orders = orders, .proves = false, .start_gap_ppm = good_enough, .starts = {*start}};
  const synthesis::Found found = search(instance, options);
  if (found.plan) offer(found.plan->order);
  if (synthesis::is_near_enough(plan.score.makespan, found.bound, far_ppm)) return plan;
  options.guide_steps *= more_guide_steps;
  if (found.plan) options.starts = {found.plan->order};
  if (const synthesis::Found later = search(instance, options); later.plan) offer(later.plan->order);
  return plan;
}

Plan best_within(const DispatchInput& input, const ScheduleRequest& request, const Scenario& scenario,
                 const std::function<Plan(const DispatchInput&)>& search, std::span<Rival> rivals) {
  const auto best_in = [&](const DispatchInput& room) {
    return better_plan(room, request, scenario, search(room), rivals);
  };
  const Rooms rooms{input};
  const std::int64_t whole = rooms.unused();
  Plan plan = best_in(rooms.with(whole));
  if (!request.tries_smaller_limits || counts_span(scenario)) return plan; // no rule refutes a span in a moment
  std::uint64_t left = most_tasks_below / instance_of(input).tasks();
  const auto search_in = [&](const DispatchInput& room) {
    if (left == 0 || !may_be_shorter(room, plan.score.makespan)) return false;
    --left;
    Plan other = best_in(room);
    if (is_better(scenario, other.score, plan.score)) plan = std::move(other);
    return true;
  };
  // in more room than for 2p activations few orders are better, so what is in there comes last
  const std::optional<std::int64_t> usual = rooms.for_microbatches(2 * input.shape.stages / input.shape.vpp);
  for (auto less = usual && *usual <= whole ? rooms.after(whole) : usual; less && search_in(rooms.with(*less));)
    less = rooms.after(*less);
  const std::int64_t end = usual.value_or(Dispatch::never);
  for (auto less = rooms.after(whole); less && *less < end && search_in(rooms.with(*less));) less = rooms.after(*less);
  return plan;
}

std::vector<Schedule> to_schedules(std::string_view name, const DispatchInput& input, const Scenario& scenario,
                                   const Plan& plan, std::span<Rival> rivals, bool all) {
  const Shape& shape = input.shape;
  std::vector<Schedule> schedules{to_schedule(name, shape, plan)};
  if (!all) return schedules;
  Dispatch board{input};
  for (Rival& rival : rivals) {
    make_rival(rival, shape, scenario, placement_of(input));
    if (!rival.order) continue;
    Schedule split = as_schedule(name, shape, *rival.order, sequence_passes(true));
    if (!board.follow(split)) continue;
    schedules.push_back(std::move(split));
    // in each stage's order whole backwards hold no more
    if (rival.whole) schedules.push_back(as_schedule(name, shape, *rival.whole, sequence_passes(false)));
  }
  return schedules;
}

} // namespace ppsim::generator
