#include "ppsim/sim/lowering.hpp"

#include <algorithm>

namespace ppsim {

#define PPSIM_LOWERING(lowering) extern const Lowering lowering;
#include "lowerings.def"
#undef PPSIM_LOWERING

std::span<const Lowering* const> lowerings() {
  static const std::vector<const Lowering*> all{
#define PPSIM_LOWERING(lowering) &lowering,
#include "lowerings.def"
#undef PPSIM_LOWERING
  };
  return all;
}

const Lowering* find_lowering(std::string_view name) {
  const auto found = std::ranges::find(lowerings(), name, &Lowering::name);
  return found == lowerings().end() ? nullptr : *found;
}

std::string_view to_string(Communicators communicators) {
  switch (communicators) {
  case Communicators::edge:
    return "edge";
  case Communicators::pair:
    return "pair";
  case Communicators::group:
    return "group";
  }
  return "?";
}

} // namespace ppsim
