// Explanation: runs with one planted fault of known cost; the explanation must name it.

#include "ppsim/base/percentile.hpp"
#include "ppsim/measured/explanation.hpp"
#include "support/faulty_runs.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <numeric>

namespace ppsim::test::explanation_test {

using namespace std::chrono_literals;

namespace {

Explanation explain_one(const MeasuredRun& run) {
  return explain(std::span{&run, 1});
}

Duration part(const Explanation& explanation, Reason reason) {
  return explanation.parts[static_cast<std::size_t>(reason)].time;
}

Duration sum_of_parts(const Explanation& explanation) {
  return std::accumulate(explanation.parts.begin(), explanation.parts.end(), Duration{0},
                         [](Duration sum, const StepPart& each) { return sum + each.time; });
}

/// Of every device, every nanosecond of the job's steps has one label, or waits for another replica.
void check_all_time_is_labelled(const Explanation& explanation) {
  for (const ReplicaExplanation& each : explanation.replicas)
    for (const StageExplanation& stage : each.stages) {
      const Duration told = std::accumulate(stage.time.begin(), stage.time.end(), stage.waits_for_replicas);
      CHECK(std::chrono::abs(told - explanation.step.mean) <= Duration{label_count});
    }
  CHECK(sum_of_parts(explanation) == explanation.step.mean);
}

double percent_off(Duration found, Duration truth) {
  return 100.0 * static_cast<double>((found - truth).count()) / static_cast<double>(truth.count());
}

} // namespace

TEST_CASE("In a balanced run, only the bubble of its schedule is found") {
  const Explanation found = explain_one(replica_with({}));
  CHECK(found.findings.empty());
  CHECK(slow_workers(std::vector{replica_with({}), replica_with({})}).empty());
  CHECK(found.step.median == balanced_step);
  CHECK(found.bubble == Approx(3.0 / 11));
  CHECK(found.schedule_bubble == Approx(3.0 / 11));
  CHECK(part(found, Reason::work) == 240ms);
  CHECK(part(found, Reason::schedule) == 90ms);
  CHECK(found.model_error == 0);
  CHECK(found.own_error == 0);
  CHECK(found.simulated == balanced_step);
  CHECK(found.replicas[0].median_bubble == Approx(3.0 / 11));
  CHECK(found.replicas[0].stages[3].passes[0].mean == 10ms);
  CHECK(found.replicas[0].stages[3].passes[1].tasks == 8);
  check_all_time_is_labelled(found);
}

TEST_CASE("A slow worker of one replica is named first, with its cost and who waits for it") {
  // Stage 0 takes 25 and 50 ms. Its first gradient is there at 25 + 30 + 60 = 115 ms; from then on it never waits, for
  // the 8 backwards and 4 forwards that are left: 115 + 8 * 50 + 4 * 25 = 615 ms.
  const std::vector<MeasuredRun> replicas{replica_with({}), replica_with(slow_stage_0), replica_with({}),
                                          replica_with({})};
  const Explanation found = explain(replicas);
  REQUIRE(found.findings.size() == 1);
  const Finding& finding = found.findings[0];
  CHECK(finding.reason == Reason::slow_worker);
  CHECK(finding.before == 615ms);
  CHECK(finding.after == balanced_step);
  CHECK(finding.share == Approx(285.0 / 615));
  REQUIRE(finding.suspects.size() == 1);
  const Suspect& suspect = finding.suspects[0];
  CHECK(suspect.replica == 1);
  CHECK(index(suspect.stage) == 0);
  CHECK(suspect.ratio() == Approx(2.5));
  CHECK(suspect.before == 615ms);
  CHECK(suspect.after == balanced_step);
  REQUIRE(suspect.passes.size() == 2);
  CHECK(suspect.passes[1].own == 50ms);
  CHECK(suspect.passes[1].others == 20ms);
  CHECK(found.replicas[1].slowest_in == 2);
  CHECK(found.replicas[0].slowest_in == 0);
  CHECK(found.replicas[1].stages[2].waits_for_replicas == 0ms);
  CHECK(found.replicas[2].stages[2].waits_for_replicas == 285ms);
  CHECK(found.waits_for_replicas == 3 * 4 * 285ms);
  check_all_time_is_labelled(found);
}

TEST_CASE("Two slow workers are removed together, because one alone gains nothing") {
  const std::vector<MeasuredRun> replicas{replica_with(slow_stage_0), replica_with(slow_stage_0), replica_with({}),
                                          replica_with({}), replica_with({})};
  const Explanation found = explain(replicas);
  REQUIRE(found.findings.size() == 1);
  CHECK(found.findings[0].gain() == 285ms);
  REQUIRE(found.findings[0].suspects.size() == 2);
  CHECK(found.findings[0].suspects[0].replica == 0);
  CHECK(found.findings[0].suspects[1].replica == 1);
}

TEST_CASE("The median of all other values equals that of the list without the value") {
  const std::vector<int> values{7, 3, 3, 9, 1, 7, 7, 2, 5, 5};
  for (std::size_t count = 1; count <= values.size(); ++count) {
    const std::vector<int> all{values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)};
    const MedianOfOthers<int> others{all};
    for (std::size_t at = 0; at < count; ++at) {
      std::vector<int> without = all;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(at));
      CHECK(others(all[at]) == percentile(without, 50));
    }
  }
}

