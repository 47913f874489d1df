#pragma once
// ZB-V under costs and a memory limit (Qi et al., arXiv 2405.15362, section 4; the schedule behind ZB-V in the Zero
// Bubble repository): after the warm-up every stage runs one input gradient and one forward per round, of whichever of
// its two chunks has work, and W in the gaps.

#include <optional>

#include "dispatch.hpp"

namespace ppsim::generator {

/// When a W that is longer than a gap is run all the same, though the stage has waited less than others.
struct GapRule {
  bool before_forwards = true;
  bool before_gradients = true;
};

/// Places all tasks; false if the limit is too small for the warm-up. `spared` may name, per stage, what it waited in
/// an earlier attempt: stages that waited little then are again allowed to wait, up to the worst of that attempt.
[[nodiscard]] bool dispatch_v_rounds(Dispatch& board, const GapRule& rule,
                                     const std::optional<std::vector<std::int64_t>>& spared = std::nullopt);

} // namespace ppsim::generator
