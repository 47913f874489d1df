#pragma once
// The results of a replay as text.

#include "ppsim/measured/validation.hpp"
#include "ppsim/viz/text.hpp"

#include <string>

namespace ppsim::viz {

/// Step times against the prediction, whether results and memory are correct, and whether the times are reliable. Pure.
[[nodiscard]] std::string replay_text(const MeasuredRun& run, const Validation& validation, const ReplayFacts& facts,
                                      const TextOptions& options);

} // namespace ppsim::viz
