#pragma once
// Chrome trace events (JSON), for Perfetto and chrome://tracing.

#include "ppsim/graph/timeline.hpp"
#include "ppsim/study/run_report.hpp"

#include <string>

namespace ppsim::traces {

/// One track per stage, transfers as slices on a separate track joined by flow arrows, and counters for live
/// activations and memory.
[[nodiscard]] std::string chrome_trace(const TaskGraph& graph, const Timeline& timeline, const RunReport& report);

} // namespace ppsim::traces
