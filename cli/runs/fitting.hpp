#pragma once
// Fitting: if nothing fits, changes that make a schedule fit, found by trying them.

#include <string>

#include "inputs.hpp"

namespace ppsim::cli {

/// Sentences about changes of these inputs under which some schedule fits, each with the best schedule then; of several
/// sizes the smallest. Each change needs its own comparison. Empty if no change helps.
[[nodiscard]] std::string what_would_fit(const Inputs& inputs, std::size_t threads);

} // namespace ppsim::cli
