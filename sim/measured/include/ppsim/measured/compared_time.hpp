#pragma once
// ComparedTime: one figure, predicted and measured.

#include "ppsim/base/units.hpp"

namespace ppsim {

/// One figure, predicted and measured.
struct ComparedTime {
  Duration predicted{0};
  Duration measured{0};
  /// (predicted - measured) / measured; zero where both are zero, infinite where only the measured one is.
  [[nodiscard]] double error() const;
};

} // namespace ppsim
