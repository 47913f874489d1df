// The guarantees of the zero-bubble schedules at every cost and limit.

#include "ppsim/report/report.hpp"
#include "ppsim/schedule/generators.hpp"
#include "property/drawn_inputs.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <rapidcheck.h>

namespace ppsim::test::zero_bubble_property {

namespace {

/// The most bytes of activations on `stage`, with a given part freed at the end of I.
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

} // namespace

TEST_CASE("A searched schedule runs, and no stage ever exceeds its limit of activations") {
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

TEST_CASE("Under a memory limit no stage ever exceeds it in bytes, or the schedule is refused") {
  rc::prop("zb-auto and v-auto, any costs and sizes", [] {
    const bool v = draw(0, 1) == 1;
    const Shape shape{.stages = draw(1, 5), .microbatches = draw(1, 10), .vpp = v ? 2U : 1U};
    Scenario scenario = draw_unequal(shape);
    Memory& memory = scenario.memory;
    std::vector<std::int64_t> fixed(shape.stages);
    std::vector<std::int64_t> needed(shape.stages);
    const std::vector<StageId> placement = v ? wave_placement(shape) : loop_placement(shape);
    for (std::size_t chunk = 0; chunk < shape.chunks(); ++chunk) {
      memory.activation[chunk] = Bytes{number(draw(1, 9))};
      memory.activation_for_weight[chunk] =
          Bytes{number(draw(0, static_cast<std::size_t>(memory.activation[chunk].count())))};
      memory.parameters[chunk] = Bytes{number(draw(0, 9))};
      fixed[index(placement[chunk])] += memory.parameters[chunk].count();
      needed[index(placement[chunk])] += memory.parameters[chunk].count() + memory.activation[chunk].count();
    }
    memory.limit = Bytes{number(draw(1, 60))};
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

TEST_CASE("V-Half and V-Min never exceed their share, whatever the costs") {
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

TEST_CASE("The closed forms of the handcrafted orders are exact whenever they are given") {
  rc::prop("zb-h1 and zb-h2, equal stages", [] {
    const bool first = draw(0, 1) == 0;
    const Shape shape{.stages = draw(1, 6), .microbatches = draw(1, 16), .vpp = 1};
    Scenario scenario =
        uniform_scenario(shape, Duration{number(draw(1, 20))}, Duration{2}, Duration{number(draw(0, 4))});
    std::ranges::fill(scenario.costs.input_grad, Duration{number(draw(1, 20))});
    std::ranges::fill(scenario.costs.weight_grad, Duration{number(draw(0, 12))});
    const Generator& generator = find_generator(first ? "zb-h1" : "zb-h2");
    const auto form = closed_form(generator, {.shape = shape}, scenario);
    RC_CLASSIFY(form.has_value(), "has a closed form");
    if (!form) return;
    const test::Outcome outcome = test::run(make_schedule(generator, {.shape = shape}), scenario);
    RC_ASSERT(std::abs(form->value - outcome.report.stage_span_bubble) < 1e-9);
  });
}

} // namespace ppsim::test::zero_bubble_property
