#pragma once
// A prediction beside the run that it is held against: as text, and both timelines in one chart.

#include "ppsim/measured/validation.hpp"
#include "ppsim/viz/text.hpp"

#include <string>

namespace ppsim::viz {

/// Whether the prediction holds, in one line, and then why: step time, stages, passes, memory, results, and the tasks
/// that deviate most with the reason. `validation` is of these inputs. Pure: the same inputs give the same bytes.
[[nodiscard]] std::string validation_text(const TaskGraph& graph, const MeasuredRun& run, const Validation& validation,
                                          const TextOptions& options);

/// Predicted above measured, stage by stage on one time axis, as one SVG document; the tasks that deviate most are
/// marked. The measured step is the one that `validation` is of.
[[nodiscard]] std::string svg_validation(const TaskGraph& graph, const Timeline& prediction, const MeasuredRun& run,
                                         const Validation& validation);

} // namespace ppsim::viz
