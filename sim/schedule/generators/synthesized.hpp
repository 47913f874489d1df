#pragma once
// What the searching schedules owe to synthesis: where their own plan takes longer than what is proven to be needed, a
// better one, if a short search finds it.

#include "ppsim/synthesis/instance.hpp"

#include <functional>
#include <optional>
#include <span>

#include "dispatch.hpp"

namespace ppsim::generator {

/// A schedule by name of the same placement, which refuses nothing. Where the makespan counts it is not made while no
/// order that holds at most so many activations on each stage can be shorter than what there is.
struct Rival {
  const Generator* generator = nullptr;
  std::optional<std::size_t> activations = {};
  bool is_made = false;
  std::optional<synthesis::Order> order = {}; ///< once it is made; none if it is not one of microbatches in order
  std::optional<synthesis::Order> whole = {}; ///< the same with whole backwards, if it has no others
};

/// `plan`, or a better one of the same placement within the same limit: that of a rival; or, where all these are above
/// a first bound (of one chunk per stage by more than 4 %; in a V with equal tasks and short transfers by more than 20
/// %), of a search of sim/synthesis. Better is a shorter makespan, and of equal ones a shorter span; where each stage
/// takes its optimizer step by itself it is the other way round.
[[nodiscard]] Plan better_plan(const DispatchInput& input, const ScheduleRequest& request, const Scenario& scenario,
                               Plan plan, std::span<Rival> rivals);

/// The best of what `search` and better_plan() find in this room for activations and, if the request tries smaller
/// limits, in smaller ones, since more room is harder to search. From room to room all stages lose as much as less
/// memory would take away, at least an activation of one of them. It ends where no order of so little room can be
/// better, or where the orders have 50 000 tasks together; rooms for up to 2p activations come first. Where each stage
/// takes its optimizer step by itself there is this room alone.
[[nodiscard]] Plan best_within(const DispatchInput& input, const ScheduleRequest& request, const Scenario& scenario,
                               const std::function<Plan(const DispatchInput&)>& search, std::span<Rival> rivals);

/// The schedule called `name` of that plan. `all`: and of each rival that fits, with split backwards and as it is by
/// name.
[[nodiscard]] std::vector<Schedule> to_schedules(std::string_view name, const DispatchInput& input,
                                                 const Scenario& scenario, const Plan& plan, std::span<Rival> rivals,
                                                 bool all);

} // namespace ppsim::generator
