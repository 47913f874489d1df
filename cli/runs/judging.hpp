#pragma once
// --fail-if: conditions on a run.

#include "ppsim/study/run_report.hpp"

#include "runs/inputs.hpp"

namespace ppsim::cli {

/// Throws Error if a condition is about a metric that is unknown for the run. Call it before anything is written.
void check_conditions(const Inputs& inputs, const RunReport& report);

/// Whether a condition holds; prints which.
[[nodiscard]] bool holds_any(const Inputs& inputs, const RunReport& report);

} // namespace ppsim::cli
