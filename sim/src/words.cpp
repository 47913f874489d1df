#include "ppsim/sim/words.hpp"

#include <fmt/format.h>

namespace ppsim {

std::string counted(std::size_t count, std::string_view noun, std::string_view plural_ending) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : plural_ending);
}

} // namespace ppsim
