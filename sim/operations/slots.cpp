#include "ppsim/operations/slots.hpp"

#include <algorithm>

namespace ppsim {

std::size_t slots_needed(std::span<const SimTime> made, std::span<const SimTime> used) {
  std::size_t given_back = 0;
  std::size_t most = 0;
  for (std::size_t i = 0; i < made.size(); ++i) {
    while (given_back < i && used[given_back] < made[i]) ++given_back;
    most = std::max(most, i + 1 - given_back);
  }
  return most + 1;
}

} // namespace ppsim
