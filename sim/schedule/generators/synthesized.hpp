#pragma once
// What the searching schedules owe to synthesis: where their own plan takes longer than what is proven to be needed, a
// better one, if a short search finds it.

#include <string_view>

#include "dispatch.hpp"

namespace ppsim::generator {

/// `plan`, or a better one of the same placement within the same limit: of those named in `others` (that refuse
/// nothing); or, where all these are more than 4 % above a first bound, of a search of sim/synthesis. Better is a
/// shorter makespan with no longer span; or at least 2 % less of the makespan, but not where each stage takes its
/// optimizer step by itself.
[[nodiscard]] Plan better_plan(const DispatchInput& input, const ScheduleRequest& request, const Scenario& scenario,
                               Plan plan, std::span<const Generator* const> others);

} // namespace ppsim::generator
