#pragma once
// What came of a replay, for people.

#include "ppsim/sim/validation.hpp"
#include "ppsim/viz/text.hpp"

#include <string>

namespace ppsim::viz {

/// How a run was predicted.
struct ReplayHead {
  std::size_t warmup = 0; ///< steps before those that count
  bool predicts = true;   ///< false where nobody said what tasks take
};

/// A block of lines: how long steps took against the prediction, whether results and memory are as they
/// have to be, and whether the times can be trusted. Pure.
[[nodiscard]] std::string replay_text(const MeasuredRun& run, const Validation& validation, const ReplayHead& head,
                                      const TextOptions& options);

} // namespace ppsim::viz
