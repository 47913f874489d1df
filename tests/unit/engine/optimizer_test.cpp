// What follows the last backward: gradient reductions and optimizer steps (SPEC sections 2 and 4).

#include "ppsim/engine/simulate.hpp"
#include "ppsim/schedule/generators.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>

namespace ppsim::test::optimizer_test {

using namespace std::chrono_literals;

namespace {

const Rows one_microbatch{"0F0 0B0", "1F0 1B0"};

/// F = 10, B = 20 per chunk, and no update.
Scenario plain(const Schedule& schedule) {
  const auto chunks = static_cast<std::int64_t>(schedule.shape().vpp);
  return uniform_scenario(schedule.shape(), chunks * 10ns, chunks * 20ns);
}

/// The same with these times for every chunk.
Scenario with_update(const Schedule& schedule, Duration reduce, Duration optimizer,
                     OptimizerStep step = OptimizerStep::synchronous, Duration tied = 0ns) {
  Scenario scenario = plain(schedule);
  const std::size_t chunks = schedule.shape().chunks();
  scenario.update = {.reduce = std::vector<Duration>(chunks, reduce),
                     .optimizer = std::vector<Duration>(chunks, optimizer),
                     .tied_embedding_reduce = tied,
                     .step = step};
  return scenario;
}

/// "stage chunk: start-end" of each reduction, with a star for those of the tied embedding.
std::vector<std::string> reductions(const Outcome& outcome) {
  std::vector<std::string> lines;
  for (const Reduction& reduction : outcome.timeline.reductions)
    lines.push_back(std::to_string(index(reduction.stage)) + " " + std::to_string(index(reduction.chunk)) +
                    (reduction.tied ? "*: " : ": ") + Catch::StringMaker<Span>::convert(reduction.span));
  return lines;
}

std::vector<Span> steps(const Outcome& outcome) {
  std::vector<Span> spans;
  for (const OptimizerRun& step : outcome.timeline.optimizer) spans.push_back(step.span);
  return spans;
}

Duration time(const Outcome& outcome, std::size_t stage, Label label) {
  return outcome.report.stages[stage].time[static_cast<std::size_t>(label)];
}

/// "kind stage" of each element of the critical path that follows the tasks.
std::vector<std::string> update_path(const Outcome& outcome) {
  std::vector<std::string> kinds;
  for (const PathStep& step : outcome.report.critical_path)
    if (step.is_update())
      kinds.push_back(std::string{to_string(step.kind)} + " " +
                      std::to_string(index(stage_of(outcome.graph, outcome.timeline, step))));
  return kinds;
}

} // namespace

TEST_CASE("Reductions that do not overlap begin when their stage has run all its tasks") {
  const Schedule schedule = order({"0F0 1F0 1B0 0B0"}); // chunk 1 has its gradients at 40, chunk 0 at 60
  Scenario scenario = with_update(schedule, 15ns, 0ns);
  CHECK(run(schedule, scenario).report.makespan == 75ns);
  scenario.update.overlap_reduce = false;
  CHECK(run(schedule, scenario).report.makespan == 90ns);
}

TEST_CASE("Without update costs nothing follows the tasks") {
  const Schedule schedule = order(one_microbatch);
  const Outcome outcome = run(schedule, with_update(schedule, 0ns, 0ns));
  CHECK(outcome.timeline.reductions.empty());
  CHECK(outcome.timeline.optimizer.empty());
  CHECK(outcome.report.makespan == 60ns);
  CHECK(time(outcome, 1, Label::drain) == 20ns);
}

TEST_CASE("With a synchronous optimizer, all stages step together after all reductions") {
  // F 0-10 and 10-20, B 20-40 on stage 1 and 40-60 on stage 0; then 15 and 5 more.
  const Schedule schedule = order(one_microbatch);
  const Outcome outcome = run(schedule, with_update(schedule, 15ns, 5ns));
  CHECK(reductions(outcome) == std::vector<std::string>{"0 0: [60, 75) ns", "1 1: [40, 55) ns"});
  CHECK(steps(outcome) == std::vector<Span>{between(75, 80), between(75, 80)});
  CHECK(outcome.report.makespan == 80ns);
  CHECK(outcome.report.step_time == 80ns);
  CHECK(outcome.report.ideal == 35ns);
  CHECK(time(outcome, 0, Label::downstream) == 30ns);
  CHECK(time(outcome, 0, Label::drain) == 0ns);
  CHECK(time(outcome, 0, Label::flush) == 15ns);
  CHECK(time(outcome, 1, Label::drain) == 20ns); // until B0 has ended on stage 0
  CHECK(time(outcome, 1, Label::flush) == 15ns);
  CHECK(time(outcome, 1, Label::optimizer) == 5ns);
  CHECK(outcome.report.stages[1].extent == between(10, 80));
  CHECK(update_path(outcome) == std::vector<std::string>{"reduction 0", "optimizer 0"});
}

TEST_CASE("With an optimizer per stage, each stage steps after its own gradients") {
  const Schedule schedule = order(one_microbatch);
  const Outcome outcome = run(schedule, with_update(schedule, 5ns, 5ns, OptimizerStep::per_stage));
  CHECK(steps(outcome) == std::vector<Span>{between(65, 70), between(45, 50)});
  CHECK(outcome.report.makespan == 70ns);
  // Stage 1 waits for its reduction, steps, waits for stage 0's last task, then for stage 0's reduction and step.
  CHECK(account(outcome.graph, outcome.timeline, StageId{1}, SimTime{70ns}).size() == 7);
  CHECK(time(outcome, 1, Label::flush) == 5ns + 10ns);
  CHECK(time(outcome, 1, Label::drain) == 10ns);
  CHECK(update_path(outcome) == std::vector<std::string>{"reduction 0", "optimizer 0"});
}

TEST_CASE("A stage reduces one chunk at a time, in the order in which they become ready") {
  // 0F0 0-10, 1F0 10-20, 1B0 20-40, 0B0 40-60
  const Schedule schedule = order({"0F0 1F0 1B0 0B0"});
  const Outcome outcome = run(schedule, with_update(schedule, 50ns, 0ns));
  CHECK(reductions(outcome) == std::vector<std::string>{"0 1: [40, 90) ns", "0 0: [90, 140) ns"});
  CHECK(outcome.report.makespan == 140ns);
  CHECK(outcome.timeline.reductions[1].released_by.reduction == 0);
  CHECK(outcome.timeline.reductions[0].released_by.task == outcome.id("1B0"));
  CHECK(update_path(outcome) == std::vector<std::string>{"reduction 0", "reduction 0"});
  CHECK(time(outcome, 0, Label::flush) == 80ns);
}

TEST_CASE("Chunks that become ready together are reduced by rising id") {
  const Schedule schedule = order({"0F0 1F0 1B0 0B0"});
  Scenario scenario = with_update(schedule, 7ns, 0ns);
  scenario.costs.input_grad[0] = scenario.costs.weight_grad[0] = 0ns; // both backwards end at 40
  CHECK(reductions(run(schedule, scenario)) == std::vector<std::string>{"0 0: [40, 47) ns", "0 1: [47, 54) ns"});
}

TEST_CASE("A reduction waits for the last W of its chunk, not for its I") {
  const Schedule schedule = order({"0F0 0I0 0F1 0I1 0W1 0W0"});
  const Outcome outcome = run(schedule, with_update(schedule, 3ns, 0ns)); // 2 * (10 + 10 + 10)
  CHECK(reductions(outcome) == std::vector<std::string>{"0 0: [60, 63) ns"});
}

TEST_CASE("A chunk on two stages is reduced after the last backward on both") {
  // Microbatch 0 goes from stage 0 to 1, microbatch 1 from 1 to 0: both backwards of a chunk meet at the end.
  const Schedule schedule = order({"0F0 1F1 1B1 0B0", "0F1 1F0 1B0 0B1"});
  Scenario scenario = with_update(schedule, 5ns, 0ns);
  scenario.costs.forward = {10ns, 30ns};
  // 0F 0-10, 1F 10-40, 1B 40-60 and 0B 60-80 on both stages
  const Outcome outcome = run(schedule, scenario);
  CHECK(reductions(outcome) ==
        std::vector<std::string>{"0 1: [60, 65) ns", "0 0: [80, 85) ns", "1 1: [60, 65) ns", "1 0: [80, 85) ns"});
  const Schedule uneven = order({"0F0 1F1 1B1 0B0", "0F1 1F0 1B0 0F2 1F2 1B2 0B2 0B1"}, "uneven");
  const Outcome late = run(uneven, with_update(uneven, 5ns, 0ns));
  const SimTime last = late.task("0B1").end;
  CHECK(late.task("0B0").end < last);
  for (const Reduction& reduction : late.timeline.reductions)
    if (reduction.chunk == ChunkId{0}) CHECK(reduction.span.start == last);
}

TEST_CASE("The tied embedding is reduced after its two stages have reduced the first and the last chunk") {
  const Schedule schedule = order(one_microbatch);
  const Outcome outcome = run(schedule, with_update(schedule, 15ns, 5ns, OptimizerStep::per_stage, 8ns));
  CHECK(reductions(outcome) ==
        std::vector<std::string>{"0 0: [60, 75) ns", "1 1: [40, 55) ns", "0 0*: [75, 83) ns", "1 1*: [75, 83) ns"});
  CHECK(steps(outcome) == std::vector<Span>{between(83, 88), between(83, 88)});
  CHECK(update_path(outcome) == std::vector<std::string>{"reduction 0", "reduction 0", "optimizer 0"});
}

TEST_CASE("Without gradient reductions, the tied embedding waits only for the backwards") {
  const Schedule schedule = order(one_microbatch);
  const Outcome outcome = run(schedule, with_update(schedule, 0ns, 0ns, OptimizerStep::synchronous, 8ns));
  CHECK(reductions(outcome) == std::vector<std::string>{"0 0*: [60, 68) ns", "1 1*: [60, 68) ns"});
  CHECK(outcome.report.makespan == 68ns);
}

TEST_CASE("A stage that holds both the first and the last chunk ties nothing") {
  const Schedule schedule = order({"0F0 3F0 3B0 0B0", "1F0 2F0 2B0 1B0"}); // the V of two stages
  const Outcome outcome = run(schedule, with_update(schedule, 0ns, 0ns, OptimizerStep::synchronous, 8ns));
  CHECK(outcome.timeline.reductions.empty());
  CHECK(outcome.report.makespan == 4 * 30ns);
}

TEST_CASE("A stage's optimizer step is the sum of its chunks' and counts as its compute time") {
  const Schedule schedule = order({"0F0 1F0 1B0 0B0"});
  Scenario scenario = with_update(schedule, 0ns, 0ns);
  scenario.update.optimizer = {3ns, 4ns};
  const Outcome outcome = run(schedule, scenario);
  CHECK(steps(outcome) == std::vector<Span>{between(60, 67)});
  CHECK(outcome.report.stages[0].busy == 67ns);
  CHECK(outcome.report.bubble_ratio == 0);
}

TEST_CASE("Under blocking a stage's own optimizer waits for its last send") {
  const Schedule schedule = order(one_microbatch);
  Scenario scenario = with_update(schedule, 0ns, 5ns, OptimizerStep::per_stage);
  scenario.network.latency = {4ns};
  scenario.network.model = TransferModel::blocking;
  // 0F0 0-10, sent 10-14; 1F0 14-24, 1B0 24-44, sent 44-48; 0B0 48-68
  const Outcome outcome = run(schedule, scenario);
  CHECK(steps(outcome) == std::vector<Span>{between(68, 73), between(48, 53)});
  CHECK(time(outcome, 1, Label::drain) == 4ns + 15ns); // its send, and 53 to 68
  CHECK(time(outcome, 1, Label::flush) == 5ns);
  scenario.update.optimizer = {0ns, 100ns};
  const Outcome late = run(schedule, scenario); // 1B0's transfer is on the path now
  REQUIRE(late.report.critical_path.size() >= 2);
  CHECK(late.report.critical_path[late.report.critical_path.size() - 2].is_transfer());
  CHECK(late.report.makespan == 148ns);
}

TEST_CASE("No closed form is given if something follows the tasks") {
  const Generator& generator = find_generator("1f1b");
  const Schedule schedule = generate("1f1b", {.stages = 2, .microbatches = 2});
  const ScheduleRequest request{.shape = schedule.shape()};
  CHECK(closed_form(generator, request, plain(schedule)));
  CHECK(!closed_form(generator, request, with_update(schedule, 1ns, 0ns)));
  CHECK(!closed_form(generator, request, with_update(schedule, 0ns, 1ns)));
  CHECK(!closed_form(generator, request, with_update(schedule, 0ns, 0ns, OptimizerStep::synchronous, 1ns)));
}

TEST_CASE("Update costs are one per chunk and not negative") {
  const Schedule schedule = order(one_microbatch);
  Scenario scenario = plain(schedule);
  scenario.update = {.reduce = {1ns}, .optimizer = {1ns, -2ns}, .tied_embedding_reduce = -1ns};
  const Refusal refusal = refusal_of([&] { validate(scenario); });
  REQUIRE(refusal.lines.size() == 3);
  CHECK_THAT(refusal.lines[0], Catch::StartsWith("`reduce`: 1 values, but 2 are needed"));
  CHECK_THAT(refusal.lines[1], Catch::StartsWith("`optimizer`: negative value -2"));
  CHECK_THAT(refusal.lines[2], Catch::StartsWith("`tied-embedding-reduce`: negative"));
}

TEST_CASE("A stage that is ready late starts its first task then, under every transfer model") {
  const Schedule schedule = order(one_microbatch);
  for (const TransferModel model : {TransferModel::latency, TransferModel::link, TransferModel::blocking}) {
    Scenario scenario = plain(schedule);
    scenario.network.model = model;
    const TaskGraph graph = lower(schedule, scenario);
    const std::vector<SimTime> ready{SimTime{5ns}, SimTime{40ns}};
    const Timeline timeline = simulate(graph, ready);
    CHECK(timeline.tasks == std::vector<Span>{between(5, 15), between(70, 90), between(40, 50), between(50, 70)});
    CHECK(simulate(graph).tasks.front() == between(0, 10));
  }
}

} // namespace ppsim::test::optimizer_test
