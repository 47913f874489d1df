#pragma once
// An explanation of a measured run as JSON, schema 1 (keys are added, never changed).

#include "ppsim/measured/explanation.hpp"

#include <span>
#include <string>

namespace ppsim::traces {

/// One JSON document: the findings, the largest first, each with the step before and after and the figures that support
/// it; what a step consists of; replicas and their stages. Times are whole nanoseconds, shares and errors ratios.
[[nodiscard]] std::string explanation_json(std::span<const MeasuredRun> replicas, const Explanation& explanation);

} // namespace ppsim::traces
