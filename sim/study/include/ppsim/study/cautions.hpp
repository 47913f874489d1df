#pragma once
// Cautions: what is allowed but probably not what was meant.

#include "ppsim/study/build_run.hpp"

namespace ppsim {

/// A note for people on each.
[[nodiscard]] std::vector<std::string> cautions(const RunSpec& spec, const BuiltRun& run);

} // namespace ppsim
