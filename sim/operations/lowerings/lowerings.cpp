#include <algorithm>
#include <array>

#include "lowering_list.hpp"

namespace ppsim {

std::span<const Lowering* const> lowerings() {
  static const std::array all{
#define PPSIM_LOWERING(name) &lowering::name::definition,
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
  case Communicators::direction:
    return "direction";
  case Communicators::group:
    return "group";
  }
  return "?";
}

} // namespace ppsim
