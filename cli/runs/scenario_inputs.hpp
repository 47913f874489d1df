#pragma once
// From what a user said about costs, network and memory to a Scenario.

#include "inputs.hpp"

namespace ppsim::cli {

/// The scenario of these inputs for a shape whose chunks stand as `placement` says, the first and the
/// last of them perhaps on the same stages (ends_share_stage(schedule)). Throws Error with everything that
/// does not fit.
[[nodiscard]] Scenario make_scenario(const Inputs& inputs, const Shape& shape, const std::vector<StageId>& placement,
                                     bool ends_share_stage);

} // namespace ppsim::cli
