#include "ppsim/study/jitter.hpp"

#include "ppsim/base/call.hpp"
#include "ppsim/base/detail/wide.hpp"
#include "ppsim/base/error.hpp"
#include "ppsim/base/random.hpp"
#include "ppsim/engine/step_timer.hpp"

#include <boost/math/special_functions/erf.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

namespace ppsim {
namespace {

constexpr std::size_t factor_bits = 16;
constexpr std::int64_t unit = std::int64_t{1} << 30; // of a factor

/// Boost computes in double: `long double` differs between machines.
using in_doubles = boost::math::policies::policy<boost::math::policies::promote_double<false>>;

/// Equally probable factors: the midpoints of equal shares of the distribution, scaled to mean 1.
std::vector<std::int64_t> factors_of(std::int64_t ppm) {
  constexpr std::size_t count = std::size_t{1} << factor_bits;
  const double deviation = factor_of(ppm);
  const double sigma = std::sqrt(std::log1p(deviation * deviation)); // of the logarithm
  std::vector<double> exact(count);
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
    exact[i] = std::exp(sigma * std::sqrt(2.0) * boost::math::erf_inv(2 * share - 1, in_doubles{}));
    sum += exact[i];
  }
  std::vector<std::int64_t> factors(count);
  for (std::size_t i = 0; i < count; ++i)
    factors[i] = std::llround(exact[i] * static_cast<double>(count) / sum * static_cast<double>(unit));
  return factors;
}

/// The times of one sample, with a separate factor for each task.
void draw_alike(const std::vector<Duration>& usual, const std::vector<std::int64_t>& factors, std::uint64_t sample_seed,
                std::vector<Duration>& times) {
  constexpr std::size_t per_word = 64 / factor_bits;
  SplitMix64 draws{sample_seed};
  std::uint64_t word = 0;
  for (std::size_t id = 0; id < usual.size(); ++id) {
    if (id % per_word == 0) word = draws.next();
    const std::uint64_t at = word & ((std::uint64_t{1} << factor_bits) - 1);
    word >>= factor_bits;
    times[id] = Duration{static_cast<std::int64_t>((Int128{usual[id].count()} * factors[at] + unit / 2) / unit)};
  }
}

/// Restores the times of a still stage's tasks.
void hold_still(const Schedule& schedule, StageId stage, const std::vector<Duration>& usual,
                std::vector<Duration>& times) {
  for (const TaskId id : schedule.task_ids(stage)) times[index(id)] = usual[index(id)];
}

/// `tasks`: in one sample of each group of copies.
void check(std::size_t tasks, const Jitter& jitter) {
  const std::size_t most =
      std::min<std::uint64_t>(JitterLimits::samples, JitterLimits::tasks / std::max<std::size_t>(tasks, 1));
  if (jitter.samples > most)
    throw Error{ExitCode::bad_input,
                Problem{"`samples`", fmt::format("{} of {} tasks each are too many", jitter.samples, tasks),
                        fmt::format("give at most {}", most)}};
  const std::size_t least = JitterLimits::samples_per_copy * jitter.copies;
  if (jitter.copies > 1 && jitter.samples < least)
    throw Error{ExitCode::bad_input,
                Problem{"`samples`",
                        fmt::format("{} are too few for the slowest of {} copies", jitter.samples, jitter.copies),
                        fmt::format("give at least {}", least)}};
}

/// The samples of equal copies, and the number of copies.
struct AlikeSamples {
  std::vector<Duration> steps;
  std::size_t copies;
};

/// The end of the slowest of all copies: ascending times, and the probability that it has ended by then.
struct SlowestEnds {
  std::vector<Duration> times;
  std::vector<double> shares;

  /// The smallest time that at least `share` of the steps do not exceed.
  [[nodiscard]] Duration quantile(double share) const {
    constexpr double rounding = 1e-12; // of a share that is not exact in binary
    const auto found = std::ranges::lower_bound(shares, share - rounding);
    return times[std::min(static_cast<std::size_t>(found - shares.begin()), times.size() - 1)];
  }

  [[nodiscard]] Duration mean() const {
    double mean = 0;
    double below = 0;
    for (std::size_t i = 0; i < times.size(); ++i) {
      mean += (shares[i] - below) * static_cast<double>(times[i].count());
      below = shares[i];
    }
    return Duration{std::llround(mean)};
  }
};

/// Unequal copies are independent, so probabilities multiply.
SlowestEnds ends_of(const std::vector<AlikeSamples>& all) {
  std::vector<std::pair<Duration, std::size_t>> ends; // with the group
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const Duration step : all[i].steps) ends.emplace_back(step, i);
  std::ranges::sort(ends);
  std::vector<std::size_t> ended(all.size());
  std::vector<double> shares(all.size()); // of each: F(x)^copies
  SlowestEnds found;
  for (const auto& [time, i] : ends) {
    const double share = static_cast<double>(++ended[i]) / static_cast<double>(all[i].steps.size());
    shares[i] = std::pow(share, static_cast<double>(all[i].copies));
    const double product = std::accumulate(shares.begin(), shares.end(), 1.0, std::multiplies{});
    if (product == 0) continue;
    found.times.push_back(time);
    found.shares.push_back(product);
  }
  return found;
}

/// The factors of equally varying tasks; empty for a measured run.
std::vector<std::int64_t> factors_of(const Jitter& jitter) {
  return jitter.measured ? std::vector<std::int64_t>{} : factors_of(jitter.ppm);
}

