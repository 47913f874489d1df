#pragma once
// --balance: the best split of layers over chunks for one run.

#include "ppsim/study/balance.hpp"

#include "inputs.hpp"

namespace ppsim::cli {

/// Finds the best split for the resolved inputs and gives `run` its scenario, and its schedule where the order follows
/// from the costs. Throws Error where the costs do not follow the layers, or the run as it is does not end.
[[nodiscard]] Balance balance_layers(const Inputs& inputs, Run& run);

} // namespace ppsim::cli
