#pragma once
// Why the steps of a measured run are long, as text.

#include "ppsim/measured/explanation.hpp"
#include "ppsim/viz/text.hpp"

#include <span>
#include <string>

namespace ppsim::viz {

/// The answer in one line; then each finding with its cost and its supporting figures, the parts of a step, tables of
/// stages and replicas, and the reliability of the result. `explanation` must be of these replicas. Pure: equal inputs
/// give equal bytes.
[[nodiscard]] std::string explanation_text(std::span<const MeasuredRun> replicas, const Explanation& explanation,
                                           const TextOptions& options);

} // namespace ppsim::viz
