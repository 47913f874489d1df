#pragma once
// Panel: one of several runs that are shown together.

#include "ppsim/graph/timeline.hpp"
#include "ppsim/study/run_report.hpp"

#include <string>

namespace ppsim::viz {

/// One of several runs to draw.
struct Panel {
  const TaskGraph& graph;
  const Timeline& timeline;
  const RunReport& report;
  std::string name; ///< as Contender::name
  bool recommended = false;
};

} // namespace ppsim::viz
