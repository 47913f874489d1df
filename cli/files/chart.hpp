#pragma once
// Additions to a Gantt chart's rows.

#include "ppsim/base/error.hpp"
#include "ppsim/viz/svg.hpp"

#include "runs/inputs.hpp"

namespace ppsim::cli {

/// Throws Error if memory is requested without a chart.
inline void require_chart(const Inputs& inputs) {
  if (inputs.svg_memory && !inputs.svg)
    throw Error{ExitCode::bad_input,
                Problem{inputs.place_of("svg-memory"), "there is no chart to draw memory in", "give --svg FILE too"}};
}

[[nodiscard]] inline viz::MemoryLanes memory_lanes(const Inputs& inputs) {
  return inputs.svg_memory ? viz::MemoryLanes::shown : viz::MemoryLanes::none;
}

} // namespace ppsim::cli
