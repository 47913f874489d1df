#pragma once
// What v-half, v-min and v-auto share: the search for the best plan for a V of two chunks per stage under a memory
// limit.

#include "dispatch.hpp"

namespace ppsim::generator {

/// The best plan found: by rounds (v_rounds.hpp), by patterns slot for slot (slot_grid.hpp), and by patterns that real
/// costs bend (key_dispatch.hpp), the best of which are improved in small steps. `placements` bounds how many tasks may
/// be placed in all; where that is too few for the rounds and a handful of other plans, it is raised.
[[nodiscard]] Plan search_v(const DispatchInput& input, std::size_t placements);

/// The schedule called `name` of such a plan that holds at most so many activations on each stage.
[[nodiscard]] Schedule search_within(std::string_view name, const Shape& shape, const Scenario& scenario,
                                     std::size_t activations);

} // namespace ppsim::generator
