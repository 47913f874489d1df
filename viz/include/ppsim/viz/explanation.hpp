#pragma once
// What makes the steps of a measured run long, as text.

#include "ppsim/measured/explanation.hpp"
#include "ppsim/viz/text.hpp"

#include <span>
#include <string>

namespace ppsim::viz {

/// The answer in one line; then each finding with what it costs and the figures that say so, where a step goes, tables
/// of stages and replicas, and how far to trust it. `explanation` is of these replicas. Pure: the same inputs give the
/// same bytes.
[[nodiscard]] std::string explanation_text(std::span<const MeasuredRun> replicas, const Explanation& explanation,
                                           const TextOptions& options);

} // namespace ppsim::viz
