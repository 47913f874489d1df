// Step times with varying tasks, compared with closed forms and another sampler.

#include "ppsim/base/error.hpp"
#include "ppsim/study/jitter.hpp"
#include "support/pipelines.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace ppsim::test::jitter_test {
namespace {

TaskGraph graph_of(std::string_view schedule, const Shape& shape, Duration transfer = Duration{0}) {
  Scenario scenario = uniform_scenario(shape, Duration{1'000'000}, Duration{2'000'000});
  std::ranges::fill(scenario.network.latency, transfer);
  return lower(make_schedule(find_generator(schedule), {.shape = shape}, scenario), scenario);
}

double ms(Duration time) {
  return static_cast<double>(time.count()) / 1e6;
}

/// GPipe on two stages, with nothing of ours: the mean and the 95 % quantile of its makespan in ms.
std::pair<double, double> sampled_gpipe(std::size_t microbatches, double transfer, double deviation,
                                        std::size_t samples, bool second_is_still = false) {
  std::mt19937_64 random{42};
  const double sigma = std::sqrt(std::log(1 + deviation * deviation));
  std::lognormal_distribution<double> factor{-sigma * sigma / 2, sigma};
  std::vector<double> steps;
  double sum = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    std::vector<double> arrived(microbatches), sent(microbatches);
    double first = 0;
    double second = 0;
    for (double& at : arrived) at = (first += factor(random)) + transfer;
    for (const double at : arrived) second = std::max(second, at) + (second_is_still ? 1 : factor(random));
    for (double& at : sent) at = (second += 2 * (second_is_still ? 1 : factor(random))) + transfer;
    for (const double at : sent) first = std::max(first, at) + 2 * factor(random);
    steps.push_back(std::max(first, second));
    sum += steps.back();
  }
  std::ranges::sort(steps);
  return {sum / static_cast<double>(samples), steps[samples * 95 / 100 - 1]};
}

} // namespace

