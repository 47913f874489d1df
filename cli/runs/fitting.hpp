#pragma once
// Fitting: where nothing fits, what would make something fit, tried.

#include <string>

#include "inputs.hpp"

namespace ppsim::cli {

/// Sentences on changes of these inputs under which some schedule fits, each with the schedule to take then; of several
/// sizes the least that does. Every change is a comparison of its own. Empty where none helps.
[[nodiscard]] std::string what_would_fit(const Inputs& inputs, std::size_t threads);

} // namespace ppsim::cli