TEST_CASE("Many slow workers are all named, and the gain of the slowest alone is simulated") {
  std::vector<MeasuredRun> replicas;
  for (std::size_t replica = 0; replica < 2 * most_simulated_alone + 4; ++replica)
    replicas.push_back(replica_with(replica <= most_simulated_alone ? slow_stage_0 : Fault{}, 1));
  const Explanation found = explain(replicas);
  REQUIRE(found.findings.size() == 1);
  const std::vector<Suspect>& suspects = found.findings[0].suspects;
  REQUIRE(suspects.size() == most_simulated_alone + 1);
  CHECK(suspects[most_simulated_alone - 1].after == balanced_step);
  CHECK(suspects[most_simulated_alone].ratio() == Approx(2.5));
  const std::vector<Suspect> alone = slow_workers(replicas); // of the same rule
  REQUIRE(alone.size() == suspects.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    CHECK(alone[i].replica == suspects[i].replica);
    CHECK(index(alone[i].stage) == 0);
    CHECK(alone[i].own == suspects[i].own);
    CHECK(alone[i].others == suspects[i].others);
  }
  CHECK(suspects[most_simulated_alone].before == 0ms);
}

TEST_CASE("A heavy last stage is named, with the gain of distributing its work evenly") {
  // It never waits: 3 forwards before its first, 8 * (21 + 28) ms, 3 backwards after its last. Evenly: 12.75 and 22 ms.
  const Explanation found = explain_one(replica_with(heavy_last_stage));
  REQUIRE(found.findings.size() == 1);
  const Finding& finding = found.findings[0];
  CHECK(finding.reason == Reason::heavy_stage);
  CHECK(finding.before == 482ms);
  CHECK(finding.after == 11 * 34750us);
  CHECK_FALSE(finding.may_be_slow);
  REQUIRE(finding.suspects.size() == 1);
  CHECK(index(finding.suspects[0].stage) == 3);
  CHECK(finding.suspects[0].passes[0].ratio() == Approx(2.1));
  CHECK(finding.suspects[0].passes[1].ratio() == Approx(1.4));
  CHECK(part(found, Reason::imbalance) == 0ms);
  check_all_time_is_labelled(found);
}

TEST_CASE("Without replicas to compare with, a stage that is equally slow in every pass may have a slow device") {
  const Explanation alone = explain_one(replica_with(slow_stage_0));
  REQUIRE(alone.findings.size() == 1);
  CHECK(alone.findings[0].reason == Reason::heavy_stage);
  CHECK(alone.findings[0].may_be_slow);
  const Explanation both = explain(std::vector{replica_with(slow_stage_0), replica_with(slow_stage_0)});
  REQUIRE(both.findings.size() == 1);
  CHECK(both.findings[0].reason == Reason::heavy_stage);
  CHECK_FALSE(both.findings[0].may_be_slow);
}

TEST_CASE("A slow device takes longer in every pass, not necessarily by the same factor") {
  const auto may_be_slow = [](std::int64_t forward_percent, std::int64_t backward_percent) {
    const Explanation found =
        explain_one(replica_with({.length = [=](const Task& task, std::size_t stage, Duration length) {
          return stage != 0 ? length : length * (task.pass == Pass::forward ? forward_percent : backward_percent) / 100;
        }}));
    REQUIRE(found.findings.size() == 1);
    return found.findings[0].may_be_slow;
  };
  CHECK(may_be_slow(246, 223)); // a production run with a slow worker
  CHECK(may_be_slow(223, 246));
  CHECK_FALSE(may_be_slow(207, 141)); // one with a loss
  CHECK_FALSE(may_be_slow(130, 115)); // as much longer in each
  CHECK(may_be_slow(130, 122));
}

