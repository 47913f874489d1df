// Variable work: what draws of whole steps give, where a pencil gives it too.

#include "ppsim/base/random.hpp"
#include "ppsim/measured/variable_work.hpp"
#include "support/measured.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <cmath>
#include <initializer_list>

namespace ppsim::test::variable_work_test {

using namespace std::chrono_literals;

namespace {

constexpr double share = 0.5;

double in_ms(Duration time) {
  return std::chrono::duration<double, std::milli>{time}.count();
}

/// One stage: an empty forward, and a backward of the given ms for each microbatch, in each step.
MeasuredRun single_stage(const std::vector<std::vector<int>>& steps, Duration after = 0ms) {
  const Schedule schedule = generate("gpipe", {.stages = 1, .microbatches = steps.front().size(), .vpp = 1});
  std::vector<Timeline> timelines;
  for (const std::vector<int>& step : steps) {
    Timeline& timeline = timelines.emplace_back();
    SimTime now{};
    for (const Task& task : schedule.tasks()) {
      const Duration length = task.pass == Pass::forward ? 0ms : step[index(task.microbatch)] * 1ms;
      timeline.tasks.push_back({now, now + length});
      now += length;
    }
    timeline.transfers.resize(timeline.tasks.size());
    if (after > 0ms) timeline.optimizer.push_back({.span = {now, now + after}, .released_by = {}});
  }
  return run_of(schedule, std::move(timelines));
}

/// The same with one microbatch.
MeasuredRun of_steps(const std::vector<int>& steps, Duration after = 0ms) {
  std::vector<std::vector<int>> each;
  for (const int step : steps) each.push_back({step});
  return single_stage(each, after);
}

VariableWork predicted(const std::vector<MeasuredRun>& replicas, std::size_t threads = 1) {
  const auto found = predict_variable_work(replicas, share, threads);
  REQUIRE(found);
  return *found;
}

} // namespace

TEST_CASE("The slowest of independent replicas is predicted, and constant cost is not the step") {
  // 10 or 20 ms each: of two replicas the slower one takes 20 ms in three of four steps.
  // (In the steps that are learned from it does in seven of eight, by chance.)
  const std::vector<MeasuredRun> replicas{
      of_steps({10, 20, 10, 20, 10, 20, 10, 20, 10, 10, 20, 20, 10, 10, 20, 20}, 5ms),
      of_steps({20, 10, 20, 10, 20, 20, 10, 10, 10, 20, 10, 20, 10, 20, 10, 20}, 5ms)};
  const VariableWork found = predicted(replicas);
  CHECK(found.learned == 8);
  CHECK(found.steps == 8);
  CHECK_FALSE(found.together);
  CHECK(in_ms(found.mean.predicted) == Approx(17.5 + 5).margin(0.15)); // 4.3 ms / sqrt(10000) is one sigma
  CHECK(found.mean.measured == 22'500us);
  CHECK(found.p50.predicted == 25ms);
  CHECK(found.p99.predicted == 25ms);
  CHECK(found.constant == 20ms);
  CHECK(found.constant_waits == 0ms);
  CHECK(in_ms(found.waits) == Approx(2.5).margin(0.1));
  CHECK(in_ms(found.in_replicas) == Approx(0).margin(0.1));
  CHECK(in_ms(found.added()) == Approx(2.5).margin(0.15));
  const double mean = in_ms(found.mean.predicted); // held against steps of 15, 25, 25 and 25 ms
  CHECK(found.mean_error == Approx((mean / 15 - 1 + 3 * (1 - mean / 25)) / 4));
}

TEST_CASE("With many replicas, some replica is slow in nearly every step") {
  // Each takes 20 ms in one step of 16, else 10 ms: the slowest of 32 takes 20 ms unless none does.
  std::vector<MeasuredRun> replicas;
  for (std::size_t replica = 0; replica < 32; ++replica) {
    std::vector<int> steps(32, 10);
    const std::size_t slow = replica < 24 ? 2 * (replica % 8) + 1 : 2 * (replica % 8); // of a step one or three are
    steps[slow] = 20;
    steps[16 + slow] = 20;
    replicas.push_back(of_steps(steps));
  }
  const VariableWork found = predicted(replicas);
  CHECK(in_ms(found.mean.predicted) == Approx(20 - 10 * std::pow(15.0 / 16, 32)).margin(0.1));
  CHECK(found.constant == 10'625us);
  CHECK(found.p50.predicted == 20ms);
}

TEST_CASE("Percentiles are those of the number of predicted steps") {
  // One of 32 steps takes 50 ms: in most draws of four steps none does.
  std::vector<int> steps(36, 10);
  steps[7] = 50;
  const std::vector<MeasuredRun> replicas{of_steps(steps)};
  const VariableWork of_four = predict_variable_work(replicas, 32.0 / 36, 1).value();
  CHECK(of_four.steps == 4);
  CHECK(of_four.p99.predicted == 10ms);
  CHECK(in_ms(of_four.mean.predicted) == Approx(10 + 40.0 / 32).margin(0.3));
  // Of one of four and four, most have one.
  CHECK(predicted({of_steps({10, 10, 50, 10, 10, 10, 10, 50})}).p99.predicted == 50ms);
}

TEST_CASE("Independent microbatches are drawn one by one") {
  // Either takes 10 or 30 ms. In the steps of each replica both never were long together; over all replicas the
  // variance of a step is that of independent ones. Mixed, a quarter of the steps takes 60 ms.
  const std::vector<std::vector<int>> one_long{{10, 30}, {30, 10}};
  const std::vector<std::vector<int>> none_or_both{{10, 10}, {30, 30}};
  SplitMix64 draws{1};
  std::vector<MeasuredRun> replicas;
  for (std::size_t replica = 0; replica < 24; ++replica) {
    std::vector<std::vector<int>> steps;
    for (std::size_t step = 0; step < 8; ++step)
      steps.push_back((replica < 12 ? one_long : none_or_both)[draws.below(2)]);
    replicas.push_back(single_stage(steps));
  }
  const auto work = work_distribution(replicas, 0, 8, 1);
  REQUIRE(work);
  CHECK(work->apart);
  std::size_t longest = 0;
  REQUIRE(work->tasks.front().size() == 72);
  for (std::size_t step = 8; step < 72; ++step)
    if (work->tasks.front()[step] == 60ms) ++longest;
  CHECK(static_cast<double>(longest) / 64 == Approx(0.25).margin(0.15)); // nearly, as of 8 steps 3 to 5 are long
  const std::vector<MeasuredRun> balanced(replicas.begin(), replicas.begin() + 12);
  CHECK_FALSE(work_distribution(balanced, 0, 8, 1).value().apart);
  const std::vector<MeasuredRun> alike(replicas.begin() + 12, replicas.end());
  CHECK_FALSE(work_distribution(alike, 0, 8, 1).value().apart);
}

TEST_CASE("The later steps of 32 copies with sequences of other lengths are predicted within 5 %") {
  for (const std::uint64_t seed : std::initializer_list<std::uint64_t>{1, 2, 3, 4}) {
    SplitMix64 draws{SplitMix64::mixed(seed)};
    std::vector<MeasuredRun> replicas;
    for (std::size_t replica = 0; replica < 32; ++replica) {
      std::vector<std::vector<int>> steps(80, std::vector<int>(8));
      for (std::vector<int>& step : steps)
        for (int& microbatch : step) microbatch = static_cast<int>(50 / std::sqrt(0.1 + draws.share()));
      replicas.push_back(single_stage(steps, 10ms));
    }
    const VariableWork found = predicted(replicas);
    CHECK(found.apart);
    for (const ComparedTime& figure : {found.mean, found.p50, found.p95, found.p99})
      CHECK(std::abs(figure.error()) <= 0.05);
    CHECK(found.constant_mean_error > 0.1);
  }
}

TEST_CASE("The common factor of a step is drawn once for all replicas") {
  const std::vector<int> steps{10, 20, 10, 20, 10, 10, 20, 20};
  const VariableWork found = predicted({of_steps(steps), of_steps(steps)});
  CHECK(in_ms(found.mean.predicted) == Approx(15).margin(0.15)); // and not 17.5
  CHECK(found.waits == 0ms);
  CHECK(found.p99.predicted == 20ms);
}

TEST_CASE("Replicas that balance each other are drawn together") {
  const VariableWork found =
      predicted({of_steps({10, 20, 20, 10, 10, 20, 20, 10}), of_steps({20, 10, 10, 20, 20, 10, 10, 20})});
  CHECK(found.together);
  CHECK(found.mean.predicted == 20ms);
  CHECK(found.waits == 5ms);
}

TEST_CASE("Microbatches that were balanced against each other stay balanced") {
  const VariableWork found =
      predicted({single_stage({{10, 30}, {30, 10}, {10, 30}, {30, 10}, {10, 30}, {30, 10}, {30, 10}, {10, 30}})});
  CHECK(found.mean.predicted == 40ms);
  CHECK(found.p99.predicted == 40ms);
}

TEST_CASE("A replica that is always slower is also slower at constant cost") {
  const VariableWork found = predicted({of_steps(std::vector<int>(8, 10)), of_steps(std::vector<int>(8, 30))});
  CHECK(found.mean.predicted == 30ms);
  CHECK(found.constant == 30ms);
  CHECK(found.waits == 10ms);
  CHECK(found.constant_waits == 10ms);
}

TEST_CASE("Stages that wait for each other make steps of varying work longer than their means") {
  // Two stages, two microbatches of which either the first or the second is long: F and B of 10 ms + 20 ms, or of
  // 30 ms + 60 ms. Means are 20 and 40 ms: a step of (2 + 1) * 60 = 180 ms.
  const Shape shape{.stages = 2, .microbatches = 2, .vpp = 1};
  const TaskGraph graph = lower(generate("gpipe", shape), uniform_scenario(shape, 10ms, 20ms));
  std::vector<Timeline> steps;
  for (std::size_t step = 0; step < 8; ++step)
    steps.push_back(played(graph, {.length = [&](TaskId id) {
                             const bool is_long = index(graph.schedule().task(id).microbatch) == step % 2;
                             return (is_long ? 3 : 1) * graph.duration(id);
                           }}));
  // gpipe: F 10 30 / 30 10, then B: the two forwards end after 10 + 30 + 30 (in either order), the backwards after
  // 20 + 60 + 60 more.
  const MeasuredRun run = run_of(generate("gpipe", shape), steps);
  const VariableWork found = predicted({run});
  CHECK(found.constant == 180ms);
  CHECK(found.mean.predicted == 210ms);
  CHECK(found.in_replicas == 30ms);
  CHECK(found.waits == 0ms);
}

TEST_CASE("A step without work is drawn like any other") {
  const std::vector<int> steps{10, 20, 0, 10, 20, 0, 10, 20, 10, 20, 0, 10, 20, 0, 10, 20};
  const VariableWork found = predicted({of_steps(steps), of_steps(steps)}); // alike: all of it is the step's level
  CHECK(found.p99.predicted <= 40ms);
  CHECK(found.waits >= 0ms);
  CHECK(found.waits <= 20ms);
}

TEST_CASE("With one replica, a step ends as long after its tasks as measured") {
  // Tasks of 10 ms with 30 ms after them and of 30 ms with 10 ms: each step takes 40 ms.
  std::vector<Timeline> timelines;
  const MeasuredRun brief = of_steps({10, 10, 10, 10, 10, 10, 10, 10}, 30ms);
  const MeasuredRun lengthy = of_steps({30, 30, 30, 30, 30, 30, 30, 30}, 10ms);
  for (std::size_t step = 0; step < 8; ++step) timelines.push_back((step % 2 == 0 ? brief : lengthy).steps[step]);
  const VariableWork found = predicted({run_of(brief.schedule, std::move(timelines))});
  CHECK(found.p99.predicted == 40ms);
}

TEST_CASE("Outlier steps at the start are not learned from") {
  const std::vector<int> warm{90, 80, 10, 11, 12, 10, 11, 12, 10, 11, 12, 10, 11, 12, 10, 11};
  const VariableWork found = predicted({of_steps(warm)});
  CHECK(found.first == 2);
  CHECK(found.learned == 6);
  CHECK(found.p99.predicted == 12ms);
  // 15 is beyond the others by 3, and they differ by 5: it belongs to them.
  const std::vector<int> wide{15, 7, 10, 11, 12, 10, 11, 12, 10, 11, 12, 10, 11, 12, 10, 11};
  CHECK(predicted({of_steps(wide)}).first == 0);
  // Less than a hundredth is not a warmup, however alike the others are.
  std::vector<int> even(16, 1000);
  even.front() = 1005;
  CHECK(predicted({of_steps(even)}).first == 0);
  // A few steps also give no distinction.
  CHECK(predicted({of_steps({90, 10, 10, 10, 10, 10, 10, 10})}).first == 0);
}

TEST_CASE("Drawn steps depend on the seed alone") {
  const std::vector<MeasuredRun> replicas{of_steps({10, 23, 11, 20, 10, 10, 20, 20}),
                                          of_steps({10, 12, 20, 25, 10, 20, 10, 20})};
  const auto one = work_distribution(replicas, 0, 8, 1);
  const auto many = work_distribution(replicas, 0, 8, 7);
  REQUIRE(one);
  REQUIRE(many);
  CHECK(one->tasks == many->tasks);
  const auto drawn = draw_steps(*one, one->tasks, 1000, 3);
  CHECK(drawn == draw_steps(*many, many->tasks, 1000, 3));
  CHECK_FALSE(drawn == draw_steps(*one, one->tasks, 1000, 4));
  const auto first = draw_steps(*one, one->tasks, 10, 3); // more samples change none of those before
  CHECK(std::equal(first.begin(), first.end(), drawn.begin()));
}

TEST_CASE("A step of one replica gives costs for any order of its chunks and microbatches") {
  const MeasuredRun run = single_stage({{10, 30}, {30, 10}, {20, 10}, {30, 12}});
  const std::vector<MeasuredRun> replicas{run};
  const auto work = work_distribution(replicas, 1, 3, 1);
  REQUIRE(work);
  CHECK(work->steps() == 2);
  const Scenario second = step_work(*work, 0, 1);
  CHECK(second.costs.input_grad_by_microbatch == std::vector<Duration>{10ms, 5ms});
  CHECK(second.costs.weight_grad_by_microbatch == std::vector<Duration>{10ms, 5ms});
}

TEST_CASE("Nothing is predicted from few steps") {
  const std::vector<MeasuredRun> seven{of_steps({10, 20, 10, 30, 10, 20, 10})};
  CHECK_FALSE(predict_variable_work(seven, share, 1));
  const std::vector<MeasuredRun> nine{of_steps({10, 20, 10, 30, 10, 20, 10, 30, 40})};
  CHECK_FALSE(predict_variable_work(nine, share, 1, 0));
  const auto learned = [&](double part) { return predict_variable_work(nine, part, 1).value().learned; };
  CHECK(learned(std::nan("")) == 4);
  CHECK(learned(0.5) == 4);
  CHECK(learned(0.6) == 5);
  CHECK(learned(7) == 5);
}

} // namespace ppsim::test::variable_work_test