TEST_CASE("The sum of many tasks on one stage is nearly normal") {
  // 64 forwards of 1 ms and backwards of 2 ms: the standard deviation is 10 % of sqrt(64 (1 + 4)) ms
  const double deviation = 0.1 * std::sqrt(64.0 * 5.0);
  const StepSpread spread =
      find_spread(graph_of("1f1b", {.stages = 1, .microbatches = 64}), {.ppm = 100'000, .samples = 40'000});
  const double error = deviation / std::sqrt(40'000.0);
  CHECK(ms(spread.mean) == Approx(192).margin(4 * error));
  CHECK(ms(spread.p50) == Approx(192).margin(0.02 * deviation + 5 * error)); // slightly skewed
  CHECK(ms(spread.p95) == Approx(192 + 1.645 * deviation).margin(0.1 * deviation));
  CHECK(ms(spread.p99) == Approx(192 + 2.326 * deviation).margin(0.2 * deviation));
}

TEST_CASE("Of several copies the slowest ends a step") {
  // of 64 normal variables the largest is 2.36 standard deviations above the mean on average (Harter, Biometrika 1961)
  const double deviation = 0.1 * std::sqrt(64.0 * 5.0);
  const StepSpread spread = find_spread(graph_of("1f1b", {.stages = 1, .microbatches = 64}),
                                        {.ppm = 100'000, .samples = 40'000, .copies = 64});
  CHECK(ms(spread.mean) == Approx(192 + 2.36 * deviation).margin(0.2 * deviation));
  CHECK(spread.p50 < spread.p95);
}

TEST_CASE("Unequal copies have their own distributions, and their probabilities multiply") {
  Scenario slow = uniform_scenario({.stages = 1, .microbatches = 64}, Duration{1'000'000}, Duration{2'000'000});
  slow.costs.stage_ppm = {1'010'000};
  const TaskGraph usual = graph_of("1f1b", {.stages = 1, .microbatches = 64});
  const TaskGraph other = lower(usual.schedule(), slow);
  const StepSpread spread = find_spread(std::array{SampledCopies{&usual, 3}, SampledCopies{&other, 1}},
                                        {.ppm = 100'000, .samples = 40'000, .copies = 4});
  // sums of 64 tasks each are all but normal
  const double deviation = 0.1 * std::sqrt(64.0 * 5.0);
  const auto below = [](double x, double mean, double sigma) {
    return 0.5 * std::erfc((mean - x) / sigma / std::sqrt(2));
  };
  const auto quantile = [&](double share) {
    double low = 180;
    double high = 210;
    while (high - low > 1e-6) {
      const double x = (low + high) / 2;
      (std::pow(below(x, 192, deviation), 3) * below(x, 193.92, 1.01 * deviation) < share ? low : high) = x;
    }
    return low;
  };
  CHECK(ms(spread.p50) == Approx(quantile(0.5)).margin(0.05 * deviation));
  CHECK(ms(spread.p95) == Approx(quantile(0.95)).margin(0.1 * deviation));
  const StepSpread alike = find_spread(usual, {.ppm = 100'000, .samples = 4000, .copies = 2});
  const StepSpread apart = find_spread(std::array{SampledCopies{&usual, 1}, SampledCopies{&usual, 1}},
                                       {.ppm = 100'000, .samples = 4000, .copies = 2});
  CHECK(apart.p50 != alike.p50); // draws of their own
  CHECK(ms(apart.p50) == Approx(ms(alike.p50)).margin(0.1 * deviation));
}

TEST_CASE("The standard error of p95 is its variation between seeds") {
  for (const std::size_t copies : {std::size_t{1}, std::size_t{8}}) {
    constexpr std::size_t seeds = 100;
    const TaskGraph graph = graph_of("1f1b", {.stages = 1, .microbatches = 64});
    double sum = 0;
    double squares = 0;
    double said = 0;
    for (std::size_t seed = 1; seed <= seeds; ++seed) {
      const StepSpread spread = find_spread(graph, {.ppm = 100'000, .samples = 1600, .seed = seed, .copies = copies});
      sum += ms(spread.p95);
      squares += ms(spread.p95) * ms(spread.p95);
      said += ms(p95_error(spread)) / seeds;
    }
    const double deviation = std::sqrt(squares / seeds - (sum / seeds) * (sum / seeds));
    INFO(copies << " copies");
    CHECK(said == Approx(deviation).epsilon(0.25)); // a deviation of 100 values is known to 7 %
  }
}

TEST_CASE("Another sampler gives the same result for GPipe on two stages") {
  const auto [mean, p95] = sampled_gpipe(6, 0.5, 0.3, 40'000);
  const StepSpread spread = find_spread(graph_of("gpipe", {.stages = 2, .microbatches = 6}, Duration{500'000}),
                                        {.ppm = 300'000, .samples = 40'000});
  CHECK(ms(spread.mean) == Approx(mean).epsilon(0.003));
  CHECK(ms(spread.p95) == Approx(p95).epsilon(0.006));
}

TEST_CASE("A still stage does not vary, and the others vary as before") {
  const auto [mean, p95] = sampled_gpipe(6, 0.5, 0.3, 40'000, true);
  const TaskGraph graph = graph_of("gpipe", {.stages = 2, .microbatches = 6}, Duration{500'000});
  const StepSpread spread = find_spread(graph, {.ppm = 300'000, .samples = 40'000}, make_id<StageId>(1));
  CHECK(ms(spread.mean) == Approx(mean).epsilon(0.003));
  CHECK(ms(spread.p95) == Approx(p95).epsilon(0.006));
  const TaskGraph one = graph_of("1f1b", {.stages = 1, .microbatches = 64});
  CHECK(find_spread(one, {.ppm = 300'000, .samples = 50}, make_id<StageId>(0)).p99 == Duration{192'000'000});
}

TEST_CASE("The quantiles start at the minimum of all samples and match the figures") {
  const StepSpread spread =
      find_spread(graph_of("1f1b", {.stages = 2, .microbatches = 4}), {.ppm = 100'000, .samples = 500, .copies = 3});
  REQUIRE(spread.quantiles.size() == StepSpread::quantile_count + 1);
  CHECK(std::ranges::is_sorted(spread.quantiles));
  CHECK(spread.quantiles.front() < spread.p50);
  CHECK(spread.quantiles[100] == spread.p50);
  CHECK(spread.quantiles[190] == spread.p95);
  CHECK(spread.quantiles[198] == spread.p99);
}

TEST_CASE("Equal seeds give equal results, and without jitter the times are unchanged") {
  const TaskGraph graph = graph_of("zb-v", {.stages = 4, .microbatches = 8, .vpp = 2});
  const Jitter jitter{.ppm = 50'000, .samples = 200, .seed = 7};
  const StepSpread spread = find_spread(graph, jitter);
  CHECK(find_spread(graph, jitter).p95 == spread.p95);
  CHECK(find_spread(graph, {.ppm = 50'000, .samples = 200, .seed = 8}).p95 != spread.p95);
  const StepSpread still = find_spread(graph, {.ppm = 1, .samples = 20});
  CHECK(ms(still.p99) == Approx(ms(still.p50)).epsilon(1e-5));
}

TEST_CASE("Too many samples are refused, and too few for the copies") {
  const TaskGraph graph = graph_of("1f1b", {.stages = 2, .microbatches = 4});
  const auto refusal = [&](const Jitter& jitter) {
    return refusal_of([&] { (void)find_spread(graph, jitter); }).first();
  };
  CHECK(refusal({.ppm = 1, .samples = 2'000'000}).starts_with("`samples`: 2000000 of 16 tasks each are too many"));
  CHECK(refusal({.ppm = 1, .samples = 100, .copies = 2}).starts_with("`samples`: 100 are too few for the slowest"));
}

} // namespace ppsim::test::jitter_test
