#pragma once
#include "ppsim/operations/lowering.hpp"

namespace ppsim::lowering {
#define PPSIM_LOWERING(name)                                                                                           \
  namespace name {                                                                                                     \
  extern const Lowering definition;                                                                                    \
  }
#include "lowerings.def"
#undef PPSIM_LOWERING
} // namespace ppsim::lowering
