#pragma once
// What the searching schedules owe to synthesis: where their own plan takes longer than what is proven to be needed, a
// better one, if a short search finds it.

#include <functional>
#include <optional>
#include <span>

#include "dispatch.hpp"

namespace ppsim::generator {

/// A schedule by name of the same placement, which refuses nothing. Where the makespan counts it is not made if no
/// order that holds at most so many activations on each stage can be shorter than what there is.
struct AlternativeSchedule {
  const Generator* generator = nullptr;
  std::optional<std::size_t> activations = {};
};

/// `plan`, or a better one of the same placement within the same limit: that of a rival; or, where all these are more
/// than 4 % above a first bound (in a V with short transfers 20 %), of a search of sim/synthesis. Better is a shorter
/// makespan, and of equal ones a shorter span; where each stage takes its optimizer step by itself it is the other way
/// round.
[[nodiscard]] Plan better_plan(const DispatchInput& input, const ScheduleRequest& request, const Scenario& scenario,
                               Plan plan, std::span<const AlternativeSchedule> rivals);

/// `plan`, or what `search` and better_plan() find in room for fewer activations on each stage, if that is shorter:
/// more room is harder to search. One activation less each time, from 2p on first, as long as some order in so little
/// room may be shorter, and the orders have 12 000 tasks together. Where each stage takes its optimizer step by itself
/// the plan is left as it is.
[[nodiscard]] Plan best_below(const DispatchInput& input, const ScheduleRequest& request, const Scenario& scenario,
                              Plan plan, const std::function<Plan(const DispatchInput&)>& search);

} // namespace ppsim::generator
