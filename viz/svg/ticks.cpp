#include "ticks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <span>

namespace ppsim::viz {

namespace {

/// A unit and how many of an axis' integers it is.
struct AxisUnit {
  std::string_view name;
  std::int64_t size;
};

constexpr std::array<AxisUnit, 4> time_units{{{"s", 1'000'000'000}, {"ms", 1'000'000}, {"us", 1'000}, {"ns", 1}}};
constexpr std::array<AxisUnit, 5> byte_units{{{"TiB", std::int64_t{1} << 40},
                                              {"GiB", std::int64_t{1} << 30},
                                              {"MiB", std::int64_t{1} << 20},
                                              {"KiB", std::int64_t{1} << 10},
                                              {"B", 1}}};
constexpr std::array<AxisUnit, 5> rate_units{
    {{"TB/s", 1'000'000'000'000}, {"GB/s", 1'000'000'000}, {"MB/s", 1'000'000}, {"kB/s", 1'000}, {"B/s", 1}}};
constexpr std::array<AxisUnit, 1> count_units{{{"", 1}}};
constexpr std::array<AxisUnit, 1> factor_units{{{"", 1'000'000}}};

std::span<const AxisUnit> units_of(Axis::Unit unit) {
  switch (unit) {
  case Axis::Unit::time:
    return time_units;
  case Axis::Unit::bytes:
    return byte_units;
  case Axis::Unit::rate:
    return rate_units;
  case Axis::Unit::factor:
    return factor_units;
  case Axis::Unit::count:
    break;
  }
  return count_units;
}

/// The smallest of 1, 2, 5 times a power of ten that is at least `least`.
std::int64_t round_step(std::int64_t least) {
  std::int64_t power = 1;
  while (5 * power < least) power *= 10;
  return power >= least ? power : 2 * power >= least ? 2 * power : 5 * power;
}

/// The same in bytes: a round number of units, or one unit halved as often as `least` allows.
std::int64_t round_byte_step(std::int64_t least, std::int64_t unit) {
  if (least > unit) return round_step((least + unit - 1) / unit) * unit;
  std::int64_t step = unit;
  while (step / 2 >= least && step > 1) step /= 2;
  return step;
}

} // namespace

Ticks choose_ticks(Axis::Unit unit, std::int64_t from, std::int64_t to, std::size_t most) {
  const std::int64_t length = std::max<std::int64_t>(to - from, 0);
  // At least two intervals, so that five times the power of ten below stays in range for every span.
  const auto intervals = static_cast<std::int64_t>(std::max<std::size_t>(most, 2));
  const std::int64_t least = length / intervals + (length % intervals == 0 ? 0 : 1);

  const std::span<const AxisUnit> units = units_of(unit);
  const AxisUnit& written =
      *std::find_if(units.begin(), units.end() - 1, [to](const AxisUnit& candidate) { return to >= candidate.size; });
  Ticks ticks{1, written.size, written.name, 0};
  ticks.step =
      unit == Axis::Unit::bytes ? round_byte_step(std::max<std::int64_t>(least, 1), written.size) : round_step(least);
  for (std::int64_t rest = ticks.step % written.size; rest != 0; rest = rest * 10 % written.size) ++ticks.decimals;
  return ticks;
}

std::int64_t scaled_log2(std::int64_t value) {
  const auto whole = static_cast<std::uint64_t>(value);
  const auto exponent = static_cast<int>(std::bit_width(whole)) - 1;
  // 1 <= mantissa < 2 in units of 2^-31; each squaring yields one bit of the logarithm.
  std::uint64_t mantissa = exponent <= 31 ? whole << (31 - exponent) : whole >> (exponent - 31);
  std::int64_t result = exponent;
  for (int bit = 0; bit < 16; ++bit) {
    mantissa = (mantissa * mantissa) >> 31U;
    const bool carry = mantissa >= (std::uint64_t{1} << 32U);
    result = 2 * result + (carry ? 1 : 0);
    if (carry) mantissa >>= 1U;
  }
  return result;
}

std::vector<std::int64_t> logarithmic_ticks(const Axis& axis, std::size_t stride) {
  std::vector<std::int64_t> ticks;
  const bool binary = axis.unit == Axis::Unit::bytes;
  std::int64_t value = 1;
  for (std::size_t number = 0; value <= axis.to; ++number) {
    if (value >= axis.from && number % stride == 0) ticks.push_back(value);
    if (value > axis.to / 2) break;
    value = !binary && number % 3 == 1 ? value / 2 * 5 : value * 2;
  }
  return ticks;
}

std::string in_unit(std::string_view name, const Ticks& ticks) {
  return ticks.unit_name.empty() ? std::string{name} : fmt::format("{} ({})", name, ticks.unit_name);
}

std::vector<AxisMark> marks_at(std::int64_t from, std::int64_t to, const Ticks& ticks) {
  std::vector<AxisMark> marks;
  for (std::int64_t tick = (from + ticks.step - 1) / ticks.step; tick <= to / ticks.step; ++tick)
    marks.push_back({tick * ticks.step, tick_label(tick * ticks.step, ticks)});
  return marks;
}

std::string tick_label(std::int64_t value, const Ticks& ticks) {
  std::string label = fmt::format("{}", value / ticks.unit);
  if (ticks.decimals > 0) label += '.';
  std::int64_t rest = value % ticks.unit;
  for (int digit = 0; digit < ticks.decimals; ++digit, rest = rest * 10 % ticks.unit)
    label += static_cast<char>('0' + rest * 10 / ticks.unit);
  return label;
}

} // namespace ppsim::viz
