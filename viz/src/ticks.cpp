#include "ticks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ppsim::viz {

namespace {

/// A unit of time and its place in powers of ten.
struct TimeUnit {
  std::string_view name;
  std::int64_t nanoseconds;
  int exponent;
};
constexpr std::array<TimeUnit, 4> time_units{
    {{"s", 1'000'000'000, 9}, {"ms", 1'000'000, 6}, {"us", 1'000, 3}, {"ns", 1, 0}}};

} // namespace

TimeTicks choose_ticks(Duration span, std::size_t most) {
  const std::int64_t length = std::max<std::int64_t>(span.count(), 0);
  // At least two intervals, so that five times the power of ten below stays in range for every span.
  const auto intervals = static_cast<std::int64_t>(std::max<std::size_t>(most, 2));
  const std::int64_t least = length / intervals + (length % intervals == 0 ? 0 : 1);

  std::int64_t power = 1;
  int exponent = 0;
  while (5 * power < least) {
    power *= 10;
    ++exponent;
  }
  const std::int64_t factor = power >= least ? 1 : 2 * power >= least ? 2 : 5;

  const auto& unit = *std::find_if(time_units.begin(), time_units.end() - 1,
                                   [length](const TimeUnit& candidate) { return length >= candidate.nanoseconds; });
  return {Duration{power * factor}, Duration{unit.nanoseconds}, unit.name, std::max(0, unit.exponent - exponent)};
}

std::string tick_label(Duration at, const TimeTicks& ticks) {
  const std::int64_t whole = at / ticks.unit;
  if (ticks.decimals == 0) return fmt::format("{}", whole);
  const std::int64_t rest = (at % ticks.unit).count();
  std::int64_t shown = ticks.unit.count();
  for (int digit = 0; digit < ticks.decimals; ++digit) shown /= 10;
  return fmt::format("{}.{:0{}}", whole, rest / shown, ticks.decimals);
}

} // namespace ppsim::viz
