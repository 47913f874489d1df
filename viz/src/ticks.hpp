#pragma once
// Round ticks for a time axis.

#include "ppsim/sim/units.hpp"

#include <string>
#include <string_view>

namespace ppsim::viz {

/// Where the ticks of a time axis stand and how they are written: at multiples of `step`, in `unit`.
struct TimeTicks {
  Duration step{1}; ///< 1, 2 or 5 times a power of ten nanoseconds
  Duration unit{1};
  std::string_view unit_name = "ns";
  int decimals = 0; ///< what `step` needs when written in `unit`
};

/// The finest round ticks that part `span` into at most `most` intervals. The unit is the largest that `span` reaches.
[[nodiscard]] TimeTicks choose_ticks(Duration span, std::size_t most);

/// `at` in the unit of `ticks`, without the unit: "12.5".
[[nodiscard]] std::string tick_label(Duration at, const TimeTicks& ticks);

} // namespace ppsim::viz
