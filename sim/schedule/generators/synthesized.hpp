#pragma once
// What the searching schedules owe to synthesis: where their own plan takes longer than what is proven to be needed, a
// better one, if a short search finds it.

#include <string_view>

#include "dispatch.hpp"

namespace ppsim::generator {

/// `plan`, or a better one of the same placement within the same limit: of those named in `others` (that refuse
/// nothing), or of a search of sim/synthesis, which begins with these and ends where one is at most 1 % above its
/// bound. What is better is the makespan, or with an optimizer step per stage the span.
[[nodiscard]] Plan better_plan(const DispatchInput& input, const ScheduleRequest& request, const Scenario& scenario,
                               Plan plan, std::span<const Generator* const> others);

} // namespace ppsim::generator
