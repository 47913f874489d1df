#pragma once
#include "ppsim/schedule/generators.hpp"

namespace ppsim::generator {
#define PPSIM_GENERATOR(name)                                                                                          \
  namespace name {                                                                                                     \
  extern const Generator definition;                                                                                   \
  }
#include "generators.def"
#undef PPSIM_GENERATOR
} // namespace ppsim::generator
