#pragma once
// One quantity over a range: the step times as a plot, and where the best schedule changes, in words and tables.

#include "ppsim/study/variation.hpp"
#include "ppsim/viz/text.hpp"

#include <string>

namespace ppsim::viz {

/// Where which schedule is the best, step times at some of the points, and the most telling crossings, for people.
/// Pure: the same inputs give the same bytes.
[[nodiscard]] std::string variation_text(const Variation& variation, const TextOptions& options);

/// The same as GitHub tables.
[[nodiscard]] std::string variation_markdown(const Variation& variation);

/// Step time (or its share per microbatch) over the varied quantity, one labelled line per schedule, as one SVG
/// document. Lines that are equal everywhere share a label. Lines more than twice as slow as the best ever is leave
/// the plot at its top. Pure: the same inputs give the same bytes.
[[nodiscard]] std::string svg_variation(const Variation& variation);

} // namespace ppsim::viz
