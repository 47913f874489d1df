#pragma once
// A Gantt chart as SVG, suitable for a paper.

#include "ppsim/graph/timeline.hpp"
#include "ppsim/study/run_report.hpp"

#include <cstdint>
#include <string>

namespace ppsim::viz {

/// Whether a chart shows the memory of each stage over time below its rows, against the memory limit.
enum class MemoryLanes : std::uint8_t { none, shown };

/// The whole chart as one SVG document. Pure: equal inputs give equal bytes.
[[nodiscard]] std::string svg_gantt(const TaskGraph& graph, const Timeline& timeline, const RunReport& report,
                                    MemoryLanes memory = MemoryLanes::none);

} // namespace ppsim::viz
