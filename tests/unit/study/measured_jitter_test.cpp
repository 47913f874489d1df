// Tasks that vary as those of a measured run: what of it is of a step, of a stage in it, of a microbatch and of a task.

#include "ppsim/base/error.hpp"
#include "ppsim/base/random.hpp"
#include "ppsim/study/jitter.hpp"
#include "support/measured.hpp"
#include "support/pipelines.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ppsim::test::measured_jitter_test {

using namespace std::chrono_literals;

namespace {

constexpr Shape two_stages{.stages = 2, .microbatches = 4, .vpp = 1};

/// Of a step and a task.
using FactorOf = std::function<double(std::size_t, const Task&, StageId)>;

TaskGraph usual_graph(const Shape& shape = two_stages) {
  return lower(generate("1f1b", shape), uniform_scenario(shape, 10ms, 20ms));
}

/// A run of usual_graph() with task times multiplied by factors.
MeasuredRun varied_run(std::size_t steps, const FactorOf& factor, const Shape& shape = two_stages) {
  const TaskGraph graph = usual_graph(shape);
  std::vector<Timeline> timelines;
  for (std::size_t step = 0; step < steps; ++step)
    timelines.push_back(played(graph, {.length = [&](TaskId id) {
                                 const Schedule& schedule = graph.schedule();
                                 const double by = factor(step, schedule.task(id), schedule.stage_of(id));
                                 return Duration{std::llround(static_cast<double>(graph.duration(id).count()) * by)};
                               }}));
  return run_of(generate("1f1b", shape), std::move(timelines));
}

/// One of two factors, by chance.
FactorOf by_chance(std::uint64_t seed, double low, double high) {
  auto draws = std::make_shared<SplitMix64>(seed);
  return [draws, low, high](std::size_t, const Task&, StageId) { return draws->below(2) == 0 ? low : high; };
}

double in_ms(Duration time) {
  return std::chrono::duration<double, std::milli>{time}.count();
}

/// Of the steps of the run, in ms.
double mean_of_steps(const MeasuredRun& run) {
  double mean = 0;
  for (const Timeline& step : run.steps)
    mean += in_ms(end_of(step).time_since_epoch()) / static_cast<double>(run.steps.size());
  return mean;
}

StepSpread spread_as(const MeasuredRun& run, std::uint64_t seed = 1) {
  return find_spread(usual_graph(run.schedule.shape()),
                     {.samples = 4000,
                      .seed = seed,
                      .measured = std::make_shared<const MeasuredJitter>(measured_jitter(run, "run.json"))});
}

} // namespace

TEST_CASE("The common factor of a step is drawn once for all its tasks") {
  const MeasuredRun run =
      varied_run(8, [](std::size_t step, const Task&, StageId) { return step % 2 == 0 ? 0.5 : 1.5; });
  const MeasuredJitter jitter = measured_jitter(run, "run.json");
  CHECK(jitter.of_step == Approx(0.5).epsilon(1e-6));
  CHECK(jitter.of_stage == 0);
  CHECK(jitter.of_microbatch == 0);
  CHECK(jitter.of_task == Approx(0).margin(1e-6));
  const StepSpread spread = spread_as(run); // (4 + 1) * 30 ms, by half and by one and a half
  CHECK(in_ms(spread.mean) == Approx(150).epsilon(0.02));
  CHECK(in_ms(spread.p95) == Approx(225).epsilon(1e-6));
}

TEST_CASE("The only stage and the only microbatch of a step have only the step's factor in common") {
  const MeasuredRun run =
      varied_run(8, [](std::size_t step, const Task&, StageId) { return step % 2 == 0 ? 0.5 : 1.5; },
                 {.stages = 1, .microbatches = 1, .vpp = 1});
  const MeasuredJitter jitter = measured_jitter(run, "run.json");
  CHECK(jitter.of_step == Approx(0.5).epsilon(1e-6));
  CHECK(jitter.of_stage == 0);
  CHECK(jitter.of_microbatch == 0);
  CHECK(in_ms(spread_as(run).p99) == Approx(45).epsilon(1e-6));
}

TEST_CASE("Tasks that vary independently show no common factor, and it stays small") {
  const MeasuredJitter jitter = measured_jitter(varied_run(40, by_chance(1, 0.8, 1.2)), "run.json");
  CHECK(jitter.of_task == Approx(0.2).epsilon(0.05));
  CHECK(jitter.of_step < 0.03); // 0.2 by the root of 16 tasks, of two lengths, would be 0.053
  CHECK(jitter.of_stage < 0.03);
  CHECK(jitter.of_microbatch < 0.05);
}

TEST_CASE("A long microbatch is long in all its tasks") {
  // Each of four is short or long by chance: if tasks drew theirs apart, a step would vary by a third as much.
  std::vector<std::vector<double>> lengths(100, std::vector<double>(4)); // steps enough to tell
  SplitMix64 draws{3};
  for (std::vector<double>& step : lengths)
    for (double& length : step) length = draws.below(2) == 0 ? 0.5 : 1.5;
  const auto length_of = [&](std::size_t step, const Task& task, StageId) {
    return lengths[step][index(task.microbatch)];
  };
  const MeasuredRun run = varied_run(100, length_of);
  CHECK_FALSE(measured_jitter(varied_run(40, length_of), "run.json").apart); // too few samples
  const MeasuredJitter jitter = measured_jitter(run, "run.json");
  CHECK(jitter.apart);
  CHECK(jitter.of_microbatch == Approx(0.5).epsilon(0.1));
  CHECK(jitter.of_step == 0);
  CHECK(jitter.of_task < 0.01);
  double usual = 0; // they are not 1 on average, by chance
  for (const std::vector<double>& step : lengths)
    for (const double length : step) usual += length / 400;
  CHECK(in_ms(spread_as(run).mean) == Approx(mean_of_steps(run) / usual).epsilon(0.03));
}

