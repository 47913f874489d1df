// A simulated step that is split into events, with separate clocks, is restored.

#include "ppsim/engine/simulate.hpp"
#include "support/recorded.hpp"

#include <catch2/catch.hpp>

#include <string>

#include <rapidcheck.h>

namespace ppsim::test::recorded_property {

namespace {

template <class Value>
Value between(Value least, Value most) {
  return *rc::gen::inRange<Value>(least, most + 1);
}

/// A scenario with a schedule for it, without tasks of zero length.
TaskGraph drawn_graph(TransferModel transfer = TransferModel::latency) {
  const std::vector<std::string> names =
      transfer == TransferModel::blocking ? std::vector<std::string>{"gpipe", "1f1b"} // the others may deadlock
                                          : std::vector<std::string>{"gpipe", "1f1b", "interleaved", "zb-h1", "zb-v"};
  const std::string name = *rc::gen::elementOf(names);
  const bool chunks = name == "interleaved" || name == "zb-v";
  const auto stages = between<std::size_t>(1, 4);
  const Shape shape{.stages = stages, .microbatches = stages * between<std::size_t>(1, 3), .vpp = chunks ? 2U : 1U};
  Scenario scenario = uniform_scenario(shape, Duration{2}, Duration{4});
  for (auto* costs : {&scenario.costs.forward, &scenario.costs.input_grad, &scenario.costs.weight_grad})
    for (Duration& cost : *costs) cost = Duration{between<std::int64_t>(1, 1'000'000)};
  for (Duration& latency : scenario.network.latency) latency = Duration{between<std::int64_t>(0, 100'000)};
  scenario.network.model = transfer;
  const Generator& generator = find_generator(name);
  Schedule schedule = make_schedule(generator, {.shape = shape}, scenario);
  return lower(std::move(schedule), std::move(scenario));
}

} // namespace

TEST_CASE("A simulated step is restored from its events, also with separate clocks") {
  REQUIRE(rc::check([] {
    const TaskGraph graph = drawn_graph();
    const Timeline timeline = simulate(graph);
    const bool one_clock = between(0, 1) == 1;
    traces::Recorded recorded;
    recorded.one_clock = one_clock;
    const auto replicas = between<std::uint32_t>(1, 2);
    const auto steps = between<std::int64_t>(1, 3);
    for (std::uint32_t replica = 0; replica < replicas; ++replica)
      for (std::int64_t step = 0; step < steps; ++step) {
        std::vector<std::int64_t> late(graph.schedule().shape().stages,
                                       between<std::int64_t>(-1'000'000'000, 1'000'000'000));
        if (!one_clock)
          for (std::int64_t& each : late) each = between<std::int64_t>(-1'000'000'000'000'000, 1'000'000'000'000'000);
        test::record(graph, timeline, {replica, step, late}, recorded);
      }
    const traces::Imported imported = traces::assemble(recorded, {}, "drawn");
    RC_ASSERT(imported.dropped.empty());
    RC_ASSERT(imported.runs.size() == replicas);
    for (const MeasuredRun& run : imported.runs) {
      RC_ASSERT(run.schedule == graph.schedule());
      RC_ASSERT(run.steps.size() == static_cast<std::size_t>(steps));
      for (const Timeline& step : run.steps) {
        RC_ASSERT(step.tasks == timeline.tasks);
        RC_ASSERT(step.transfers == timeline.transfers);
      }
    }
  }));
}

TEST_CASE("The costs of a simulated step reproduce the step, and held-out steps are predicted without error") {
  REQUIRE(rc::check([] {
    const TransferModel transfer = between(0, 1) == 1 ? TransferModel::blocking : TransferModel::latency;
    const TaskGraph graph = drawn_graph(transfer);
    const Timeline timeline = simulate(graph);
    traces::Recorded recorded;
    recorded.one_clock = true;
    for (std::int64_t step = 0; step < 3; ++step) test::record(graph, timeline, {0, step, {}}, recorded);
    const MeasuredRun run = traces::assemble(recorded, {}, "drawn").runs.front();
    const CostModel model = cost_model(run, 0, 3);
    const Scenario found = scenario_of(model, between(0, 1) == 1);
    RC_ASSERT(found.costs.forward == graph.scenario().costs.forward);
    for (std::size_t chunk = 0; chunk < model.chunks.size(); ++chunk) {
      const Costs& costs = graph.scenario().costs;
      RC_ASSERT(found.costs.input_grad[chunk] + found.costs.weight_grad[chunk] ==
                costs.input_grad[chunk] + costs.weight_grad[chunk]);
    }
    RC_ASSERT(simulate(lower(run.schedule, found)).tasks == timeline.tasks);
    const HeldOut held = hold_out(run, 0.25);
    RC_ASSERT(held.mean_error == 0 && held.own_error == 0 && held.step_mean_error == 0);
  }));
}

} // namespace ppsim::test::recorded_property
