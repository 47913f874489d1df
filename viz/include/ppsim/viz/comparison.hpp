#pragma once
// Several schedules: a table for the terminal, one for GitHub, and their charts on one time axis.

#include "ppsim/study/comparison.hpp"
#include "ppsim/viz/panel.hpp"
#include "ppsim/viz/text.hpp"

#include <span>
#include <string>

namespace ppsim::viz {

/// The recommendation in words: its gain over the runner-up and its cost. One line, without a newline.
[[nodiscard]] std::string recommendation_text(const Comparison& comparison);

/// The comparison as a table for the terminal. A narrow terminal omits columns, the least informative first.
/// `recommendation`: recommendation_text(comparison). Pure: equal inputs give equal bytes.
[[nodiscard]] std::string comparison_text(const Comparison& comparison, const std::string& recommendation,
                                          const TextOptions& options);

/// The same as a GitHub table with all its columns.
[[nodiscard]] std::string comparison_markdown(const Comparison& comparison, const std::string& recommendation);

/// The charts of `panels` one below the other, in order, on one time axis. The axis ends with the longest panel that
/// takes at most twice as long as the reference run; longer ones are cut off there and marked in their headline. The
/// reference is the recommended panel, or the first one if none is; a line at its end crosses all panels. Title, costs
/// and limit come from `comparison`. One document of less than 3 MB. Pure.
[[nodiscard]] std::string svg_comparison(const Comparison& comparison, std::span<const Panel> panels);

/// The distribution of step times if tasks vary: a row per sampled schedule, in the order of the comparison, and a line
/// through all rows at the recommended schedule's ranking figure. Times above twice that figure are named, not drawn.
/// `comparison` must have at least one sampled schedule. Pure.
[[nodiscard]] std::string svg_step_spread(const Comparison& comparison);

} // namespace ppsim::viz
