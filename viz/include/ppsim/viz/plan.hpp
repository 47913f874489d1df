#pragma once
// A plan for users: the ranked table and the answers about its first row.

#include "ppsim/plan/analysis.hpp"
#include "ppsim/viz/text.hpp"

#include <string>

namespace ppsim::viz {

/// The content of a plan's outputs.
struct PlanReport {
  PlanRequest request;
  RankedPlan plan;
  PlanAnalysis analysis; ///< empty if no row fits
  std::string command;   ///< the shell command of row 1, without the program's name
};

/// "tp 4, dp 32, pp 4, 32 microbatches of 1, zb-interleaved v=20".
[[nodiscard]] std::string configuration_words(const Configuration& configuration);

/// For a terminal; a narrow one omits columns. Pure.
[[nodiscard]] std::string plan_text(const PlanReport& shown, const TextOptions& options);
/// The same as a GitHub table with all its columns.
[[nodiscard]] std::string plan_markdown(const PlanReport& shown);
/// The fastest configuration by memory limit, as one SVG document. The plan must have a row and a memory limit.
[[nodiscard]] std::string svg_plan(const PlanReport& shown);

} // namespace ppsim::viz
