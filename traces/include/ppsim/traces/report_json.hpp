#pragma once
// The report as JSON, schema 1 (SPEC section 6): keys are added, never changed.

#include "ppsim/graph/timeline.hpp"
#include "ppsim/study/run_report.hpp"

#include <string>

namespace ppsim::traces {

/// One JSON document. With `tasks`, every task with its times and its step is in it.
[[nodiscard]] std::string report_json(const TaskGraph& graph, const Timeline& timeline, const RunReport& report,
                                      bool tasks);

} // namespace ppsim::traces
