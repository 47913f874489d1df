#pragma once
// One quantity over a range: a plot of step times, and where the best schedule changes, in words and tables.

#include "ppsim/study/variation.hpp"
#include "ppsim/viz/text.hpp"

#include <string>

namespace ppsim::viz {

/// Which schedule is the best where, step times at some of the points, and the most important crossings. Pure: equal
/// inputs give equal bytes.
[[nodiscard]] std::string variation_text(const Variation& variation, const TextOptions& options);

/// The same as GitHub tables.
[[nodiscard]] std::string variation_markdown(const Variation& variation);

/// Step time (or its share per microbatch) over the varied quantity, one labelled line per schedule, as one SVG
/// document. Equal lines share a label. Lines more than twice as slow as the slowest best one leave the plot at its
/// top. Pure: equal inputs give equal bytes.
[[nodiscard]] std::string svg_variation(const Variation& variation);

} // namespace ppsim::viz
