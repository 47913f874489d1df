#pragma once
#include "ppsim/sim/generators.hpp"

namespace ppsim::generator {
#define PPSIM_GENERATOR(name) extern const Generator name;
#include "generators.def"
#undef PPSIM_GENERATOR
} // namespace ppsim::generator