TEST_CASE("Microbatches that were balanced against each other are drawn together") {
  // One of four takes little and another one as much more, so that all steps do the same work.
  const MeasuredRun run = varied_run(40, [](std::size_t step, const Task& task, StageId) {
    const std::size_t place = (index(task.microbatch) + step) % 4;
    return place == 0 ? 0.2 : place == 1 ? 1.8 : 1.0;
  });
  const MeasuredJitter jitter = measured_jitter(run, "run.json");
  CHECK_FALSE(jitter.apart);
  CHECK(jitter.of_step < 0.01);
  CHECK(jitter.of_microbatch > 0.5);
  CHECK(in_ms(spread_as(run).mean) == Approx(mean_of_steps(run)).epsilon(0.01));
  double longest = 0;
  for (const Timeline& step : run.steps) longest = std::max(longest, in_ms(end_of(step).time_since_epoch()));
  CHECK(in_ms(spread_as(run).p99) <= longest * 1.001);
}

TEST_CASE("Microbatches that are balanced in part are drawn together") {
  // A loader that takes half of what a step is off: its variance is a quarter of that of independent ones.
  SplitMix64 draws{5};
  std::vector<std::vector<double>> lengths(100, std::vector<double>(4));
  for (std::vector<double>& step : lengths) {
    double off = 0;
    for (double& length : step) off += (length = draws.below(2) == 0 ? 0.5 : 1.5) - 1;
    for (double& length : step) length -= off / 8;
  }
  const MeasuredRun run = varied_run(
      100, [&](std::size_t step, const Task& task, StageId) { return lengths[step][index(task.microbatch)]; });
  CHECK_FALSE(measured_jitter(run, "run.json").apart);
}

TEST_CASE("A stage that is slow in a step is slow in all its tasks of the step") {
  const MeasuredRun run = varied_run(40, [](std::size_t step, const Task&, StageId stage) {
    return index(stage) == 1 ? 1 : step % 2 == 0 ? 0.7 : 1.3;
  });
  const MeasuredJitter jitter = measured_jitter(run, "run.json");
  CHECK(jitter.of_stage == Approx(0.15).epsilon(0.1)); // half of 0.3, as the step has the other half
  CHECK(jitter.of_step == Approx(0.15).epsilon(0.02));
  CHECK(jitter.of_task < 0.01);
  CHECK(in_ms(spread_as(run).mean) == Approx(mean_of_steps(run)).epsilon(0.01));
}

TEST_CASE("Stages and passes vary like their own tasks") {
  // Forwards of stage 1 alone: of a step that is 3 of its forwards and 2 more, all else is as it is.
  SplitMix64 draws{7};
  const MeasuredRun run = varied_run(40, [&](std::size_t, const Task& task, StageId stage) {
    if (task.pass != Pass::forward || index(stage) == 0) return 1.0;
    return draws.below(2) == 0 ? 0.6 : 1.4;
  });
  const MeasuredJitter jitter = measured_jitter(run, "run.json");
  const auto deviation = [&](std::size_t stage, Pass pass) {
    double sum = 0;
    const std::vector<double>& own = jitter.own[stage][static_cast<std::size_t>(pass)];
    for (const double factor : own) sum += (factor - 1) * (factor - 1) / static_cast<double>(own.size());
    return std::sqrt(sum);
  };
  CHECK(deviation(1, Pass::forward) > 0.3);
  CHECK(deviation(0, Pass::forward) < 0.05);
  CHECK(deviation(1, Pass::backward) < 0.05);
  CHECK(jitter.own[1][static_cast<std::size_t>(Pass::weight_grad)] ==
        jitter.own[1][static_cast<std::size_t>(Pass::backward)]); // it is half of the backward
}

TEST_CASE("A seed gives one measured spread") {
  const MeasuredRun run = varied_run(20, by_chance(5, 0.8, 1.2));
  CHECK(spread_as(run, 2).p95 == spread_as(run, 2).p95);
  CHECK(spread_as(run, 2).mean != spread_as(run, 3).mean);
}

TEST_CASE("Runs with too little information about variation are refused") {
  const auto refusal = [](const MeasuredRun& run) {
    return refusal_of([&] { (void)measured_jitter(run, "run.json"); }).first();
  };
  const FactorOf same = [](std::size_t, const Task&, StageId) { return 1.0; };
  CHECK(refusal(varied_run(1, same))
            .starts_with("run.json: 1 step: too few to tell what the tasks of a step have in common"));
  const FactorOf none = [](std::size_t step, const Task& task, StageId) {
    return step == 1 && task.pass == Pass::forward && index(task.microbatch) == 2 ? 0.0 : 1.0;
  };
  CHECK(refusal(varied_run(3, none)).starts_with("run.json: step 2: 0F2 takes 0 ns"));
  // One of 32 forwards of stage 0 takes 30 times as long: their mean is 1.9 times what it is without.
  const FactorOf one_long = [](std::size_t step, const Task& task, StageId stage) {
    return step == 0 && task.pass == Pass::forward && index(stage) == 0 && index(task.microbatch) == 0 ? 30.0 : 1.0;
  };
  CHECK(refusal(varied_run(8, one_long))
            .starts_with("run.json: forwards of stage 0: the mean of 32 tasks depends on a few: without the longest 1 "
                         "it would be 47.5 % lower, more than 20 %"));
}

} // namespace ppsim::test::measured_jitter_test
