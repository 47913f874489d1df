#pragma once
#include "ppsim/sim/lowering.hpp"

namespace ppsim::lowering {
#define PPSIM_LOWERING(name) extern const Lowering name;
#include "lowerings.def"
#undef PPSIM_LOWERING
} // namespace ppsim::lowering
