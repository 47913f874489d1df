#pragma once
// Many predictions beside the runs they were held against: as text, as a table, as a plot of errors.

#include "ppsim/measured/accuracy.hpp"
#include "ppsim/viz/text.hpp"

#include <string>

namespace ppsim::viz {

/// Whether all predictions hold, in one line; then how good they are, in all and group by group; then the runs: all of
/// a few, else the worst. Pure: the same inputs give the same bytes.
[[nodiscard]] std::string accuracy_text(const Accuracy& accuracy, const TextOptions& options);

/// The same as GitHub tables, with every run.
[[nodiscard]] std::string accuracy_markdown(const Accuracy& accuracy);

/// The error of every step time, group by group, as one SVG document: a marker per run, its schedule by colour and
/// form, over the band that is tolerated.
[[nodiscard]] std::string svg_accuracy(const Accuracy& accuracy);

} // namespace ppsim::viz