TEST_CASE("After a slow worker, a heavy last stage is still found, with its gain without the slow one") {
  const Fault both{.length = [](const Task& task, std::size_t stage, Duration length) {
    return stage == 0 ? length * 5 / 2 : heavy_last_stage.length(task, stage, length);
  }};
  const std::vector<MeasuredRun> replicas{replica_with(both), replica_with(heavy_last_stage)};
  const Explanation found = explain(replicas);
  REQUIRE(found.findings.size() == 2);
  CHECK(found.findings[0].reason == Reason::slow_worker);
  CHECK(found.findings[0].after == 482ms);
  CHECK(found.findings[1].reason == Reason::heavy_stage);
  CHECK(found.findings[1].before == 482ms);
  CHECK(found.findings[1].after == 11 * 34750us);
}

TEST_CASE("Stages that differ beyond the heaviest are an imbalance, by the remaining time") {
  // Stage 3 takes twice as long, stage 2 one and a half times.
  const Explanation found = explain_one(replica_with({.length = [](const Task&, std::size_t stage, Duration length) {
    return stage == 3 ? 2 * length : stage == 2 ? length * 3 / 2 : length;
  }}));
  REQUIRE(found.findings.size() == 2);
  CHECK(found.findings[0].reason == Reason::heavy_stage);
  CHECK(found.findings[1].reason == Reason::imbalance);
  // All stages at (1 + 1 + 1.5 + 2) / 4 of 30 ms.
  CHECK(std::abs(percent_off(found.findings[1].after, 11 * 41250us)) < 0.001);
  check_all_time_is_labelled(found);
}

TEST_CASE("A slow link is named before transfers, and both as simulated") {
  const auto ways = [](Duration middle, Duration others) {
    return Fault{.way = [=](const Task& task, std::size_t stage) {
      const std::size_t boundary = task.pass == Pass::forward ? stage : stage - 1;
      return boundary == 1 ? middle : others;
    }};
  };
  const auto simulated = [](Duration middle, Duration others) {
    Scenario scenario = uniform_scenario(balanced_shape, 10ms, 20ms);
    scenario.network.latency = {others, middle, others};
    return run(generate("1f1b", balanced_shape), scenario).report.makespan;
  };
  const Explanation found = explain_one(replica_with(ways(20ms, 2ms)));
  REQUIRE(found.findings.size() == 2);
  CHECK(found.findings[0].reason == Reason::slow_link);
  CHECK(found.findings[0].before == simulated(20ms, 2ms));
  CHECK(found.findings[0].after == simulated(2ms, 2ms));
  CHECK(index(found.findings[0].stage) == 1);
  CHECK(index(found.findings[0].other) == 2);
  CHECK(found.findings[0].own == 20ms);
  CHECK(found.findings[0].others == 2ms);
  CHECK(found.findings[0].links == 1);
  CHECK(found.findings[0].everywhere);
  CHECK(found.findings[1].reason == Reason::transfers);
  CHECK(found.findings[1].gain() == simulated(2ms, 2ms) - balanced_step);
  check_all_time_is_labelled(found);
  // In one replica of two.
  const Explanation one = explain(std::vector{replica_with(ways(2ms, 2ms)), replica_with(ways(20ms, 2ms))});
  CHECK(one.findings.at(0).reason == Reason::slow_link);
  CHECK(one.findings[0].replica == 1);
  CHECK_FALSE(one.findings[0].everywhere);
  CHECK(one.findings[0].after == simulated(2ms, 2ms));
  // Where all links are alike, none is slow.
  const Explanation alike = explain_one(replica_with(ways(5ms, 5ms)));
  REQUIRE(alike.findings.size() == 1);
  CHECK(alike.findings[0].reason == Reason::transfers);
  CHECK(alike.findings[0].gain() == simulated(5ms, 5ms) - balanced_step);
}

