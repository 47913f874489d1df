#pragma once
// `balance`: the best split of layers over chunks for one run.

#include "ppsim/study/balance.hpp"
#include "ppsim/study/build_run.hpp"

namespace ppsim {

/// Finds the best split for the resolved spec and gives `run` its scenario, and its schedule where the order follows
/// from the costs. Throws Error where the costs do not follow the layers, or the run as it is does not end.
[[nodiscard]] Balance balance_layers(const RunSpec& spec, BuiltRun& run);

} // namespace ppsim
