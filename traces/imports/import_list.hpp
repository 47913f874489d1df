#pragma once
#include "ppsim/traces/import.hpp"

namespace ppsim::traces {
#define PPSIM_IMPORT(name)                                                                                             \
  namespace name {                                                                                                     \
  extern const ImportFormat definition;                                                                                \
  }
#include "imports.def"
#undef PPSIM_IMPORT
} // namespace ppsim::traces