TEST_CASE("An explanation takes the same time for transfers as the costs of the same run") {
  // Backwards send for longer than forwards, and some sends wait for their receiver.
  const MeasuredRun run = replica_with({.way = [](const Task& task, std::size_t stage) {
    const bool forward = task.pass == Pass::forward;
    const Duration usual = (forward ? stage : stage - 1) == 1 ? 20ms : 2ms;
    return (forward ? 1 : 3) * usual + (index(task.microbatch) == 5 ? Duration{40ms} : Duration{0});
  }});
  const CostModel costs = cost_model(run, 0, run.steps.size());
  const Explanation found = explain_one(run);
  const auto finding = [&](Reason reason) { return *std::ranges::find(found.findings, reason, &Finding::reason); };
  CHECK(finding(Reason::slow_link).own == costs.transfers[1].mean);
  CHECK(finding(Reason::slow_link).others == costs.transfers[0].mean);
  CHECK(finding(Reason::transfers).own == costs.transfers[2].mean); // the slow link like the others
  CHECK(costs.transfers[1].mean == 20ms);
  CHECK(costs.transfers[0].mean == 2ms);
}

TEST_CASE("Jitter costs the extra step time over the mean of every stage and pass") {
  // Half longer and half shorter in turn, so that means stay; on stage 2 alone.
  const Fault fault{.length = [](const Task& task, std::size_t stage, Duration length) {
    return stage != 2 ? length : index(task.microbatch) % 2 == 0 ? length * 3 / 2 : length / 2;
  }};
  const Explanation found = explain_one(replica_with(fault));
  REQUIRE(found.findings.size() == 1);
  CHECK(found.findings[0].reason == Reason::jitter);
  CHECK(found.findings[0].gain() == found.step.mean - balanced_step);
  CHECK(found.findings[0].after == balanced_step);
  CHECK(index(found.findings[0].suspects.at(0).stage) == 2);
  CHECK(found.replicas[0].stages[2].passes[0].spread == 5ms);
  CHECK(found.replicas[0].stages[1].passes[0].spread == 0ms);
  check_all_time_is_labelled(found);
}

TEST_CASE("Drift costs the extra step time over the first quarter of the steps") {
  std::vector<Timeline> steps;
  for (std::int64_t step = 0; step < 8; ++step)
    steps.push_back(step_with(
        {.length = [step](const Task&, std::size_t, Duration length) { return length * (100 + 5 * step) / 100; }}));
  const Explanation found = explain_one(replica(std::move(steps)));
  REQUIRE(found.findings.size() == 1);
  CHECK(found.findings[0].reason == Reason::drift);
  CHECK(std::abs(percent_off(found.findings[0].gain(), balanced_step * 15 / 100)) < 1); // 117.5 % - 102.5 %
  CHECK(found.step.drift() == Approx(132.5 / 102.5 - 1));
  CHECK(found.step.mean == balanced_step * 1175 / 1000);
  CHECK(found.step.p5 == balanced_step);
  CHECK(found.step.median == balanced_step * 115 / 100);
  CHECK(found.step.p95 == balanced_step * 135 / 100);
  check_all_time_is_labelled(found);
}

TEST_CASE("Steps that become shorter are not a finding") {
  std::vector<Timeline> steps;
  for (std::int64_t step = 8; step > 0; --step)
    steps.push_back(step_with(
        {.length = [step](const Task&, std::size_t, Duration length) { return length * (100 + 5 * step) / 100; }}));
  const Explanation found = explain_one(replica(std::move(steps)));
  CHECK(found.findings.empty());
  CHECK(found.step.drift() < 0);
}

TEST_CASE("Late starts cost the extra step time over tasks that start as soon as possible") {
  const Explanation found = explain_one(replica_with({.pause = [](const Task& task, std::size_t stage) {
    return stage == 1 && task.pass == Pass::backward ? Duration{4ms} : Duration{0};
  }}));
  REQUIRE(found.findings.size() == 1);
  CHECK(found.findings[0].reason == Reason::late_starts);
  CHECK(found.findings[0].after == balanced_step);
  CHECK(found.findings[0].before == found.step.mean);
  CHECK(index(found.findings[0].suspects.at(0).stage) == 1);
  check_all_time_is_labelled(found);
}

TEST_CASE("Transfers that occasionally take far longer than usual are not a slow link") {
  const Explanation found = explain_one(replica_with({.way = [](const Task& task, std::size_t) {
    return index(task.microbatch) == 3 ? Duration{50ms} : Duration{0};
  }}));
  REQUIRE(found.findings.size() == 1);
  CHECK(found.findings[0].reason == Reason::transfer_waits);
  CHECK(found.findings[0].after == balanced_step);
  check_all_time_is_labelled(found);
}

