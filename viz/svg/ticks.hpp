#pragma once
// Round ticks for an axis of times, bytes, rates, counts or factors.

#include "ppsim/study/variation.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace ppsim::viz {

/// Where the ticks of an axis stand and how they are written: at multiples of `step`, in `unit`. Values are integers
/// as Axis::Unit says.
struct Ticks {
  std::int64_t step = 1; ///< 1, 2 or 5 times a power of ten; of bytes that many of their unit, or a half, quarter, ...
  std::int64_t unit = 1;
  std::string_view unit_name; ///< empty for counts and factors
  int decimals = 0;           ///< what `step` needs when written in `unit`
};

/// The finest round ticks that part the range into at most `most` intervals. The unit is the largest that `to` reaches.
[[nodiscard]] Ticks choose_ticks(Axis::Unit unit, std::int64_t from, std::int64_t to, std::size_t most);

/// A value of an axis and its label.
struct AxisMark {
  std::int64_t value;
  std::string label;
};
/// Marks at the multiples of the ticks' step.
[[nodiscard]] std::vector<AxisMark> marks_at(std::int64_t from, std::int64_t to, const Ticks& ticks);
/// What an axis shows, with the unit of its ticks after it: "step time (ms)".
[[nodiscard]] std::string in_unit(std::string_view name, const Ticks& ticks);

/// log2 of `value` >= 1 in units of 2^-16, in integers alone so that it is the same on every machine.
[[nodiscard]] std::int64_t scaled_log2(std::int64_t value);
/// Round values of a logarithmic axis: every `stride`-th of 1, 2, 5, 10, 20, ... (of bytes 1, 2, 4, ...) in the range.
[[nodiscard]] std::vector<std::int64_t> logarithmic_ticks(const Axis& axis, std::size_t stride);

/// `value` in the unit of `ticks`, without the unit: "12.5".
[[nodiscard]] std::string tick_label(std::int64_t value, const Ticks& ticks);

} // namespace ppsim::viz
