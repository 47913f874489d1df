// Costs of measured runs, and how well they predict the steps that they are not from. By hand.

#include "ppsim/engine/simulate.hpp"
#include "ppsim/measured/cost_model.hpp"
#include "support/measured.hpp"

#include <catch2/catch.hpp>

#include <chrono>

namespace ppsim::test::cost_model_test {

using namespace std::chrono_literals;

namespace {

const Rows rows{"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"};

/// 1F1B of two stages, in which a forward takes as long as `forward`, a backward twice as long, and transfers 20 us.
Timeline step_of(TransferModel transfer, Duration forward) {
  const Schedule schedule = order(rows);
  Scenario scenario = uniform_scenario(schedule.shape(), forward, 2 * forward, 20us);
  scenario.network.model = transfer;
  return simulate(lower(schedule, scenario));
}

} // namespace

TEST_CASE("A cost model has the mean, spread and drift of each chunk and pass, and the mean of each microbatch") {
  std::vector<Timeline> steps;
  for (int step = 0; step < 8; ++step)
    steps.push_back(step_of(TransferModel::latency, step < 2 ? 1000us : step < 6 ? 1100us : 1200us));
  for (Timeline& step : steps) {
    step.tasks[1].end += 100us; // 0F1: its stage then waits for less long
    step.transfers[1] = {step.transfers[1].start + 100us, step.transfers[1].end + 100us};
  }
  const CostModel model = cost_model(run_of(order(rows), steps), 0, 8);
  CHECK(model.steps == 8);
  CHECK(model.schedule == "1f1b");
  CHECK(model.placement == std::vector<StageId>{StageId{0}, StageId{1}});
  const ChunkStatistics& first = model.chunks[0];
  CHECK(first.forward.mean == 1150us);
  CHECK(first.forward.runs == 16);
  CHECK(first.forward_by_microbatch == std::vector<Duration>{1100us, 1200us});
  CHECK(first.forward.drift == Approx(1250.0 / 1050 - 1));
  CHECK(model.chunks[1].forward.spread == Duration{70'711}); // 1000 and 1200 in a quarter of the steps each
  CHECK(model.chunks[1].backward.mean == 2200us);
  CHECK(model.chunks[1].input_grad.runs == 0);
  CHECK(model.chunks[1].input_grad_by_microbatch.empty());
  REQUIRE(model.transfers.size() == 1);
  CHECK(model.transfers[0].mean == 20us);
  CHECK(model.transfers[0].runs == 8 * 4);
  CHECK(model.peak.empty());
  CHECK(model.optimizer.runs == 0);
}

TEST_CASE("A transfer costs the mean of its lowest quarter") {
  Timeline step = step_of(TransferModel::latency, 1ms);
  const TaskGraph graph = lower(order(rows), uniform_scenario({.stages = 2, .microbatches = 2}, 1ms, 2ms));
  Duration length = 10us;
  for (std::size_t id = 0; id < graph.size(); ++id)
    if (graph.receiver(make_id<TaskId>(id))) {
      step.transfers[id].end = step.transfers[id].start + length;
      length += 5us;
    }
  CHECK(cost_model(run_of(order(rows), {step}), 0, 1).transfers[0].mean == 10us); // of 10, 15, 20 and 25
}

TEST_CASE("Only the time between a transfer's two tasks counts as its time") {
  Timeline step = step_of(TransferModel::latency, 1ms);
  const TaskGraph graph = lower(order(rows), uniform_scenario({.stages = 2, .microbatches = 2}, 1ms, 2ms));
  for (std::size_t id = 0; id < graph.size(); ++id)
    if (graph.receiver(make_id<TaskId>(id))) step.transfers[id].start -= 500us; // posted while its task still ran
  CHECK(cost_model(run_of(order(rows), {step}), 0, 1).transfers[0].mean == 20us);
}

TEST_CASE("Costs carry the id of their run, which any other time or order changes") {
  const Timeline step = step_of(TransferModel::latency, 1ms);
  const MeasuredRun run = run_of(order(rows), {step});
  CHECK(cost_model(run, 0, 1).run == run_id(run));
  CHECK(run_id(run).size() == 16);
  Timeline longer = step;
  longer.tasks[0].end += 1ns;
  CHECK(run_id(run_of(order(rows), {longer})) != run_id(run));
  CHECK(run_id(run_of(order(rows), {step, step})) != run_id(run));
  CHECK(run_id(run_of(order(rows).taken_apart(), {step})) == run_id(run));
}

TEST_CASE("The times of a run show how stages send") {
  for (const TransferModel transfer : {TransferModel::latency, TransferModel::blocking})
    CHECK(cost_model(run_of(order(rows), {step_of(transfer, 1ms)}), 0, 1).transfer == transfer);
}

TEST_CASE("The scenario of a cost model runs like the measured run") {
  Timeline step = step_of(TransferModel::blocking, 1ms);
  for (OptimizerRun& optimizer : step.optimizer = {{}, {}}) optimizer.span = between(9'000'000, 9'500'000);
  const Scenario scenario = scenario_of(cost_model(run_of(order(rows), {step}), 0, 1));
  const Timeline again = simulate(lower(order(rows), scenario));
  CHECK(again.tasks == step.tasks);
  CHECK(again.transfers == step.transfers);
  REQUIRE(again.optimizer.size() == 2);
  CHECK(again.optimizer[0].span.length() == 500us);
}

TEST_CASE("Costs by microbatch replace those of the chunk, with recomputation, overhead and a stage's factor on top") {
  Scenario scenario = uniform_scenario({.stages = 1, .microbatches = 2}, 1us, 4us);
  scenario.costs.forward_by_microbatch = {10us, 20us};
  scenario.costs.input_grad_by_microbatch = {1us, 2us};
  scenario.costs.weight_grad_by_microbatch = {3us, 5us};
  scenario.costs.overhead = 100ns;
  scenario.costs.stage_ppm = {2'000'000};
  scenario.costs.forward_collective = {1us};
  scenario.recompute = {.kind = RecomputeKind::full, .time = {50us}, .checkpoint = {Bytes{}}};
  const auto lengths = [&](const Rows& stage) {
    std::vector<Duration> result;
    for (const Span& span : simulate(lower(order(stage), scenario)).tasks) result.push_back(span.length());
    return result;
  };
  CHECK(lengths({"0F0 0F1 0B0 0I1 0W1"}) == std::vector<Duration>{19'100ns, 39'100ns, 108'100ns, 104'100ns, 10'100ns});
}

TEST_CASE("Costs by microbatch have one value per chunk and microbatch, none negative, none below its collective") {
  Scenario scenario = uniform_scenario({.stages = 2, .microbatches = 2}, 1us, 4us);
  const auto first = [&] { return refusal_of([&] { validate(scenario); }).first(); };
  scenario.costs.forward_by_microbatch = {1us, 1us, 1us};
  CHECK(first().starts_with("`forward`: 3 values, but 4 are needed"));
  scenario.costs.forward_by_microbatch = {1us, 1us, 1us, -1us};
  CHECK(first().starts_with("`forward`: negative value -1000"));
  scenario.costs.forward_by_microbatch = {1us, 1us, 1us, 1us};
  CHECK(first() == "nothing was refused");
  scenario.costs.forward_collective = {1us, 500ns};
  scenario.costs.forward_by_microbatch.back() = 499ns;
  CHECK(first().starts_with("`forward`: chunk 1, microbatch 1: 499 ns is less than the collective of 500 ns"));
  scenario.costs.forward_collective.clear();
  scenario.costs.forward_by_microbatch.back() = Duration{4'000'000'000'000'000'000};
  CHECK(first().starts_with("costs: the stages together could run longer"));
}

TEST_CASE("Held-out steps are predicted from the first steps, and the sources of error are separated") {
  std::vector<Timeline> steps(4, step_of(TransferModel::latency, 1000us));
  steps[2] = step_of(TransferModel::latency, 1250us); // all else of it is as before: drift alone
  steps[3].reductions.push_back(
      {.span = between(0, 2 * steps[3].tasks[3].end.time_since_epoch().count()), .released_by = {}});
  const HeldOut held = hold_out(run_of(order(rows), steps), 0.5);
  CHECK(held.calibrated == 2);
  REQUIRE(held.errors.size() == 2);
  CHECK(held.errors[0] == Approx(9040.0 / 11290 - 1)); // 3 F, 3 B and 2 transfers in a row
  CHECK(held.errors[1] == 0);
  CHECK(held.mean_error == Approx((1 - 9040.0 / 11290) / 2));
  CHECK(held.own_error == 0);
  CHECK(held.step_mean_error == 0);
  CHECK(held.after_tasks == Approx(0.5));
  CHECK(refusal_of([&] { (void)hold_out(run_of(order(rows), {steps[0]}), 0.25); }).first() ==
        "the run: it has only one step, so none is left to predict -- record at least two");
}

} // namespace ppsim::test::cost_model_test
