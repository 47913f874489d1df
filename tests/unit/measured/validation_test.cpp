// Validation: errors and their signs, and who made whom late, by hand.

#include "ppsim/measured/validation.hpp"
#include "support/measured.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

namespace ppsim::test::validation_test {

using namespace std::chrono_literals;

namespace {

constexpr std::int64_t ms = 1'000'000;

/// p = 2, m = 2, 1F1B, F = 1 ms, B = 2 ms:
///   stage 0  0F0[0,1) 0F1[1,2)      |wait 2-4|      0B0[4,6) |wait 6-7| 0B1[7,9)
///   stage 1          1F0[1,2) 1B0[2,4)      1F1[4,5) 1B1[5,7)
Outcome predicted() {
  const Schedule schedule = order({"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"});
  return run(schedule, uniform_scenario(schedule.shape(), 1ms, 2ms));
}

/// The same times, in ms.
const Times as_predicted{{{0, 1}, {1, 2}, {4, 6}, {7, 9}}, {{1, 2}, {2, 4}, {4, 5}, {5, 7}}};
/// 1F0 takes 2 ms instead of 1, and all that follows on stage 1 begins 1 ms later.
const Times slow_1f0{{{0, 1}, {1, 2}, {5, 7}, {8, 10}}, {{1, 3}, {3, 5}, {5, 6}, {6, 8}}};

Timeline measured(const TaskGraph& graph, const Times& times, std::int64_t unit = ms) {
  Timeline timeline = timeline_of(times);
  for (Span& span : timeline.tasks) {
    span.start = SimTime{(span.start - SimTime{}) * unit};
    span.end = SimTime{(span.end - SimTime{}) * unit};
  }
  add_instant_transfers(graph, timeline);
  return timeline;
}

MeasuredRun run_with(const Outcome& outcome, const Times& times) {
  return run_of(outcome.graph.schedule(), {measured(outcome.graph, times)});
}

std::string name(const Outcome& outcome, TaskId id) {
  return id == no_task ? "none" : to_string(outcome.graph.schedule().task(id));
}

} // namespace

TEST_CASE("A run as predicted has no error and no deviation") {
  const Outcome outcome = predicted();
  const Validation validation = validate_run(outcome.graph, outcome.timeline, run_with(outcome, as_predicted), 0.0);
  CHECK(validation.step.predicted == 9ms);
  CHECK(validation.step.measured == 9ms);
  CHECK(validation.step.error() == 0);
  CHECK(validation.bubble_predicted == validation.bubble_measured);
  CHECK(validation.deviations.empty());
  CHECK(validation.start_error_p95 == 0);
  CHECK(validation.holds);
}

TEST_CASE("Reductions that were measured but not predicted are reported, and are not a deviation") {
  const Outcome outcome = predicted();
  MeasuredRun run = run_with(outcome, as_predicted);
  const auto validated = [&](const Timeline& prediction) { return validate_run(outcome.graph, prediction, run, 0.0); };
  CHECK_FALSE(validated(outcome.timeline).unpredicted_exchange);
  const auto exchange = [](std::int64_t begin, std::int64_t end) {
    return Reduction{.stage = StageId{0},
                     .chunk = ChunkId{0},
                     .span = {SimTime{Duration{begin * ms}}, SimTime{Duration{end * ms}}},
                     .released_by = {}};
  };
  run.steps[0].reductions = {exchange(9, 11)}; // the tasks end at 9
  const Validation without = validated(outcome.timeline);
  CHECK(without.unpredicted_exchange == 2ms);
  CHECK(without.step.measured == 9ms);
  CHECK(without.bubble_measured == without.bubble_predicted);
  CHECK(without.steps == std::vector<Duration>{11ms});
  CHECK(without.holds);
  Timeline with = outcome.timeline;
  with.reductions = {exchange(9, 10)};
  CHECK_FALSE(validated(with).unpredicted_exchange);
  CHECK(validated(with).step.measured == 11ms);
}

TEST_CASE("After reductions that were not predicted, the optimizer counts as far as it was predicted") {
  const Schedule schedule = order({"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"});
  const auto step = [](std::int64_t begin) {
    return OptimizerRun{.span = {SimTime{Duration{begin * ms}}, SimTime{Duration{(begin + 1) * ms}}},
                        .released_by = {}};
  };
  for (const OptimizerStep together : {OptimizerStep::synchronous, OptimizerStep::per_stage}) {
    Scenario scenario = uniform_scenario(schedule.shape(), 1ms, 2ms);
    scenario.update = {.optimizer = {1ms, 1ms}, .step = together};
    const Outcome outcome = test::run(schedule, scenario);
    const bool all = together == OptimizerStep::synchronous;
    MeasuredRun run = run_with(outcome, as_predicted);
    run.steps[0].reductions = {
        {.stage = StageId{0}, .chunk = ChunkId{0}, .span = {SimTime{9ms}, SimTime{11ms}}, .released_by = {}}};
    run.steps[0].optimizer = {step(11), step(all ? 11 : 7)};
    const Validation found = validate_run(outcome.graph, outcome.timeline, run, 0.0);
    CHECK(found.step.measured == 10ms);
    CHECK(found.unpredicted_exchange == 2ms);
    CHECK_FALSE(found.unpredicted_optimizer);
    CHECK(found.stages[1].idle.measured == found.stages[1].idle.predicted);
    CHECK(found.holds);
    const Outcome none = predicted();
    const Validation tasks = validate_run(none.graph, none.timeline, run, 0.0);
    CHECK(tasks.step.measured == 9ms);
    CHECK(tasks.unpredicted_optimizer == 1ms);
    CHECK(tasks.holds);
  }
}

TEST_CASE("A slow task is named, and those that waited for it refer to it") {
  const Outcome outcome = predicted();
  const Validation validation = validate_run(outcome.graph, outcome.timeline, run_with(outcome, slow_1f0), 0.05);
  REQUIRE(validation.deviations.size() == 2);
  const Deviation& slow = validation.deviations[0];
  CHECK(name(outcome, slow.task) == "1F0");
  CHECK(slow.because == Lateness::slow);
  CHECK(slow.start == 0ms);
  CHECK(slow.length == 1ms);
  CHECK(slow.waited_for == no_task);
  // 1B0, 1F1 and 1B1 only come later with their stage; on the other stage 0B0 waits 3 ms instead of 2, and 0B1 1 ms.
  const Deviation& late = validation.deviations[1];
  CHECK(name(outcome, late.task) == "0B0");
  CHECK(late.because == Lateness::waited);
  CHECK(late.start == 1ms);
  CHECK(late.length == 0ms);
  CHECK(late.wait == 1ms);
  CHECK(name(outcome, late.waited_for) == "1B0");
  CHECK(name(outcome, late.behind) == "1F0");
  CHECK(late.delay == Delay::length);
}

TEST_CASE("Errors are relative to what was measured: a prediction that is too short has a negative one") {
  const Outcome outcome = predicted();
  const Validation validation = validate_run(outcome.graph, outcome.timeline, run_with(outcome, slow_1f0), 0.05);
  CHECK(validation.step.error() == -0.1); // (9 - 10) / 10
  CHECK_FALSE(validation.in_tolerance());
  CHECK_FALSE(validation.holds);
  CHECK(validate_run(outcome.graph, outcome.timeline, run_with(outcome, slow_1f0), 0.1).holds);
  REQUIRE(validation.stages.size() == 2);
  CHECK(validation.stages[0].busy.error() == 0);
  CHECK(validation.stages[0].idle.predicted == 3ms);
  CHECK(validation.stages[0].idle.measured == 4ms);
  CHECK(validation.stages[0].end.error() == -0.1);
  CHECK(validation.stages[1].busy.predicted == 6ms);
  CHECK(validation.stages[1].busy.measured == 7ms);
  CHECK(validation.stages[1].end.measured == 8ms);
  CHECK(validation.bubble_predicted == Approx(6.0 / 18));
  CHECK(validation.bubble_measured == Approx(7.0 / 20));
  // Six of the eight tasks start 1 ms late, of a step of 10 ms.
  CHECK(validation.start_error_p95 == Approx(0.1));
  CHECK(ComparedTime{0ns, 0ns}.error() == 0);
  CHECK(ComparedTime{2ns, 1ns}.error() == 1);
  CHECK(std::isinf(ComparedTime{1ns, 0ns}.error()));
}

TEST_CASE("Errors by pass are of the durations, measured over predicted, task by task") {
  const Outcome outcome = predicted();
  const Validation validation = validate_run(outcome.graph, outcome.timeline, run_with(outcome, slow_1f0), 0.05);
  REQUIRE(validation.passes.size() == 2);
  CHECK(validation.passes[0].pass == Pass::forward);
  CHECK(validation.passes[0].tasks == 4);
  CHECK(validation.passes[0].median.measured == 1ms); // of 1, 1, 1, 2
  CHECK(validation.passes[0].median_error == 0);
  CHECK(validation.passes[0].p95_error == 1); // the fourth of four is rank ceil(0.95 * 4)
  CHECK(validation.passes[1].pass == Pass::backward);
  CHECK(validation.passes[1].p95_error == 0);
}

TEST_CASE("The 95th percentile is the nearest rank: of 20 tasks the 19th") {
  // One stage of 20 forwards of 100 ns, the k-th of which takes k ns longer.
  Rows rows(1);
  Times times(1);
  std::int64_t now = 0;
  for (std::int64_t k = 1; k <= 20; ++k) {
    rows[0] += "0F" + std::to_string(k - 1) + " ";
    times[0].emplace_back(now, now + 100 + k);
    now += 100 + k;
  }
  const Schedule schedule = order(rows).forwards();
  const Outcome outcome = run(schedule, uniform_scenario(schedule.shape(), 100ns, 0ns));
  const Validation validation =
      validate_run(outcome.graph, outcome.timeline, run_of(schedule, {timeline_of(times)}), 1.0, {}, 3);
  REQUIRE(validation.passes.size() == 1);
  CHECK(validation.passes[0].median.measured == 110ns);
  CHECK(validation.passes[0].median_error == Approx(0.10));
  CHECK(validation.passes[0].p95_error == Approx(0.19));
  REQUIRE(validation.deviations.size() == 3); // the largest three of twenty
  CHECK(name(outcome, validation.deviations[0].task) == "0F19");
  CHECK(name(outcome, validation.deviations[2].task) == "0F17");
}

TEST_CASE("A transfer that takes longer than predicted is blamed, not its sender") {
  const Outcome outcome = predicted();
  Times times = slow_1f0;
  times[1][0] = {2, 3}; // 1F0 is as long as predicted, but its input comes 1 ms late
  MeasuredRun run = run_with(outcome, times);
  run.steps[0].transfers[position_of(run.schedule, "0F0")] = between(1 * ms, 2 * ms);
  const Validation validation = validate_run(outcome.graph, outcome.timeline, run, 0.05);
  REQUIRE(validation.deviations.size() == 2);
  for (const Deviation& deviation : validation.deviations) {
    CHECK(deviation.because == Lateness::waited);
    CHECK(name(outcome, deviation.behind) == "0F0");
    CHECK(deviation.delay == Delay::transfer);
  }
}

TEST_CASE("A task whose delay was made up for is not blamed for later delays") {
  // In tenths of a ms. 0F1 takes 1.9 ms longer, but 1F1 begins no later than predicted. That 0B1 is late is due to 1F1,
  // which takes 1 ms longer.
  const Outcome outcome = predicted();
  const Times times{{{0, 10}, {10, 39}, {39, 59}, {79, 99}}, {{10, 20}, {20, 38}, {39, 59}, {59, 79}}};
  const MeasuredRun run = run_of(outcome.graph.schedule(), {measured(outcome.graph, times, ms / 10)});
  const Validation validation = validate_run(outcome.graph, outcome.timeline, run, 0.5);
  const auto late = std::ranges::find(validation.deviations, outcome.id("0B1"), &Deviation::task);
  REQUIRE(late != validation.deviations.end());
  CHECK(late->wait == 1ms);
  CHECK(name(outcome, late->waited_for) == "1B1");
  CHECK(name(outcome, late->behind) == "1F1");
  CHECK(late->delayed == 1ms);
}

TEST_CASE("A task that took longer but ended in time is not blamed for its transfer") {
  // In tenths of a ms. 1F0 takes no time and 1B0 1 ms longer, so that it ends as predicted; its output takes 0.8 ms.
  const Outcome outcome = predicted();
  const Times times{{{0, 10}, {10, 20}, {48, 68}, {78, 98}}, {{10, 10}, {10, 40}, {40, 50}, {50, 70}}};
  MeasuredRun run = run_of(outcome.graph.schedule(), {measured(outcome.graph, times, ms / 10)});
  run.steps[0].transfers[index(outcome.id("1B0"))].end = SimTime{4'800us};
  const Validation validation = validate_run(outcome.graph, outcome.timeline, run, 0.5);
  const auto late = std::ranges::find(validation.deviations, outcome.id("0B0"), &Deviation::task);
  REQUIRE(late != validation.deviations.end());
  CHECK(name(outcome, late->behind) == "1B0");
  CHECK(late->delay == Delay::transfer);
  CHECK(late->delayed == 800us);
}

TEST_CASE("A task that begins late although its inputs had arrived waited for nobody, and others waited for it") {
  const Outcome outcome = predicted();
  Times times = slow_1f0;
  times[1][0] = {2, 3}; // its input was there at 1 ms, since outputs are handed over
  const Validation validation = validate_run(outcome.graph, outcome.timeline, run_with(outcome, times), 0.05);
  REQUIRE(validation.deviations.size() == 2);
  const Deviation& host = validation.deviations[0];
  const Deviation& late = validation.deviations[1];
  CHECK(name(outcome, host.task) == "1F0");
  CHECK(host.because == Lateness::waited);
  CHECK(host.waited_for == no_task);
  CHECK(name(outcome, late.task) == "0B0");
  CHECK(name(outcome, late.behind) == "1F0");
  CHECK(late.delay == Delay::start);
}

TEST_CASE("A task that was faster than predicted is a deviation, a shorter wait is not") {
  const Outcome outcome = predicted();
  Times times = as_predicted;
  times[0][1] = {1, 3}; // 0F1 takes 2 ms; stage 0 waits less for 0B0, and 1F1 has its input in time
  times[1][3] = {5, 6}; // 1B1 takes 1 ms instead of 2, so 0B1 could follow 0B0 at once
  times[0][3] = {6, 8};
  const Validation validation = validate_run(outcome.graph, outcome.timeline, run_with(outcome, times), 0.2);
  REQUIRE(validation.deviations.size() == 2);
  CHECK(name(outcome, validation.deviations[0].task) == "0F1");
  CHECK(validation.deviations[0].length == 1ms);
  CHECK(validation.deviations[0].wait == 0ms);
  CHECK(name(outcome, validation.deviations[1].task) == "1B1");
  CHECK(validation.deviations[1].length == -1ms);
  CHECK(validation.step.error() == Approx(1.0 / 8));
}

TEST_CASE("The halves of a pair in one piece are compared as one") {
  const Schedule schedule = order({"0F0 (0F1;0B0) 0B1"});
  Scenario scenario = uniform_scenario(schedule.shape(), 10ns, 20ns);
  const Outcome outcome = run(schedule, scenario); // F0 0-10, the pair 10-40, B1 40-60
  const Timeline timeline = timeline_of({{{0, 10}, {10, 20}, {20, 45}, {45, 65}}});
  const Validation validation = validate_run(outcome.graph, outcome.timeline, run_of(schedule, {timeline}), 1.0);
  REQUIRE(validation.deviations.size() == 1);
  CHECK(name(outcome, validation.deviations[0].task) == "0F1");
  CHECK(validation.deviations[0].length == 5ns);
  CHECK(validation.deviations[0].predicted == 30ns); // of both, not of the first half
  REQUIRE(validation.passes.size() == 2);
  CHECK(validation.passes[0].tasks == 1); // 0F0 alone
  CHECK(validation.passes[1].tasks == 1); // 0B1 alone
}

TEST_CASE("A pair that overlapped only in the run is compared as one, with the predicted time of both halves") {
  const Schedule schedule = order({"0F0 (0F1;0B0) 0B1"});
  Scenario scenario = uniform_scenario(schedule.shape(), 1us, 2us);
  scenario.pair = {.kind = PairRule::Kind::serial};
  const Outcome outcome = run(schedule, scenario);
  const Timeline timeline = timeline_of({{{0, 1000}, {1000, 9000}, {1000, 9000}, {9000, 11000}}});
  const Validation validation = validate_run(outcome.graph, outcome.timeline, run_of(schedule, {timeline}), 1.0);
  REQUIRE(validation.deviations.size() == 1);
  CHECK(validation.deviations[0].length == 5us);
  CHECK(validation.deviations[0].predicted == 3us);
}

TEST_CASE("Tasks predicted to take no time have no duration error") {
  const Schedule schedule = order({"0F0 0B0"});
  const Outcome outcome = run(schedule, uniform_scenario(schedule.shape(), 0ns, 20ns));
  const Validation validation =
      validate_run(outcome.graph, outcome.timeline, run_of(schedule, {timeline_of({{{0, 10}, {10, 32}}})}), 1.0);
  REQUIRE(validation.passes.size() == 2);
  CHECK(validation.passes[0].tasks == 1);
  CHECK(validation.passes[0].median.measured == 10ns);
  CHECK_FALSE(validation.passes[0].median_error);
  CHECK_FALSE(validation.passes[0].p95_error);
  CHECK(validation.passes[1].median_error == Approx(0.1));
  CHECK(validation.passes[1].p95_error == Approx(0.1));
}

TEST_CASE("Memory is compared only if it was predicted and measured") {
  const Schedule schedule = order({"0F0 0B0"});
  Scenario scenario = uniform_scenario(schedule.shape(), 10ns, 20ns);
  MeasuredRun run = run_of(schedule, {timeline_of({{{0, 10}, {10, 30}}})});
  run.stages[0].peak_bytes = Bytes{150};
  const auto validation_of = [&] {
    const Outcome outcome = test::run(schedule, scenario);
    return validate_run(outcome.graph, outcome.timeline, run, 0.0);
  };
  CHECK_FALSE(validation_of().knows_memory); // the scenario has no sizes
  CHECK(validation_of().holds);
  scenario.memory.activation.assign(1, Bytes{50});
  scenario.memory.parameters.assign(1, Bytes{100});
  CHECK(validation_of().knows_memory);
  CHECK(validation_of().same_peaks());
  CHECK(validation_of().holds);
  run.stages[0].peak_bytes = Bytes{151};
  CHECK_FALSE(validation_of().same_peaks());
  CHECK_FALSE(validation_of().holds);
  run.stages[0].peak_bytes = Bytes{0}; // not measured
  CHECK_FALSE(validation_of().knows_memory);
}

TEST_CASE("A run that is wrong, contended or unaligned is not a validation, however well times agree") {
  const Outcome outcome = predicted();
  const auto holds = [&](auto change) {
    MeasuredRun run = run_with(outcome, as_predicted);
    change(run);
    return validate_run(outcome.graph, outcome.timeline, run, 0.5).holds;
  };
  CHECK(holds([](MeasuredRun&) {}));
  CHECK(holds([](MeasuredRun& run) { run.proof = Proof{.same_order = true, .bit_equal = true}; }));
  CHECK_FALSE(holds([](MeasuredRun& run) { run.proof = Proof{.same_order = true, .bit_equal = false}; }));
  CHECK_FALSE(holds([](MeasuredRun& run) { run.unaligned = true; }));
  CHECK_FALSE(holds([](MeasuredRun& run) { run.stages[0].cpu = 500ns; }));
}

TEST_CASE("The median of several steps is compared") {
  const Outcome outcome = predicted();
  MeasuredRun run = run_with(outcome, slow_1f0);
  run.steps.push_back(measured(outcome.graph, as_predicted));
  run.steps.push_back(measured(outcome.graph, as_predicted));
  const Validation validation = validate_run(outcome.graph, outcome.timeline, run, 0.0);
  CHECK(validation.step_used == 2); // of 9, 9 and 10 the second
  CHECK(validation.steps == std::vector<Duration>{10ms, 9ms, 9ms});
  CHECK(validation.step.measured == 9ms);
}

TEST_CASE("A run of another order is refused, with the first task that differs") {
  const Outcome outcome = predicted();
  const Schedule other = order({"0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1"});
  const Refusal refusal = refusal_of([&] {
    static_cast<void>(
        validate_run(outcome.graph, outcome.timeline, run_of(other, {measured(outcome.graph, as_predicted)}), 0.1));
  });
  CHECK(refusal.code == ExitCode::bad_input);
  CHECK(refusal.first() == "the measured run: task 1 of stage 1 was 1F1, but the prediction has 1B0 -- predict the "
                           "order that was run: the same schedule, shape and options");
}

TEST_CASE("With the run's own task times, only late starts remain of the error") {
  const Outcome outcome = predicted();
  // 1F0 takes 2 ms instead of 1, so that all of stage 1 is 1 ms late: 10 ms, as with its own times.
  const Validation slow = validate_run(outcome.graph, outcome.timeline, run_with(outcome, slow_1f0), 0.05);
  CHECK(slow.step.predicted == 9ms);
  REQUIRE(slow.own_times);
  CHECK(slow.own_times->predicted == 10ms);
  CHECK(slow.own_times->measured == 10ms);
  // Nobody is slow, and 0B1 begins 1 ms late.
  const Times late{{{0, 1}, {1, 2}, {4, 6}, {8, 10}}, {{1, 2}, {2, 4}, {4, 5}, {5, 7}}};
  const Validation waits = validate_run(outcome.graph, outcome.timeline, run_with(outcome, late), 0.05);
  REQUIRE(waits.own_times);
  CHECK(waits.own_times->predicted == 9ms);
  CHECK(waits.own_times->error() == Approx(-0.1));
}

TEST_CASE("A task's overhead is part of a timed one, and is between those that compute") {
  const Schedule schedule = order({"0F0 0B0"});
  Scenario scenario = uniform_scenario(schedule.shape(), 1ms, 2ms);
  scenario.costs.overhead = 1ms;
  const Outcome outcome = run(schedule, scenario); // 2 ms and 3 ms
  MeasuredRun timed = run_with(outcome, Times{{{0, 2}, {2, 5}}});
  timed.facts.timed = true;
  CHECK(validate_run(outcome.graph, outcome.timeline, timed, 0.05).own_times->predicted == 5ms);
  const MeasuredRun computed = run_with(outcome, Times{{{0, 1}, {2, 4}}});
  CHECK(validate_run(outcome.graph, outcome.timeline, computed, 0.05).own_times->predicted == 5ms);
}

TEST_CASE("Tasks that share their time or recompute activations have no times of their own") {
  const Schedule pairs = order({"0F0 (0F1;0B0) 0B1"});
  Scenario scenario = uniform_scenario(pairs.shape(), 1ms, 2ms);
  scenario.pair.kind = PairRule::Kind::max;
  const Outcome paired = run(pairs, scenario);
  CHECK_FALSE(validate_run(paired.graph, paired.timeline, run_of(pairs, {paired.timeline}), 0.05).own_times);
  const Schedule schedule = order({"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"});
  Scenario again = uniform_scenario(schedule.shape(), 1ms, 2ms);
  again.recompute.kind = RecomputeKind::full;
  again.recompute.time.assign(2, 1ms);
  again.recompute.checkpoint.assign(2, Bytes{});
  const Outcome recomputed = run(schedule, again);
  CHECK_FALSE(
      validate_run(recomputed.graph, recomputed.timeline, run_of(schedule, {recomputed.timeline}), 0.05).own_times);
}

} // namespace ppsim::test::validation_test
