#include "ppsim/study/jitter.hpp"

#include "ppsim/base/detail/wide.hpp"
#include "ppsim/base/error.hpp"
#include "ppsim/base/percentile.hpp"
#include "ppsim/engine/step_timer.hpp"

#include <boost/math/special_functions/erf.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace ppsim {
namespace {

constexpr std::size_t factor_bits = 16;
constexpr std::int64_t unit = std::int64_t{1} << 30; // of a factor

/// So many equally probable factors, in the middle of their shares of the distribution, scaled so that their mean is 1.
std::vector<std::int64_t> factors_of(std::int64_t ppm) {
  constexpr std::size_t count = std::size_t{1} << factor_bits;
  const double deviation = factor_of(ppm);
  const double sigma = std::sqrt(std::log1p(deviation * deviation)); // of the logarithm
  std::vector<double> exact(count);
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
    exact[i] = std::exp(sigma * std::sqrt(2.0) * boost::math::erf_inv(2 * share - 1));
    sum += exact[i];
  }
  std::vector<std::int64_t> factors(count);
  for (std::size_t i = 0; i < count; ++i)
    factors[i] = std::llround(exact[i] * static_cast<double>(count) / sum * static_cast<double>(unit));
  return factors;
}

/// 64 bits that look like chance, of a number each (Steele, Lea and Flood, Fast splittable pseudorandom number
/// generators, OOPSLA 2014).
std::uint64_t bits_of(std::uint64_t number) {
  std::uint64_t bits = number + 0x9E3779B97F4A7C15U;
  bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBU;
  return bits ^ (bits >> 31U);
}

/// The times of one sample.
void draw(const std::vector<Duration>& usual, const std::vector<std::int64_t>& factors, std::uint64_t sample_seed,
          std::vector<Duration>& times) {
  constexpr std::size_t per_word = 64 / factor_bits;
  std::uint64_t word = 0;
  for (std::size_t id = 0; id < usual.size(); ++id) {
    if (id % per_word == 0) word = bits_of(sample_seed + 0x9E3779B97F4A7C15U * (id / per_word));
    const std::uint64_t at = word & ((std::uint64_t{1} << factor_bits) - 1);
    word >>= factor_bits;
    times[id] = Duration{static_cast<std::int64_t>((Int128{usual[id].count()} * factors[at] + unit / 2) / unit)};
  }
}

void check(const TaskGraph& graph, const Jitter& jitter) {
  const std::size_t most =
      std::min<std::uint64_t>(JitterLimits::samples, JitterLimits::tasks / std::max<std::size_t>(graph.size(), 1));
  if (jitter.samples > most)
    throw Error{ExitCode::bad_input,
                Problem{"`samples`", fmt::format("{} of {} tasks each are too many", jitter.samples, graph.size()),
                        fmt::format("give at most {}", most)}};
  const std::size_t least = JitterLimits::samples_per_copy * jitter.copies;
  if (jitter.copies > 1 && jitter.samples < least)
    throw Error{ExitCode::bad_input,
                Problem{"`samples`",
                        fmt::format("{} say little of the slowest of {} copies", jitter.samples, jitter.copies),
                        fmt::format("give at least {}", least)}};
}

/// What at least `share` of the slowest of so many copies take at most.
Duration quantile(const std::vector<Duration>& sorted, double share, std::size_t copies) {
  return percentile_of_sorted(sorted, std::pow(share, 1 / static_cast<double>(copies)));
}

Duration mean_of_slowest(const std::vector<Duration>& sorted, std::size_t copies) {
  const auto count = static_cast<double>(sorted.size());
  double mean = 0;
  double below = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const double up_to = std::pow(static_cast<double>(i + 1) / count, static_cast<double>(copies));
    mean += (up_to - below) * static_cast<double>(sorted[i].count());
    below = up_to;
  }
  return Duration{std::llround(mean)};
}

} // namespace

StepSpread find_spread(const TaskGraph& graph, const Jitter& jitter) {
  check(graph, jitter);
  std::vector<Duration> usual(graph.size());
  for (std::size_t id = 0; id < usual.size(); ++id) usual[id] = graph.time_alone(make_id<TaskId>(id));
  const StepTimer timer{graph};
  const std::vector<std::int64_t> factors = jitter.measured ? std::vector<std::int64_t>{} : factors_of(jitter.ppm);
  std::vector<Duration> steps;
  std::vector<Duration> times(usual.size());
  std::vector<Duration> side_by_side(usual.size() * StepTimer::lanes);
  while (steps.size() < jitter.samples) {
    for (std::size_t lane = 0; lane < StepTimer::lanes; ++lane) {
      const std::uint64_t seed = bits_of(bits_of(jitter.seed) + steps.size() + lane);
      if (jitter.measured)
        draw_measured(*jitter.measured, graph, usual, seed, times);
      else
        draw(usual, factors, seed, times);
      for (std::size_t id = 0; id < times.size(); ++id) side_by_side[id * StepTimer::lanes + lane] = times[id];
    }
    const std::vector<Duration> sampled = timer.makespans(graph, side_by_side);
    const std::size_t wanted = std::min(sampled.size(), jitter.samples - steps.size());
    steps.insert(steps.end(), sampled.begin(), sampled.begin() + static_cast<std::ptrdiff_t>(wanted));
  }
  std::ranges::sort(steps);
  return {.of = jitter,
          .mean = mean_of_slowest(steps, jitter.copies),
          .p50 = quantile(steps, 0.50, jitter.copies),
          .p95 = quantile(steps, 0.95, jitter.copies),
          .p99 = quantile(steps, 0.99, jitter.copies)};
}

} // namespace ppsim
