#pragma once
// What came of a replay, for people.

#include "ppsim/measured/validation.hpp"
#include "ppsim/viz/text.hpp"

#include <string>

namespace ppsim::viz {

/// A block of lines: how long steps took against the prediction, whether results and memory are as they
/// have to be, and whether the times can be trusted. Pure.
[[nodiscard]] std::string replay_text(const MeasuredRun& run, const Validation& validation, const ReplayFacts& facts,
                                      const TextOptions& options);

} // namespace ppsim::viz
