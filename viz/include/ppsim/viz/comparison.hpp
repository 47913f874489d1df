#pragma once
// Several schedules side by side: a table for the terminal, one for a page on GitHub, and their charts on one time
// axis.

#include "ppsim/study/comparison.hpp"
#include "ppsim/viz/panel.hpp"
#include "ppsim/viz/text.hpp"

#include <span>
#include <string>

namespace ppsim::viz {

/// The recommendation in words: what it gains over the runner-up and what it costs. One line, without a newline.
[[nodiscard]] std::string recommendation_text(const Comparison& comparison);

/// The comparison as a table, for people. Columns that a narrow terminal has no room for go, the least telling first.
/// `recommendation`: recommendation_text(comparison). Pure: the same inputs give the same bytes.
[[nodiscard]] std::string comparison_text(const Comparison& comparison, const std::string& recommendation,
                                          const TextOptions& options);

/// The same as a GitHub table with all its columns.
[[nodiscard]] std::string comparison_markdown(const Comparison& comparison, const std::string& recommendation);

/// The charts of `panels` above each other, in their order, on one time axis. The axis ends with the longest of them
/// that takes at most twice as long as the reference run; those that take longer are cut off there, and their heads
/// say so. The reference is the recommended panel, or the first where none is; a line at its end runs through all. The
/// title, costs and limit come from `comparison`. One document of less than 3 MB. Pure.
[[nodiscard]] std::string svg_comparison(const Comparison& comparison, std::span<const Panel> panels);

/// How often steps take how long where tasks vary, a row per schedule that was sampled, in the order of the comparison;
/// a line through all rows at the figure of the one to take by which they are ranked. What takes more than twice as
/// long as that one is named, not drawn. Of `comparison` at least one was sampled. Pure.
[[nodiscard]] std::string svg_step_spread(const Comparison& comparison);

} // namespace ppsim::viz
