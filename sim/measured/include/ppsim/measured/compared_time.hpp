#pragma once
// ComparedTime: a predicted and a measured time.

#include "ppsim/base/units.hpp"

namespace ppsim {

struct ComparedTime {
  Duration predicted{0};
  Duration measured{0};
  /// (predicted - measured) / measured; zero if both are zero, infinite if only the measured one is.
  [[nodiscard]] double error() const;
};

} // namespace ppsim