TEST_CASE("The time after the tasks is a part of the step that no simulation changes") {
  MeasuredRun run = replica_with(heavy_last_stage);
  const SimTime last{482ms};
  for (Timeline& step : run.steps)
    step.optimizer.assign(balanced_shape.stages, {.span = {last + 8ms, last + 18ms}, .released_by = {}});
  const Explanation found = explain_one(run);
  CHECK(part(found, Reason::after_tasks) == 18ms);
  CHECK(found.tasks.mean == 482ms);
  CHECK(found.step.mean == 500ms);
  REQUIRE(found.findings.size() == 1);
  CHECK(found.findings[0].before == 500ms);
  CHECK(found.findings[0].gain() == 482ms - 11 * 34750us);
  CHECK(found.replicas[0].stages[0].time[static_cast<std::size_t>(Label::optimizer)] == 10ms);
  CHECK(found.replicas[0].stages[0].time[static_cast<std::size_t>(Label::flush)] == 8ms);
  check_all_time_is_labelled(found);
}

TEST_CASE("A replica that waits in its reduction for the slowest one waits for a replica, not for the network") {
  // Without an optimizer step, and with one: both replicas exchange gradients from 615 to 620 ms, but the fast one
  // begins at 330.
  for (const bool with_optimizer : {false, true}) {
    std::vector<MeasuredRun> replicas{replica_with(slow_stage_0), replica_with({})};
    for (MeasuredRun& run : replicas)
      for (Timeline& step : run.steps)
        for (std::size_t stage = 0; stage < balanced_shape.stages; ++stage) {
          const SimTime begin{&run == &replicas[0] ? Duration{615ms} : balanced_step};
          step.reductions.push_back({.stage = make_id<StageId>(stage),
                                     .chunk = make_id<ChunkId>(stage),
                                     .span = {begin, SimTime{620ms}},
                                     .released_by = {}});
          if (with_optimizer) step.optimizer.push_back({.span = {SimTime{620ms}, SimTime{630ms}}, .released_by = {}});
        }
    const Explanation found = explain(replicas);
    CHECK(found.step.mean == (with_optimizer ? 630ms : 620ms));
    CHECK(found.replicas[1].stages[2].waits_for_replicas == 285ms);
    CHECK(found.replicas[1].stages[2].time[static_cast<std::size_t>(Label::flush)] == 5ms);
    CHECK(found.replicas[0].stages[0].waits_for_replicas == 0ms);
    check_all_time_is_labelled(found);
  }
}

TEST_CASE("The reliability of an explanation covers all replicas") {
  std::vector<MeasuredRun> replicas{replica_with({}), replica_with({})};
  CHECK_FALSE(explain(replicas).contended);
  replicas[1].stages[0].cpu = Duration{500};
  replicas[0].unaligned = true;
  replicas[1].clock_error = 5us;
  const Explanation found = explain(replicas);
  CHECK(found.contended);
  CHECK(found.unaligned);
  CHECK(found.clock_error == 5us);
}

TEST_CASE("Replicas must have run the same order for the same number of steps") {
  const auto refused = [](const std::vector<MeasuredRun>& replicas) {
    return refusal_of([&] { static_cast<void>(explain(replicas)); });
  };
  CHECK(refused({}).code == ExitCode::bad_input);
  CHECK(refused({replica_with({}, 2), replica_with({}, 3)}).lines ==
        Rows{"replica 1: 3 steps are recorded, but 2 of replica 0 -- give the same steps of every replica"});
  MeasuredRun other = replica_with({});
  other.schedule = generate("gpipe", balanced_shape);
  other.steps.assign(2, run(other.schedule, uniform_scenario(balanced_shape, 10ms, 20ms)).timeline);
  CHECK(refused({replica_with({}), other}).lines ==
        Rows{"replica 1: its order is not that of replica 0 -- replicas of one job run the same order"});
  other.steps.clear();
  CHECK(refused({other}).code == ExitCode::bad_input);
}

TEST_CASE("Pairs that ran together are simulated together") {
  const Shape two{.stages = 4, .microbatches = 8, .vpp = 2};
  const Outcome outcome = run(generate("dualpipe-v", two), uniform_scenario(two, 10ms, 20ms));
  const MeasuredRun measured = run_of(outcome.graph.schedule(), {outcome.timeline, outcome.timeline});
  const Explanation found = explain_one(measured);
  CHECK(found.own_error == 0);
  CHECK(found.step.mean == outcome.report.makespan);
  check_all_time_is_labelled(found);
}

} // namespace ppsim::test::explanation_test
