#pragma once
// Slots: buffers in which what comes over one edge waits until it is used.

#include "ppsim/base/units.hpp"

#include <cstddef>
#include <span>

namespace ppsim {

/// How many slots an edge needs so that no transfer waits for one: as many as are made and not yet used up at one
/// moment, one that is made in the moment in which another is used up included, and one more. Slots are given back in
/// the order of the transfers. `made` and `used` are the ends of the tasks that make and use them, by transfer in the
/// order of `made`.
[[nodiscard]] std::size_t slots_needed(std::span<const SimTime> made, std::span<const SimTime> used);

} // namespace ppsim