/// Draws the times of tasks, sample by sample.
class Draws {
public:
  /// `factors`: factors_of(jitter). `stream`: selects independent draws.
  Draws(const TaskGraph& graph, const Jitter& jitter, const std::vector<std::int64_t>& factors, std::size_t stream)
      : graph_{graph}, jitter_{jitter}, factors_{factors},
        seed_{SplitMix64{jitter.seed + (std::uint64_t{stream} << 32U)}.next()}, // seeds have 32 bits
        usual_(graph.size()) {
    for (std::size_t id = 0; id < usual_.size(); ++id) usual_[id] = graph.time_alone(make_id<TaskId>(id));
  }

  /// The tasks of a `still` stage do not vary.
  void draw(std::size_t sample, std::optional<StageId> still, std::vector<Duration>& times) const {
    const std::uint64_t seed = SplitMix64{seed_ + sample}.next();
    if (jitter_.measured)
      draw_measured(*jitter_.measured, graph_, usual_, seed, times);
    else
      draw_alike(usual_, factors_, seed, times);
    if (still) hold_still(graph_.schedule(), *still, usual_, times);
  }

private:
  const TaskGraph& graph_;
  const Jitter& jitter_;
  const std::vector<std::int64_t>& factors_;
  std::uint64_t seed_;
  std::vector<Duration> usual_;
};

/// The steps of one copy with the task times that `draw(sample, times)` sets, sample by sample.
template <class Draw>
std::vector<Duration> steps_of(const TaskGraph& graph, std::size_t samples, const Draw& draw,
                               const SampleWatch& watch) {
  const StepTimer timer{graph};
  std::vector<Duration> steps;
  std::vector<Duration> times(graph.size());
  std::vector<Duration> side_by_side(graph.size() * StepTimer::lanes);
  while (steps.size() < samples) {
    check_stop();
    const std::size_t wanted = std::min(StepTimer::lanes, samples - steps.size());
    for (std::size_t lane = 0; lane < wanted; ++lane) {
      draw(steps.size() + lane, times);
      for (std::size_t id = 0; id < times.size(); ++id) side_by_side[id * StepTimer::lanes + lane] = times[id];
    }
    const std::vector<Duration> sampled = timer.makespans(graph, side_by_side);
    steps.insert(steps.end(), sampled.begin(), sampled.begin() + static_cast<std::ptrdiff_t>(wanted));
    if (watch) watch(steps.size(), samples);
  }
  return steps;
}

} // namespace

StepSpread find_spread(std::span<const SampledCopies> copies, const Jitter& jitter, std::optional<StageId> still,
                       const SampleWatch& watch) {
  check(copies.front().graph->size() * copies.size(), jitter);
  const std::vector<std::int64_t> factors = factors_of(jitter);
  std::vector<AlikeSamples> samples;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const Draws draws{*copies[i].graph, jitter, factors, i};
    const SampleWatch of_all = [&](std::size_t done, std::size_t of) { watch(i * of + done, copies.size() * of); };
    const auto draw = [&](std::size_t sample, std::vector<Duration>& times) { draws.draw(sample, still, times); };
    samples.push_back(
        {steps_of(*copies[i].graph, jitter.samples, draw, watch ? of_all : SampleWatch{}), copies[i].count});
  }
  const SlowestEnds ends = ends_of(samples);
  StepSpread spread{.of = jitter,
                    .mean = ends.mean(),
                    .p50 = ends.quantile(0.50),
                    .p95 = ends.quantile(0.95),
                    .p99 = ends.quantile(0.99)};
  for (std::size_t i = 0; i <= StepSpread::quantile_count; ++i)
    spread.quantiles.push_back(ends.quantile(static_cast<double>(i) / static_cast<double>(StepSpread::quantile_count)));
  return spread;
}

StepSpread find_spread(const TaskGraph& graph, const Jitter& jitter, std::optional<StageId> still) {
  return find_spread(std::array{SampledCopies{&graph, jitter.copies}}, jitter, still);
}

Duration p95_error(const StepSpread& spread) {
  constexpr double share = 0.95;
  constexpr double around = 0.025; // on both sides, to estimate the density
  const auto at = [&](double probability) {
    return spread.quantiles[static_cast<std::size_t>(std::lround(probability * StepSpread::quantile_count))];
  };
  const auto copies = static_cast<double>(spread.of.copies);
  const double of_one = std::pow(share, 1 / copies); // the quantile of one copy's samples
  const double error =
      copies * share / of_one * std::sqrt(of_one * (1 - of_one) / static_cast<double>(spread.of.samples));
  return Duration{
      std::llround(static_cast<double>((at(share + around) - at(share - around)).count()) * error / (2 * around))};
}

DrawnSteps draw_samples(const TaskGraph& graph, const Jitter& jitter) {
  const std::vector<std::int64_t> factors = factors_of(jitter);
  const Draws draws{graph, jitter, factors, 0};
  DrawnSteps drawn{.times = {jitter.samples, std::vector<Duration>(graph.size())}, .steps = {}};
  const auto draw = [&](std::size_t sample, std::vector<Duration>& times) {
    draws.draw(sample, std::nullopt, drawn.times[sample]);
    times = drawn.times[sample];
  };
  drawn.steps = steps_of(graph, jitter.samples, draw, {});
  return drawn;
}

} // namespace ppsim
