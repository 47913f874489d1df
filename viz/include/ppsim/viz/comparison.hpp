#pragma once
// Several schedules side by side: their charts on one time axis.

#include "ppsim/sim/comparison.hpp"
#include "ppsim/sim/timeline.hpp"

#include <span>
#include <string>

namespace ppsim::viz {

/// One run of a comparison, as it is drawn.
struct Panel {
  const TaskGraph& graph;
  const Timeline& timeline;
  const Report& report;
  std::string name; ///< as Contender::name
  bool recommended = false;
};

/// The charts of `panels` above each other, in their order, on one time axis. The axis ends with the longest of them
/// that takes at most twice as long as the reference run; those that take longer are cut off there, and their heads
/// say so. The reference is the recommended panel, or the first where none is; a line at its end runs through all. The
/// title, costs and limit come from `comparison`. One document of less than 3 MB. Pure.
[[nodiscard]] std::string svg_comparison(const Comparison& comparison, std::span<const Panel> panels);

} // namespace ppsim::viz
