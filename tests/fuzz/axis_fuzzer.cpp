// --vary NAME=FROM..TO and NAME=VALUES: any text gives a valid axis or a problem.

#include "ppsim/base/error.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cli/options/axis.hpp"

namespace {

using namespace ppsim;

void run_sweep(std::string_view text) {
  SweepAxis axis;
  if (const auto wrong = cli::parse_sweep_axis(text, axis)) {
    PPSIM_ASSERT(!wrong->what.empty() && !wrong->hint.empty());
    return;
  }
  PPSIM_ASSERT(!axis.values.empty());
  constexpr std::size_t few = 100; // of a hundred thousand
  for (std::size_t i = 0; i < axis.values.size(); i = i + 1 < few ? i + 1 : std::max(i + 1, axis.values.size() - 1)) {
    const SweepValue& value = axis.values[i];
    cli::Inputs inputs;
    PPSIM_ASSERT(!value.shown.empty() && !cli::find_option(axis.option)->set(inputs, value.said));
  }
}

void run(std::string_view text) {
  run_sweep(text);
  Axis axis;
  if (const auto wrong = cli::parse_axis(text, axis)) {
    PPSIM_ASSERT(!wrong->what.empty() && !wrong->hint.empty());
    return;
  }
  PPSIM_ASSERT(axis.from < axis.to);
  const std::int64_t precision = default_precision(axis);
  const auto points = points_of(axis, {.points = 10, .precision = precision});
  PPSIM_ASSERT(points.front() == axis.from && points.back() == axis.to);
  for (const std::int64_t value : points) {
    cli::Inputs inputs;
    PPSIM_ASSERT(!cli::find_option(axis.option)->set(inputs, axis.flag_value(value)));
    PPSIM_ASSERT(!axis.format(value).empty());
  }
  std::int64_t step = 0;
  PPSIM_ASSERT(!cli::parse_step(axis.flag_value(precision), axis, step) && step == precision);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  run({reinterpret_cast<const char*>(data), size}); // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
  return 0;
}
