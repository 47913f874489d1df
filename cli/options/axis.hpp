#pragma once
// The axis of --vary: which option runs over which range, or over which values.

#include "ppsim/study/sweep.hpp"
#include "ppsim/study/variation.hpp"

#include <string_view>

#include "options.hpp"

namespace ppsim::cli {

/// The option that `text` (NAME=FROM..TO) is about, or null.
[[nodiscard]] const Option* varied_option(std::string_view text);

/// Reads NAME=FROM..TO, NAME any option (or its alias) whose value is a number, the ends as that option takes them;
/// a FROM of 0 needs no unit; or values of such an option as parse_sweep_axis() takes them, at least two. Returns what
/// is wrong with it, or nothing.
[[nodiscard]] std::optional<Wrong> parse_axis(std::string_view text, Axis& axis);

/// Reads NAME=VALUES of a sweep, NAME any option of a run that takes a value: values with commas between them, each as
/// the option takes it, or FROM..TO:xFACTOR, or FROM..TO:+STEP; of --schedule also all. Otherwise as above.
[[nodiscard]] std::optional<Wrong> parse_sweep_axis(std::string_view text, SweepAxis& axis);

/// Reads an amount above 0 in the unit of an axis, for the precision. Otherwise as above.
[[nodiscard]] std::optional<Wrong> parse_step(std::string_view text, const Axis& axis, std::int64_t& step);

} // namespace ppsim::cli
