#pragma once
// The terminal report: the answer, a table per stage, a small Gantt, what to look at next.

#include "ppsim/graph/timeline.hpp"
#include "ppsim/study/run_report.hpp"

#include <string>

namespace ppsim::viz {

struct TextOptions {
  std::size_t width = 100; ///< columns of the terminal
  bool colour = false;     ///< ANSI colours
  bool advises = true;     ///< what to look at next; no schedule by name helps where an order was sought
};

/// The report of one run, for people. Pure: the same inputs give the same bytes.
[[nodiscard]] std::string text_report(const TaskGraph& graph, const Timeline& timeline, const RunReport& report,
                                      const TextOptions& options);

/// Every task with its step and times, a line each, in the order of step, then stage.
[[nodiscard]] std::string task_table(const TaskGraph& graph, const Timeline& timeline);

} // namespace ppsim::viz
