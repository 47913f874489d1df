#pragma once
// Warm-up, steady pairs, cool-down: the one place that counts them.

#include "ppsim/schedule/schedule.hpp"

namespace ppsim {

/// The phases of one stage. Warm-up + pairs are its forwards, pairs + cool-down its backwards.
struct Phases {
  std::size_t warmup_forwards = 0;
  std::size_t steady_pairs = 0;
  std::size_t cooldown_backwards = 0;
};

/// Warm-up is what the generator calls so. In an order from elsewhere the last forward before the first backward begins
/// the first pair, and where no forward follows the first backward (GPipe, forwards alone) there are no pairs.
[[nodiscard]] Phases count_phases(const Schedule& schedule, StageId stage);

} // namespace ppsim
