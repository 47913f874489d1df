#pragma once
// Doubts: what is allowed but probably not what was meant.

#include "inputs.hpp"

namespace ppsim::cli {

/// A note for people on each.
[[nodiscard]] std::vector<std::string> doubts(const Inputs& inputs, const Run& run);

} // namespace ppsim::cli
