#pragma once
// A Gantt chart as SVG, fit for a paper.

#include "ppsim/sim/report.hpp"
#include "ppsim/sim/timeline.hpp"

#include <string>

namespace ppsim::viz {

/// The whole chart as one SVG document. Pure: the same inputs give the same bytes.
[[nodiscard]] std::string svg_gantt(const TaskGraph& graph, const Timeline& timeline, const Report& report);

} // namespace ppsim::viz
