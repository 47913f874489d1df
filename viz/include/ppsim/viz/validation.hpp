#pragma once
// A prediction compared with its run: as text, and both timelines in one chart.

#include "ppsim/measured/validation.hpp"
#include "ppsim/viz/text.hpp"

#include <string>

namespace ppsim::viz {

/// Whether the prediction holds, in one line, and why: step time, stages, passes, memory, results, and the tasks that
/// deviate most, with reasons. `validation` must be of these inputs. Pure: equal inputs give equal bytes.
[[nodiscard]] std::string validation_text(const TaskGraph& graph, const MeasuredRun& run, const Validation& validation,
                                          const TextOptions& options);

/// Predicted above measured, stage by stage on one time axis, as one SVG document; marks the tasks that deviate most.
/// Shows the measured step of `validation`.
[[nodiscard]] std::string svg_validation(const TaskGraph& graph, const Timeline& prediction, const MeasuredRun& run,
                                         const Validation& validation);

} // namespace ppsim::viz
