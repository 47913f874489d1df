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

/// The best of what `search` and better_plan() find in this room for activations and in smaller ones, since more room
/// is harder to search: each takes an activation away from at least one stage, and with bytes from all stages as much
/// as less memory would. It ends where no order of so little room can be better, or where the orders have 100 000 tasks
/// together; rooms for up to 2p activations come first.
[[nodiscard]] Plan best_within(const DispatchInput& input, const ScheduleRequest& request, const Scenario& scenario,
                               const std::function<Plan(const DispatchInput&)>& search,
                               std::span<const AlternativeSchedule> rivals);

} // namespace ppsim::generator
