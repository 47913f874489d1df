#pragma once
// Chrome trace events (JSON), which Perfetto and chrome://tracing open.

#include "ppsim/graph/timeline.hpp"
#include "ppsim/study/run_report.hpp"

#include <string>

namespace ppsim::traces {

/// A track per stage, transfers as slices on a track of their own joined by flow arrows, and counters for live
/// activations and memory.
[[nodiscard]] std::string chrome_trace(const TaskGraph& graph, const Timeline& timeline, const RunReport& report);

} // namespace ppsim::traces
