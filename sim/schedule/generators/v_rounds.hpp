#pragma once
// ZB-V with costs and a memory limit (Qi et al., arXiv 2405.15362, section 4; as in the Zero Bubble repository): after
// the warm-up, every stage runs one input gradient and one forward per round, of whichever chunk has work, and W in the
// gaps.

#include <optional>

#include "dispatch.hpp"

namespace ppsim::generator {

/// When a W that is longer than a gap is run although the stage has waited less than others.
struct GapRule {
  bool before_forwards = true;
  bool before_gradients = true;
};

/// Places all tasks; false if the limit is too small for the warm-up. `spared` may contain, per stage, the wait in an
/// earlier attempt: stages with short waits may then wait again, up to the longest wait of that attempt.
[[nodiscard]] bool dispatch_v_rounds(Dispatch& board, const GapRule& rule,
                                     const std::optional<std::vector<std::int64_t>>& spared = std::nullopt);

} // namespace ppsim::generator
