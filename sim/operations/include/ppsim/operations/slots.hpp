#pragma once
// Slots: buffers at an edge's receiver that keep outputs until their use.

#include "ppsim/base/units.hpp"

#include <cstddef>
#include <span>

namespace ppsim {

/// The number of slots that an edge needs so that no transfer waits for one: the most outputs that are made and not yet
/// used at one moment, plus one. An output made at the moment of another's use counts. Slots are freed in the order of
/// the transfers. `made` and `used` are the ends of the producing and consuming tasks, by transfer in the order of
/// `made`.
[[nodiscard]] std::size_t slots_needed(std::span<const SimTime> made, std::span<const SimTime> used);

} // namespace ppsim
