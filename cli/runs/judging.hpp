#pragma once
// --fail-if: what is asked of a run.

#include "ppsim/study/run_report.hpp"

#include "runs/inputs.hpp"

namespace ppsim::cli {

/// Before anything is written: throws Error where a condition is about a metric that is not known of the run.
void check_conditions(const Inputs& inputs, const RunReport& report);

/// Whether a condition holds; says which.
[[nodiscard]] bool holds_any(const Inputs& inputs, const RunReport& report);

} // namespace ppsim::cli
