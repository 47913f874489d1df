#pragma once
// Warm-up, steady pairs, cool-down. Only this file counts them.

#include "ppsim/schedule/schedule.hpp"

namespace ppsim {

/// The phases of one stage. Its forwards are warm-up + pairs, its backwards pairs + cool-down.
struct Phases {
  std::size_t warmup_forwards = 0;
  std::size_t steady_pairs = 0;
  std::size_t cooldown_backwards = 0;
};

/// The warm-up comes from the generator. In other orders the first pair starts with the last forward before the first
/// backward; if no forward follows the first backward (GPipe, forwards alone), there are no pairs.
[[nodiscard]] Phases count_phases(const Schedule& schedule, StageId stage);

} // namespace ppsim
