// What each schedule promises, for every shape and all costs that the promise covers.

#include "ppsim/sim/error.hpp"
#include "ppsim/sim/generators.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include <rapidcheck.h>

using namespace ppsim;
using namespace ppsim::test;

namespace {

std::size_t draw(std::size_t low, std::size_t high) {
  return *rc::gen::inRange<std::size_t>(low, high + 1);
}
Duration draw_time(std::size_t low, std::size_t high) {
  return Duration{static_cast<std::int64_t>(draw(low, high))};
}

/// The order, or nothing where the schedule refuses the shape.
std::optional<Schedule> try_generate(const Generator& generator, const Shape& shape) {
  try {
    return make_schedule(generator, {.shape = shape});
  } catch (const Error& error) {
    REQUIRE(error.code() == ExitCode::bad_input);
    for (const Problem& problem : error.problems()) REQUIRE(!problem.hint.empty());
    return std::nullopt;
  }
}

/// Equal chunks: each costs this much, by pass.
struct ChunkCosts {
  Duration forward{}, input_grad{}, weight_grad{}, comm{};
};

Report report_of(std::string_view name, const Shape& shape, const ChunkCosts& costs) {
  Scenario scenario = uniform_scenario(shape, Duration{0}, Duration{0}, costs.comm);
  scenario.costs.forward.assign(shape.chunks(), costs.forward);
  scenario.costs.input_grad.assign(shape.chunks(), costs.input_grad);
  scenario.costs.weight_grad.assign(shape.chunks(), costs.weight_grad);
  return run(generate(name, shape), std::move(scenario)).report;
}

ChunkCosts draw_costs(std::size_t longest_comm) {
  return {draw_time(0, 20), draw_time(1, 20), draw_time(0, 20), draw_time(0, longest_comm)};
}

} // namespace

TEST_CASE("No order of a schedule deadlocks, whatever the shape") {
  for (const Generator* generator : generators())
    for (std::size_t stages = 1; stages <= 10; ++stages)
      for (std::size_t microbatches = 1; microbatches <= 40;
           microbatches += generator->searches && microbatches > 2 ? stages + 1 : 1) {
        const std::size_t vpp = generator->vpp.multiple > 0
                                    ? generator->vpp.multiple * (1 + (stages + microbatches) % 3)
                                    : generator->vpp.standard;
        const Shape shape{.stages = stages, .microbatches = microbatches, .vpp = vpp};
        CAPTURE(generator->name, shape);
        const std::optional<Schedule> schedule = try_generate(*generator, shape);
        if (schedule) REQUIRE_NOTHROW(lower(*schedule, uniform_scenario(shape, Duration{1}, Duration{2})));
      }
}

TEST_CASE("Looped BFS: bubble ((p-1) + (v-1)max(0, p-m))(F+B)/v, all activations live") {
  rc::prop("any shape, equal chunks, free transfers", [] {
    const Shape shape{.stages = draw(1, 8), .microbatches = draw(1, 20), .vpp = draw(1, 4)};
    const ChunkCosts costs = draw_costs(0);
    const auto& [p, m, v, shared] = shape;
    const auto waits = static_cast<std::int64_t>(p - 1 + (v - 1) * (p - std::min(p, m)));
    const Report report = report_of("looped-bfs", shape, costs);
    RC_ASSERT(report.makespan - report.ideal == waits * (costs.forward + costs.input_grad + costs.weight_grad));
    for (const StageReport& stage : report.stages) RC_ASSERT(stage.peak_live_activations == v * m);
  });
}

TEST_CASE("Eager 1F1B is never slower than 1F1B when stages are equal, and holds at most 2(p-1-s)+1 activations") {
  rc::prop("any shape, any transfer time", [] {
    const Shape shape{.stages = draw(1, 8), .microbatches = draw(1, 20), .vpp = 1};
    const ChunkCosts costs = draw_costs(60);
    const Report eager = report_of("eager-1f1b", shape, costs);
    const Report plain = report_of("1f1b", shape, costs);
    RC_CLASSIFY(eager.makespan < plain.makespan, "faster");
    RC_ASSERT(eager.makespan <= plain.makespan);
    for (std::size_t stage = 0; stage < shape.stages; ++stage)
      RC_ASSERT(eager.stages[stage].peak_live_activations <=
                std::min(shape.microbatches, 2 * (shape.stages - 1 - stage) + 1));
  });
}

