#pragma once
// The patterns of v-half, v-min and v-auto: how one microbatch passes a V of two chunks per stage (Qi et al., Pipeline
// Parallelism with Controllable Memory, arXiv 2405.15362, section 3 and appendix A).

#include <array>
#include <cstdint>
#include <vector>

#include "key_dispatch.hpp"
#include "slot_grid.hpp"

namespace ppsim::generator {

/// Times are in half slots; the next microbatch follows after six slots. A stage's memory grows with `step`: with unit
/// costs, 1, 2 and 4 slots from stage to stage on the way down are V-Min, V-Half and V-ZB.
struct VPattern {
  std::array<std::int64_t, legs> step{2, 2, 2, 2}; ///< from one stage to the next, per leg
  std::size_t bend = 0;                            ///< up to this stage the way down takes `step_before_bend`
  std::int64_t step_before_bend = 0;
  std::array<std::int64_t, legs - 1> turn{2, 2, 2}; ///< from the end of a leg to the next one
  /// Between the last `stages` microbatches, which are more urgent than their turn: with 0, the one with the most work
  /// ahead goes first. Only for keys.
  std::int64_t last_interval = 12;
  std::int64_t weight_delay = 0; ///< from I to its W
  KeyPolicy policy;
};

[[nodiscard]] TaskKeys keys_of(const VPattern& pattern, const Shape& shape);
[[nodiscard]] SlotPattern slots_of(const VPattern& pattern, std::size_t stages);

/// Patterns with whole slots, one slot per stage on the way up and 1 to 5 on the way down, with or without a bend, in
/// which no stage has two legs in the same slot: first V-Min and V-Half (whichever fits that limit first), then those
/// that hold nearly `live` activations.
[[nodiscard]] std::vector<VPattern> regular_patterns(std::size_t stages, std::int64_t live);
/// Patterns that differ from this one in one parameter.
[[nodiscard]] std::vector<VPattern> neighbours(const VPattern& pattern);

} // namespace ppsim::generator
