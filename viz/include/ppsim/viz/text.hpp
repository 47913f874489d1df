#pragma once
// The terminal report: the answer, a table per stage, a small Gantt chart, what to try next.

#include "ppsim/graph/timeline.hpp"
#include "ppsim/study/run_report.hpp"

#include <string>

namespace ppsim::viz {

struct TextOptions {
  std::size_t width = 100; ///< columns of the terminal
  bool colour = false;     ///< ANSI colours
  bool advises = true;     ///< include what to try next; off for searched orders, which no other schedule improves
};

/// The report of one run. Pure: equal inputs give equal bytes.
[[nodiscard]] std::string text_report(const TaskGraph& graph, const Timeline& timeline, const RunReport& report,
                                      const TextOptions& options);

/// How far the run is from the best order, at most; `report` has a bound.
[[nodiscard]] std::string bound_text(const RunReport& report);

/// Every task with its step and times, one line each, sorted by step, then stage.
[[nodiscard]] std::string task_table(const TaskGraph& graph, const Timeline& timeline);

} // namespace ppsim::viz