TEST_CASE("Interleaved zero bubble: bubble (p-1)(F+I-W)/v where W is no longer than F and I, (v-1)g + p activations") {
  rc::prop("any shape with m >= p, equal chunks, free transfers", [] {
    Shape shape{.stages = draw(1, 8), .microbatches = 0, .vpp = draw(1, 3)};
    const std::size_t rounds = draw(1, 4);
    shape.microbatches = rounds * draw(shape.stages, shape.stages + (shape.stages - 1) / rounds);
    const Duration weight_grad = draw_time(0, 20);
    const ChunkCosts costs{
        weight_grad + draw_time(0, 20), weight_grad + draw_time(0, 20) + Duration{1}, weight_grad, {}};
    const Report report = report_of("zb-interleaved", shape, costs);
    const auto wait = static_cast<std::int64_t>(shape.stages - 1);
    RC_ASSERT(report.makespan - report.ideal == wait * (costs.forward + costs.input_grad - costs.weight_grad));
    const std::size_t round = shape.microbatches / rounds;
    for (const StageReport& stage : report.stages)
      RC_ASSERT(stage.peak_live_activations ==
                std::min(shape.vpp * shape.microbatches, (shape.vpp - 1) * round + shape.stages));
  });
}

TEST_CASE("ZB-V: no bubble in any stage's span at F = I = W with m >= 2p-1, and at most p whole activations") {
  rc::prop("any shape, one cost for all passes", [] {
    const Shape shape{.stages = draw(1, 8), .microbatches = draw(1, 24), .vpp = 2};
    const Duration pass = draw_time(1, 20);
    const Report report = report_of("zb-v", shape, {pass, pass, pass, {}});
    for (const StageReport& stage : report.stages) RC_ASSERT(stage.peak_live_activations <= 2 * shape.stages);
    if (shape.microbatches + 1 < 2 * shape.stages) return;
    RC_ASSERT(report.makespan - report.ideal == static_cast<std::int64_t>(shape.stages - 1) * pass);
    for (const StageReport& stage : report.stages) {
      const Duration outside =
          stage.time[static_cast<std::size_t>(Label::warmup)] + stage.time[static_cast<std::size_t>(Label::drain)];
      RC_ASSERT(stage.idle == outside);
    }
  });
}

TEST_CASE("DualPipe: bubble (p/2-1)(F&B + B - 3W) at F = I = W, p+1 activations on every stage") {
  rc::prop("any shape it takes, one cost for all passes, pairs of F + B", [] {
    const std::size_t half = draw(1, 5);
    const Shape shape{.stages = 2 * half, .microbatches = 4 * half + 2 * draw(0, 10), .vpp = 1};
    const Duration pass = draw_time(1, 20);
    const Report report = report_of("dualpipe", shape, {pass, pass, pass, {}});
    RC_ASSERT(report.makespan - report.ideal == static_cast<std::int64_t>(half - 1) * (3 + 2 - 3) * pass);
    for (const StageReport& stage : report.stages) RC_ASSERT(stage.peak_live_activations == shape.stages + 1);
  });
}

TEST_CASE("DualPipeV: bubble (p-1)(F&B + B - 3W) of a chunk at F = I = W, 2p+1 chunk activations on every stage") {
  rc::prop("any shape it takes, one cost for all passes, pairs of F + B", [] {
    const std::size_t stages = draw(1, 6);
    const Shape shape{.stages = stages, .microbatches = 2 * stages + draw(0, 15), .vpp = 2};
    const Duration pass = draw_time(1, 20);
    const Report report = report_of("dualpipe-v", shape, {pass, pass, pass, {}});
    RC_ASSERT(report.makespan - report.ideal == static_cast<std::int64_t>(stages - 1) * (3 + 2 - 3) * pass);
    for (const StageReport& stage : report.stages) RC_ASSERT(stage.peak_live_activations == 2 * stages + 1);
  });
}
