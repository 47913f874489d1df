// Steady-state step time of stages that do not synchronise between steps (SPEC section 4).

#include "ppsim/engine/simulate.hpp"
#include "ppsim/engine/steady.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/what_if.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>

namespace ppsim::test::step_time_test {

using namespace std::chrono_literals;

namespace {

/// Zero Bubble's handcrafted ZB-H2 for p = 4, m = 8, as its published code orders it.
const Rows zb_h2{"0F0 0F1 0F2 0F3 0F4 0F5 0F6 0I0 0W0 0F7 0I1 0W1 0I2 0W2 0I3 0W3 0I4 0W4 0I5 0W5 0I6 0W6 0I7 0W7",
                 "1F0 1F1 1F2 1F3 1F4 1I0 1F5 1I1 1F6 1I2 1W0 1F7 1I3 1W1 1I4 1W2 1I5 1W3 1I6 1W4 1I7 1W5 1W6 1W7",
                 "2F0 2F1 2F2 2I0 2F3 2I1 2F4 2I2 2F5 2I3 2F6 2I4 2W0 2F7 2I5 2W1 2I6 2W2 2I7 2W3 2W4 2W5 2W6 2W7",
                 "3F0 3I0 3F1 3I1 3F2 3I2 3F3 3I3 3F4 3I4 3F5 3I5 3F6 3I6 3W0 3F7 3I7 3W1 3W2 3W3 3W4 3W5 3W6 3W7"};

/// F = I = W = 1000 on every chunk, with an optimizer step per stage.
Scenario per_stage(const Schedule& schedule, Duration optimizer = 0ns) {
  const auto chunks = static_cast<std::int64_t>(schedule.shape().vpp);
  Scenario scenario = uniform_scenario(schedule.shape(), chunks * 1000ns, chunks * 2000ns);
  scenario.update.optimizer.assign(schedule.shape().chunks(), optimizer);
  scenario.update.step = OptimizerStep::per_stage;
  return scenario;
}

/// 1F1B with weight updates but no flush: PipeDream's order on stages without replicas.
Schedule without_flush(const ScheduleRequest& request, const Scenario& /*scenario*/) {
  const auto [stages, microbatches, vpp, shared] = request.shape;
  ScheduleBuilder builder{"without-flush", request.shape};
  builder.set_asynchronous();
  for (std::size_t stage = 0; stage < stages; ++stage) {
    const std::size_t ahead = std::min(microbatches, stages - stage);
    for (std::size_t i = 0; i < ahead; ++i) builder.add(Pass::forward, stage, i);
    for (std::size_t i = 0; i < microbatches; ++i) {
      builder.add(Pass::backward, stage, i);
      if (i + ahead < microbatches) builder.add(Pass::forward, stage, i + ahead);
    }
    builder.end_stage();
  }
  return builder.build();
}

const Generator asynchronous{.name = "without-flush",
                             .placement = "loop",
                             .summary = "",
                             .promise = "",
                             .constraints = "",
                             .source = "",
                             .make = without_flush};

} // namespace

TEST_CASE("Zero Bubble's H2 has no bubble in steady state with an optimizer step per stage") {
  const Schedule schedule = order(zb_h2);
  Scenario scenario = per_stage(schedule);
  const TaskGraph graph = lower(schedule, scenario);
  CHECK(has_steady_state(graph));
  CHECK(analyse(graph, simulate(graph)).makespan == 27us); // the last stage starts three forwards after the first
  CHECK(steady_interval(graph) == 8 * 3us);
  CHECK(steady_interval(lower(schedule, per_stage(schedule, 500ns))) == 8 * 3us + 500ns);
  scenario.update.step = OptimizerStep::synchronous;
  CHECK(!has_steady_state(lower(schedule, scenario)));
}

TEST_CASE("An order with a bubble between its tasks keeps it in steady state") {
  // 1F1B, p = 2, m = 1: stage 0 waits for its gradient in every step: F 1, F 1, B 2, B 2
  const Schedule schedule = order({"0F0 0B0", "1F0 1B0"});
  CHECK(steady_interval(lower(schedule, per_stage(schedule))) == 6us);
}

TEST_CASE("In steady state a stage's next step overlaps with the drain of the others") {
  // GPipe, p = 2, m = 2: stage 0 is busy 0-2 and 5-9 and then starts again; stage 1 1-7, and from 10 on.
  const Schedule schedule = generate("gpipe", {.stages = 2, .microbatches = 2});
  CHECK(steady_interval(lower(schedule, per_stage(schedule))) == 9us);
  const Schedule longer = order({"0F0 0F1 0F2 0I0 0F3 0I1 0W0 0W1 0I2 0W2 0I3 0W3",
                                 "1F0 1I0 1F1 1I1 1W0 1F2 1I2 1F3 1I3 1W1 1W2 1W3"}); // no gap within a span
  CHECK(steady_interval(lower(longer, per_stage(longer))) == 12us);
}

TEST_CASE("The work of the slowest stage, including its optimizer step, sets the steady state") {
  const Schedule schedule = order(zb_h2);
  Scenario scenario = per_stage(schedule);
  scenario.update.optimizer[3] = 10us; // stage 3 ends 3 us after stage 0, and has 7 us more to do
  CHECK(steady_interval(lower(schedule, scenario)) == 34us);
}

TEST_CASE("What-if figures of stages with their own optimizer step are also steady states") {
  const Schedule schedule = order(zb_h2);
  Scenario scenario = per_stage(schedule);
  for (Duration& latency : scenario.network.latency) latency = 100ns;
  CHECK(what_if(lower(schedule, scenario)).no_communication == 24us);
}

TEST_CASE("Without a flush, a step costs what more microbatches add, without a bubble if stages are equal") {
  for (const std::size_t microbatches : {1U, 3U, 8U, 20U}) {
    const Shape shape{.stages = 4, .microbatches = microbatches, .vpp = 1};
    const Scenario scenario = uniform_scenario(shape, 1us, 2us);
    const TaskGraph graph = lower(make_schedule(asynchronous, {.shape = shape}, scenario), scenario);
    CHECK(has_steady_state(graph));
    CHECK(analyse(graph, simulate(graph)).makespan > static_cast<std::int64_t>(microbatches) * 3us);
    CHECK(steady_interval(graph) == static_cast<std::int64_t>(microbatches) * 3us);
    CHECK(!what_if(graph).equal_stages);
  }
}

TEST_CASE("Without a flush, the slowest stage determines the step time") {
  const Shape shape{.stages = 3, .microbatches = 4, .vpp = 1};
  Scenario scenario = uniform_scenario(shape, 1us, 2us);
  scenario.costs.forward[1] = 2500ns; // 4.5 us per microbatch
  CHECK(steady_interval(lower(make_schedule(asynchronous, {.shape = shape}, scenario), scenario)) == 4 * 4500ns);
}

TEST_CASE("The number of tasks for a steady state is known before the simulation") {
  const Schedule schedule = order(zb_h2);
  CHECK(steady_tasks(lower(schedule, per_stage(schedule))) == 8 * 96);
  const Shape shape{.stages = 4, .microbatches = 3, .vpp = 1}; // 4 (4p + 1) microbatches, 8 tasks each
  const Scenario scenario = uniform_scenario(shape, 1us, 2us);
  CHECK(steady_tasks(lower(make_schedule(asynchronous, {.shape = shape}, scenario), scenario)) == 68 * 8);
}

TEST_CASE("PipeDream's step time is exact if its period does not divide the microbatches") {
  const Generator& pipedream = find_generator("pipedream");
  const auto interval = [&](Shape shape, std::vector<std::size_t> replicas, std::vector<Duration> forward,
                            std::vector<Duration> backward, Duration comm = 0ns) {
    shape.shared = replicas.empty() ? 0 : shape.stages - replicas.size();
    Scenario scenario = uniform_scenario(shape, 0ns, 0ns, comm);
    scenario.costs.forward = std::move(forward);
    scenario.costs.input_grad = std::move(backward);
    const ScheduleRequest request{.shape = shape, .replicas = std::move(replicas)};
    return steady_interval(lower(make_schedule(pipedream, request, scenario), scenario));
  };
  CHECK(interval({.stages = 4, .microbatches = 5}, {4}, {5ns}, {2ns}) == 9ns);   // 7 / 4 each: 8.75
  CHECK(interval({.stages = 3, .microbatches = 14}, {3}, {1ns}, {9ns}) == 47ns); // 10 / 3 each: 46.7
  CHECK(interval({.stages = 4, .microbatches = 10}, {3, 1}, {1ns, 2ns}, {2ns, 5ns}, 83ns) == 293ns);
  // two under way for a round trip of 30 + 30 + 2 x 53
  CHECK(interval({.stages = 2, .microbatches = 15}, {}, {10ns, 10ns}, {20ns, 20ns}, 53ns) == 15 * 83ns);
}

} // namespace ppsim::test::step_time_test
