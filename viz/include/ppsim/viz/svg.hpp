#pragma once
// A Gantt chart as SVG, fit for a paper.

#include "ppsim/graph/timeline.hpp"
#include "ppsim/study/run_report.hpp"

#include <string>

namespace ppsim::viz {

/// The whole chart as one SVG document. Pure: the same inputs give the same bytes.
[[nodiscard]] std::string svg_gantt(const TaskGraph& graph, const Timeline& timeline, const RunReport& report);

} // namespace ppsim::viz
