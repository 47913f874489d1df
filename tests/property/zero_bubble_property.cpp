// What the zero-bubble schedules hold to at every cost and under every limit.

#include "ppsim/report/report.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/proven_bound.hpp"
#include "support/printers.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <string>

#include <rapidcheck.h>

namespace ppsim::test::zero_bubble_property {

namespace {

std::size_t draw(std::size_t low, std::size_t high) {
  return *rc::gen::inRange<std::size_t>(low, high + 1);
}
std::int64_t draw_count(std::size_t low, std::size_t high) {
  return static_cast<std::int64_t>(draw(low, high));
}

/// Costs that differ between chunks, transfers that differ between boundaries.
Scenario draw_unequal(const Shape& shape) {
  Scenario scenario = uniform_scenario(shape, Duration{1}, Duration{2});
  for (auto* costs : {&scenario.costs.forward, &scenario.costs.input_grad, &scenario.costs.weight_grad})
    for (Duration& cost : *costs) cost = Duration{draw_count(0, 20)};
  for (Duration& latency : scenario.network.latency) latency = Duration{draw_count(0, 8)};
  return scenario;
}

/// The most bytes that activations take on `stage`, which a given part of leaves at the end of I.
std::int64_t peak_bytes(const Schedule& schedule, StageId stage, const Memory& memory) {
  std::int64_t held = 0;
  std::int64_t peak = 0;
  for (const Task& task : schedule.stage(stage)) {
    const std::int64_t whole = memory.activation[task.chunk_index].count();
    const std::int64_t for_weight = memory.activation_for_weight[task.chunk_index].count();
    held += task.pass == Pass::forward ? whole : task.pass == Pass::input_grad ? for_weight - whole : -for_weight;
    peak = std::max(peak, held);
  }
  return peak;
}

std::vector<std::size_t> live_activations(const test::Outcome& outcome) {
  std::vector<std::size_t> most;
  most.reserve(outcome.report.stages.size());
  for (const StageReport& stage : outcome.report.stages) most.push_back(stage.peak_live_activations);
  return most;
}

/// What a step takes in the long run, and what is searched for.
Duration step_of(const test::Outcome& outcome) {
  const bool by_span = outcome.graph.scenario().update.step == OptimizerStep::per_stage;
  return by_span ? test::span_of(outcome) : outcome.report.makespan;
}

} // namespace

TEST_CASE("A searched schedule runs, and no stage ever holds more activations than its limit") {
  rc::prop("zb-auto and v-auto, any costs", [] {
    const bool v = draw(0, 1) == 1;
    const Shape shape{.stages = draw(1, 6), .microbatches = draw(1, 12), .vpp = v ? 2U : 1U};
    const Scenario scenario = draw_unequal(shape);
    ScheduleRequest request{.shape = shape};
    request.activation_limit = draw(shape.vpp, 3 * shape.stages + 2);
    const Generator& generator = find_generator(v ? "v-auto" : "zb-auto");
    const test::Outcome outcome = test::run(make_schedule(generator, request, scenario), scenario);
    for (const StageReport& stage : outcome.report.stages)
      RC_ASSERT(stage.peak_live_activations <= *request.activation_limit);
  });
}

TEST_CASE("A small limit on many stages finds a plan") {
  rc::prop("zb-auto and v-auto, limits that hold few activations", [] {
    const bool v = draw(0, 1) == 1;
    const Shape shape{.stages = draw(7, 24), .microbatches = draw(1, 5), .vpp = v ? 2U : 1U};
    const Scenario scenario = draw_unequal(shape);
    ScheduleRequest request{.shape = shape};
    request.activation_limit = draw(shape.vpp, shape.vpp + 5);
    const Generator& generator = find_generator(v ? "v-auto" : "zb-auto");
    const test::Outcome outcome = test::run(make_schedule(generator, request, scenario), scenario);
    for (const StageReport& stage : outcome.report.stages)
      RC_ASSERT(stage.peak_live_activations <= *request.activation_limit);
  });
}

TEST_CASE("No searched schedule takes twice as long as is proven of all orders in its memory, and few come near") {
  std::mt19937 random{20241125};
  const auto drawn = [&random](std::size_t low, std::size_t high) { return low + random() % (high - low + 1); };
  constexpr std::size_t count = 100;
  std::size_t far_above = 0; // by more than a third
  for (std::size_t i = 0; i < count; ++i) {
    const Generator& generator = find_generator(std::array{"zb-auto", "v-auto", "v-half", "v-min"}[i % 4]);
    const Shape shape{.stages = drawn(2, 6), .microbatches = drawn(1, 16), .vpp = generator.vpp.standard};
    const auto time = [&drawn](std::size_t most) { return Duration{static_cast<std::int64_t>(drawn(1, most))}; };
    Scenario scenario = uniform_scenario(shape, Duration{1}, Duration{2});
    std::ranges::fill(scenario.costs.forward, time(20));
    std::ranges::fill(scenario.costs.input_grad, time(20));
    std::ranges::fill(scenario.costs.weight_grad, time(20));
    std::ranges::fill(scenario.network.latency, drawn(0, 1) * time(40));
    ScheduleRequest request{.shape = shape};
    if (generator.takes("activation-limit")) request.activation_limit = drawn(shape.vpp, 2 * shape.chunks());
    INFO("input " << i << ", " << generator.name);
    const test::Outcome outcome = test::run(make_schedule(generator, request, scenario), scenario);
    const ProvenBound bound = find_bound(outcome.graph, outcome.report).value();
    CHECK(outcome.report.makespan <= 2 * bound.makespan);
    far_above += 3 * outcome.report.makespan > 4 * bound.makespan ? 1 : 0;
  }
  CHECK(far_above == 0); // 1 without synthesis
}

TEST_CASE("No searched schedule takes longer than one by name of its placement that holds no more") {
  using Names = std::vector<std::string_view>;
  const std::array<std::pair<std::string_view, Names>, 4> searched{{{"zb-auto", {"1f1b", "gpipe", "zb-h1", "zb-h2"}},
                                                                    {"v-auto", {"zb-v", "hanayo", "v-half", "v-min"}},
                                                                    {"v-half", {"zb-v", "hanayo"}},
                                                                    {"v-min", {"zb-v", "hanayo"}}}};
  rc::prop("the searching schedules, any costs", [&searched] {
    const auto& [name, others] = searched[draw(0, searched.size() - 1)];
    const Generator& generator = find_generator(name);
    const Shape shape{.stages = draw(2, 6), .microbatches = draw(1, 12), .vpp = generator.vpp.standard};
    Scenario scenario = draw_unequal(shape);
    if (draw(0, 3) == 0) scenario.update.step = OptimizerStep::per_stage;
    ScheduleRequest request{.shape = shape};
    if (generator.takes("activation-limit")) request.activation_limit = draw(shape.vpp, 2 * shape.chunks());
    const test::Outcome outcome = test::run(make_schedule(generator, request, scenario), scenario);
    std::vector<std::size_t> most = live_activations(outcome);
    if (generator.takes("activation-limit")) std::ranges::fill(most, *request.activation_limit);
    for (const std::string_view other : others) {
      const test::Outcome its = test::run(make_schedule(find_generator(other), {.shape = shape}, scenario), scenario);
      const bool fits = std::ranges::equal(live_activations(its), most, std::less_equal{});
      RC_CLASSIFY(fits, std::string{other});
      if (fits) RC_ASSERT(step_of(outcome) <= step_of(its));
    }
  });
}

TEST_CASE("Under a memory limit no stage ever holds more bytes than that leaves, or the schedule is refused") {
  rc::prop("zb-auto and v-auto, any costs and sizes", [] {
    const bool v = draw(0, 1) == 1;
    const Shape shape{.stages = draw(1, 5), .microbatches = draw(1, 10), .vpp = v ? 2U : 1U};
    Scenario scenario = draw_unequal(shape);
    Memory& memory = scenario.memory;
    std::vector<std::int64_t> fixed(shape.stages);
    std::vector<std::int64_t> needed(shape.stages);
    const std::vector<StageId> placement = v ? wave_placement(shape) : loop_placement(shape);
    for (std::size_t chunk = 0; chunk < shape.chunks(); ++chunk) {
      memory.activation[chunk] = Bytes{draw_count(1, 9)};
      memory.activation_for_weight[chunk] =
          Bytes{draw_count(0, static_cast<std::size_t>(memory.activation[chunk].count()))};
      memory.parameters[chunk] = Bytes{draw_count(0, 9)};
      fixed[index(placement[chunk])] += memory.parameters[chunk].count();
      needed[index(placement[chunk])] += memory.parameters[chunk].count() + memory.activation[chunk].count();
    }
    memory.limit = Bytes{draw_count(1, 60)};
    const Generator& generator = find_generator(v ? "v-auto" : "zb-auto");
    const bool fits = *std::ranges::max_element(needed) <= memory.limit->count();
    RC_CLASSIFY(fits, "fits");
    try {
      const Schedule schedule = make_schedule(generator, {.shape = shape}, scenario);
      (void)lower(schedule, scenario);
      RC_ASSERT(fits);
      for (std::size_t stage = 0; stage < shape.stages; ++stage)
        RC_ASSERT(fixed[stage] + peak_bytes(schedule, make_id<StageId>(stage), memory) <= memory.limit->count());
    } catch (const Error& error) {
      RC_ASSERT(error.problems().front().where == "`memory-limit`");
      RC_ASSERT(!fits);
    }
  });
}

TEST_CASE("V-Half and V-Min never hold more than their share, whatever the costs") {
  rc::prop("v-half and v-min", [] {
    const bool half = draw(0, 1) == 1;
    const Shape shape{.stages = draw(1, 7), .microbatches = draw(1, 14), .vpp = 2};
    const Scenario scenario = draw_unequal(shape);
    const Generator& generator = find_generator(half ? "v-half" : "v-min");
    const test::Outcome outcome = test::run(make_schedule(generator, {.shape = shape}, scenario), scenario);
    const std::size_t most = half ? 2 * (shape.stages / 2) + 2 : 2 * ((shape.stages + 1) / 3) + 2;
    for (const StageReport& stage : outcome.report.stages) RC_ASSERT(stage.peak_live_activations <= most);
  });
}

TEST_CASE("The handcrafted orders run for any number of microbatches and hold at most p and 2p-1 activations") {
  rc::prop("zb-h1 and zb-h2", [] {
    const bool first = draw(0, 1) == 0;
    const Shape shape{.stages = draw(1, 8), .microbatches = draw(1, 24), .vpp = 1};
    const Scenario scenario = draw_unequal(shape);
    const Generator& generator = find_generator(first ? "zb-h1" : "zb-h2");
    const test::Outcome outcome = test::run(make_schedule(generator, {.shape = shape}), scenario);
    const std::size_t most = first ? shape.stages : 2 * shape.stages - 1;
    for (const StageReport& stage : outcome.report.stages) RC_ASSERT(stage.peak_live_activations <= most);
  });
}

TEST_CASE("The closed forms of the handcrafted orders are exact wherever they are given") {
  rc::prop("zb-h1 and zb-h2, equal stages", [] {
    const bool first = draw(0, 1) == 0;
    const Shape shape{.stages = draw(1, 6), .microbatches = draw(1, 16), .vpp = 1};
    Scenario scenario = uniform_scenario(shape, Duration{draw_count(1, 20)}, Duration{2}, Duration{draw_count(0, 4)});
    std::ranges::fill(scenario.costs.input_grad, Duration{draw_count(1, 20)});
    std::ranges::fill(scenario.costs.weight_grad, Duration{draw_count(0, 12)});
    const Generator& generator = find_generator(first ? "zb-h1" : "zb-h2");
    const auto form = closed_form(generator, {.shape = shape}, scenario);
    RC_CLASSIFY(form.has_value(), "has a closed form");
    if (!form) return;
    const test::Outcome outcome = test::run(make_schedule(generator, {.shape = shape}), scenario);
    RC_ASSERT(std::abs(form->value - outcome.report.stage_span_bubble) < 1e-9);
  });
}

} // namespace ppsim::test::zero_bubble_property
