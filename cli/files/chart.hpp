#pragma once
// What is drawn in a Gantt chart besides its rows.

#include "ppsim/base/error.hpp"
#include "ppsim/viz/svg.hpp"

#include "runs/inputs.hpp"

namespace ppsim::cli {

/// Throws Error where memory is to be drawn in a chart that is not asked for.
inline void require_chart(const Inputs& inputs) {
  if (inputs.svg_memory && !inputs.svg)
    throw Error{ExitCode::bad_input,
                Problem{inputs.place_of("svg-memory"), "there is no chart to draw memory in", "give --svg FILE too"}};
}

[[nodiscard]] inline viz::MemoryLanes memory_lanes(const Inputs& inputs) {
  return inputs.svg_memory ? viz::MemoryLanes::shown : viz::MemoryLanes::none;
}

} // namespace ppsim::cli
