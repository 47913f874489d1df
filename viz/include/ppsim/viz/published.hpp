#pragma once
// Predictions compared with published runs: as text, as tables, as a plot of errors.

#include "ppsim/measured/published.hpp"
#include "ppsim/viz/text.hpp"

#include <string>

namespace ppsim::viz {

/// The errors by set, by device and of memory; the worst run of each set; refused runs; with `rows` every run. Pure:
/// equal inputs give equal bytes.
[[nodiscard]] std::string published_text(const PublishedErrors& errors, bool rows, const TextOptions& options);

/// The same as GitHub tables.
[[nodiscard]] std::string published_markdown(const PublishedErrors& errors, bool rows);

/// The ratio of predicted to measured step time of every run, set by set, as one SVG document: a marker per run, with
/// its device by colour and shape, over the tolerance band (default 10 %).
[[nodiscard]] std::string svg_published(const PublishedErrors& errors);

} // namespace ppsim::viz
