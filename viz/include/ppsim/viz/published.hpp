#pragma once
// Predictions beside the published runs they were held against: as text, as tables, as a plot of errors.

#include "ppsim/measured/published.hpp"
#include "ppsim/viz/text.hpp"

#include <string>

namespace ppsim::viz {

/// The errors by set, by device, of memory; the worst run of each set; what was refused; with `rows` every run. Pure:
/// the same inputs give the same bytes.
[[nodiscard]] std::string published_text(const PublishedErrors& errors, bool rows, const TextOptions& options);

/// The same as GitHub tables.
[[nodiscard]] std::string published_markdown(const PublishedErrors& errors, bool rows);

/// The ratio of predicted to measured step time of every run, set by set, as one SVG document: a marker per run, its
/// device by colour and form, over a band of what is tolerated, or of 10 %.
[[nodiscard]] std::string svg_published(const PublishedErrors& errors);

} // namespace ppsim::viz
