#pragma once
// Many predictions compared with their runs: as text, as a table, as a plot of errors.

#include "ppsim/measured/accuracy.hpp"
#include "ppsim/viz/text.hpp"

#include <string>

namespace ppsim::viz {

/// Whether all predictions hold, in one line; then their accuracy, overall and by group; then all runs if they are few,
/// otherwise the worst. Pure: equal inputs give equal bytes.
[[nodiscard]] std::string accuracy_text(const Accuracy& accuracy, const TextOptions& options);

/// The same as GitHub tables, with every run.
[[nodiscard]] std::string accuracy_markdown(const Accuracy& accuracy);

/// The error of every step time, group by group, as one SVG document: a marker per run, with its schedule by colour and
/// shape, over the tolerance band.
[[nodiscard]] std::string svg_accuracy(const Accuracy& accuracy);

} // namespace ppsim::viz
