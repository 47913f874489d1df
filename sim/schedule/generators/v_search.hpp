#pragma once
// Shared by v-half, v-min and v-auto: the search for the best plan for a V of two chunks per stage under a memory
// limit.

#include "dispatch.hpp"
#include "synthesized.hpp"

namespace ppsim::generator {

/// The best plan found: by rounds (v_rounds.hpp), by exact slot patterns (slot_grid.hpp), and by patterns adapted to
/// real costs (key_dispatch.hpp), the best of which are improved in small steps; and the same for equal tasks without
/// transfers, run with real costs. `placements` limits the placed tasks of each of the two; it is raised if it is too
/// small for the rounds and a handful of other plans.
[[nodiscard]] Plan search_v(const DispatchInput& input, std::size_t placements);

/// The most chunk activations of the published orders on a stage, for any p. With two slots per stage on the way down,
/// and one on each other leg, a microbatch of V-Half is live for 3p slots of its six on average; of V-Min, with one
/// slot on every leg, 2p.
constexpr std::size_t v_half_limit(const Shape& shape) {
  return 2 * (shape.stages / 2) + 2;
}
constexpr std::size_t v_min_limit(const Shape& shape) {
  return 2 * ((shape.stages + 1) / 3) + 2;
}

/// to_schedules() of such a plan that holds at most so many activations on each stage, or of another schedule in a V,
/// if that is shorter.
[[nodiscard]] std::vector<Schedule> search_within(std::string_view name, const Shape& shape, const Scenario& scenario,
                                                  std::size_t activations, bool all);

} // namespace ppsim::generator
