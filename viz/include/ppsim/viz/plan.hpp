#pragma once
// A plan for people: the ranked table, and what it says about the first row.

#include "ppsim/plan/answers.hpp"
#include "ppsim/viz/text.hpp"

#include <string>

namespace ppsim::viz {

/// What is shown.
struct PlanShown {
  PlanRequest request;
  RankedPlan plan;
  PlanAnswers answers; ///< empty where no row fits
  std::string command; ///< what runs row 1, as a shell takes it, after the program's name
};

/// "tp 4, dp 32, pp 4, 32 microbatches of 1, zb-interleaved v=20".
[[nodiscard]] std::string configuration_words(const Configuration& configuration);

/// For a terminal. Columns that it has no room for go. Pure.
[[nodiscard]] std::string plan_text(const PlanShown& shown, const TextOptions& options);
/// The same as a GitHub table with all its columns.
[[nodiscard]] std::string plan_markdown(const PlanShown& shown);
/// The fastest within less and less memory, as one SVG document. The plan has a row and a memory limit.
[[nodiscard]] std::string svg_plan(const PlanShown& shown);

} // namespace ppsim::viz
