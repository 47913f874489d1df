#pragma once
// The axis of --vary: an option with its range or its values.

#include "ppsim/study/sweep.hpp"
#include "ppsim/study/variation.hpp"

#include <string_view>

#include "options.hpp"

namespace ppsim::cli {

/// The option in `text` (NAME=FROM..TO), or null.
[[nodiscard]] const Option* varied_option(std::string_view text);

/// Parses NAME=FROM..TO. NAME is any numeric option (or its alias), and the ends have that option's form; a FROM of 0
/// needs no unit. Instead of a range, at least two values as in parse_sweep_axis() are accepted. Returns the problem,
/// or nothing.
[[nodiscard]] std::optional<Wrong> parse_axis(std::string_view text, Axis& axis);

/// Parses NAME=VALUES of a sweep. NAME is any option of a run with a value. VALUES are values separated by commas,
/// FROM..TO:xFACTOR, or FROM..TO:+STEP; for --schedule also all. Returns the problem, or nothing.
[[nodiscard]] std::optional<Wrong> parse_sweep_axis(std::string_view text, SweepAxis& axis);

/// Parses an amount above 0 in the unit of an axis, for the precision. Returns the problem, or nothing.
[[nodiscard]] std::optional<Wrong> parse_step(std::string_view text, const Axis& axis, std::int64_t& step);

} // namespace ppsim::cli
