// The guarantee of each schedule, for every shape and all costs that it covers.

#include "ppsim/base/error.hpp"
#include "ppsim/study/run_report.hpp"
#include "property/drawn_inputs.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rapidcheck.h>

namespace ppsim::test::generators_property {

namespace {

/// The order, or none if the schedule refuses the shape.
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

RunReport report_of(std::string_view name, const Shape& shape, const ChunkCosts& costs) {
  Scenario scenario = uniform_scenario(shape, Duration{0}, Duration{0}, costs.comm);
  scenario.costs.forward.assign(shape.chunks(), costs.forward);
  scenario.costs.input_grad.assign(shape.chunks(), costs.input_grad);
  scenario.costs.weight_grad.assign(shape.chunks(), costs.weight_grad);
  return run(generate(name, shape), std::move(scenario)).report;
}

ChunkCosts draw_costs(std::size_t longest_comm) {
  return {draw_time(0, 20), draw_time(1, 20), draw_time(0, 20), draw_time(0, longest_comm)};
}

/// Uniform costs of a chunk, a transfer time and a shape.
struct Uniform {
  Shape shape;
  Duration forward{}, backward{}, comm{};
  [[nodiscard]] Scenario scenario() const {
    const auto v = static_cast<std::int64_t>(shape.vpp);
    return uniform_scenario(shape, v * forward, v * backward, comm);
  }
};

Uniform draw_uniform(std::size_t highest_vpp) {
  return {{.stages = draw(1, 8), .microbatches = draw(1, 20), .vpp = draw(1, highest_vpp)},
          draw_time(20),
          draw_time(40) + Duration{1},
          draw_time(9)};
}

RunReport run_uniform(std::string_view name, const Uniform& inputs, std::optional<std::size_t> group = {},
                      std::optional<bool> descending = {}) {
  return run(make_schedule(find_generator(name), {inputs.shape, group, descending}), inputs.scenario()).report;
}

/// The rule of SPEC section 5 for microbatch groups.
bool group_is_allowed(const Shape& shape, std::size_t group) {
  if (group < std::min(shape.stages, shape.microbatches) || group > shape.microbatches) return false;
  const std::size_t rest = shape.microbatches % group;
  return rest == 0 || rest >= shape.stages || shape.vpp == 1;
}

} // namespace

TEST_CASE("No order of a schedule deadlocks, whatever the shape") {
  for (const Generator* generator : generators())
    for (std::size_t stages = 1; stages <= 10; ++stages)
      for (std::size_t microbatches = 1; microbatches <= 40;
           microbatches += generator->searches() && microbatches > 2 ? stages + 1 : 1) {
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
    const RunReport report = report_of("looped-bfs", shape, costs);
    RC_ASSERT(report.makespan - report.ideal == waits * (costs.forward + costs.input_grad + costs.weight_grad));
    for (const StageReport& stage : report.stages) RC_ASSERT(stage.peak_live_activations == v * m);
  });
}

TEST_CASE("Eager 1F1B is never slower than 1F1B if stages are equal, and holds at most 2(p-1-s)+1 activations") {
  rc::prop("any shape, any transfer time", [] {
    const Shape shape{.stages = draw(1, 8), .microbatches = draw(1, 20), .vpp = 1};
    const ChunkCosts costs = draw_costs(60);
    const RunReport eager = report_of("eager-1f1b", shape, costs);
    const RunReport plain = report_of("1f1b", shape, costs);
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
    const RunReport report = report_of("zb-interleaved", shape, costs);
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
    const RunReport report = report_of("zb-v", shape, {pass, pass, pass, {}});
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
    const RunReport report = report_of("dualpipe", shape, {pass, pass, pass, {}});
    RC_ASSERT(report.makespan - report.ideal == static_cast<std::int64_t>(half - 1) * (3 + 2 - 3) * pass);
    for (const StageReport& stage : report.stages) RC_ASSERT(stage.peak_live_activations == shape.stages + 1);
  });
}

TEST_CASE("DualPipeV: bubble (p-1)(F&B + B - 3W) of a chunk at F = I = W, 2p+1 chunk activations on every stage") {
  rc::prop("any shape it takes, one cost for all passes, pairs of F + B", [] {
    const std::size_t stages = draw(1, 6);
    const Shape shape{.stages = stages, .microbatches = 2 * stages + draw(0, 15), .vpp = 2};
    const Duration pass = draw_time(1, 20);
    const RunReport report = report_of("dualpipe-v", shape, {pass, pass, pass, {}});
    RC_ASSERT(report.makespan - report.ideal == static_cast<std::int64_t>(stages - 1) * (3 + 2 - 3) * pass);
    for (const StageReport& stage : report.stages) RC_ASSERT(stage.peak_live_activations == 2 * stages + 1);
  });
}

TEST_CASE("Sequential keeps its promise: one stage busy at any time") {
  rc::prop("any shape", [] {
    const Uniform inputs = draw_uniform(4);
    const Outcome outcome =
        run(make_schedule(find_generator("sequential"), {.shape = inputs.shape}), inputs.scenario());
    std::vector<Span> spans = outcome.timeline.tasks;
    std::ranges::sort(spans, {}, [](const Span& span) { return std::pair{span.start, span.end}; });
    for (std::size_t i = 1; i < spans.size(); ++i) RC_ASSERT(spans[i].start >= spans[i - 1].end);
    const Duration crossings = inputs.shape.stages == 1 ? zero : 2 * number(inputs.shape.chunks() - 1) * inputs.comm;
    const Duration one = number(inputs.shape.chunks()) * (inputs.forward + inputs.backward) + crossings;
    RC_ASSERT(outcome.report.makespan == number(inputs.shape.microbatches) * one);
    RC_ASSERT(outcome.report.stages[0].peak_live_activations == inputs.shape.vpp);
  });
}

TEST_CASE("GPipe keeps its promise: (m+p-1)(F+B) + 2(p-1)c, and m live activations") {
  rc::prop("any shape, either order of backwards", [] {
    const Uniform inputs = draw_uniform(1);
    const RunReport report = run_uniform("gpipe", inputs, {}, one_in(2));
    const auto [p, m, v, shared] = inputs.shape;
    RC_ASSERT(report.makespan ==
              number(m + p - 1) * (inputs.forward + inputs.backward) + 2 * number(p - 1) * inputs.comm);
    for (const StageReport& stage : report.stages) RC_ASSERT(stage.peak_live_activations == m);
  });
}

TEST_CASE("1F1B keeps its promise: a bubble of (p-1)(F+B), and min(m, p-s) live activations on stage s") {
  rc::prop("any shape", [] {
    Uniform inputs = draw_uniform(1);
    const auto [p, m, v, shared] = inputs.shape;
    for (const Duration comm : {zero, inputs.comm}) {
      inputs.comm = comm;
      const RunReport report = run_uniform("1f1b", inputs);
      if (comm == zero) RC_ASSERT(report.makespan - report.ideal == number(p - 1) * (inputs.forward + inputs.backward));
      for (std::size_t stage = 0; stage < p; ++stage)
        RC_ASSERT(report.stages[stage].peak_live_activations == std::min(m, p - stage));
    }
  });
}

TEST_CASE(
    "Interleaved keeps its promise: a bubble of (p-1)(F+B)/v, and at most 2(p-1) + (v-1)g + 1 live chunks on stage 0") {
  rc::prop("any shape and group that is allowed", [] {
    Uniform inputs = draw_uniform(4);
    inputs.comm = zero;
    const auto [p, m, v, shared] = inputs.shape;
    const std::size_t group = draw(std::min(p, m), m);
    RC_PRE(group_is_allowed(inputs.shape, group));
    const RunReport report = run_uniform("interleaved", inputs, group);
    if (m >= p)
      RC_ASSERT(report.makespan - report.ideal == number(p - 1) * (inputs.forward + inputs.backward)); // of a chunk
    const std::size_t bound = v == 1 ? p : 2 * (p - 1) + (v - 1) * group + 1;
    RC_ASSERT(report.stages[0].peak_live_activations == std::min(bound, m * v));
  });
}

TEST_CASE("Interleaved refuses every group that its rule does not allow, and takes every other") {
  rc::prop("any shape, any group", [] {
    const Shape shape{.stages = draw(1, 6), .microbatches = draw(1, 14), .vpp = draw(1, 3)};
    const std::size_t group = draw(1, 15);
    try {
      const Schedule schedule = make_schedule(find_generator("interleaved"), {shape, group, {}});
      RC_ASSERT(group_is_allowed(shape, group));
      RC_ASSERT(runs(schedule));
    } catch (const Error& error) {
      RC_ASSERT(!group_is_allowed(shape, group));
      RC_ASSERT(error.code() == ExitCode::bad_input);
      RC_ASSERT(!error.problems().front().hint.empty());
    }
  });
}

TEST_CASE("Interleaved without a group takes multiples of p and m < p, and names the nearest two to any other") {
  rc::prop("any shape", [] {
    const Shape shape{.stages = draw(1, 6), .microbatches = draw(1, 20), .vpp = draw(2, 3)};
    const bool allowed = shape.microbatches % shape.stages == 0 || shape.microbatches < shape.stages;
    try {
      RC_ASSERT(runs(make_schedule(find_generator("interleaved"), {.shape = shape})));
      RC_ASSERT(allowed);
    } catch (const Error& error) {
      RC_ASSERT(!allowed);
      const std::size_t below = shape.microbatches - shape.microbatches % shape.stages;
      const std::string nearest =
          std::to_string(below) + " and " + std::to_string(below + shape.stages) + " are the nearest";
      RC_ASSERT(error.problems().front().hint.find(nearest) != std::string::npos);
      for (const std::size_t microbatches : {below, below + shape.stages})
        RC_ASSERT(
            runs(make_schedule(find_generator("interleaved"), {.shape = {shape.stages, microbatches, shape.vpp}})));
    }
  });
}

TEST_CASE("A closed form, if given, equals the simulation") {
  for (const Generator* generator : generators())
    rc::prop(std::string{generator->name} + ", any shape", [generator] {
      Uniform inputs = draw_uniform(3);
      if (one_in(2)) inputs.comm = one_in(2) ? zero : draw_time(60);
      if (one_in(3)) inputs.backward = 2 * inputs.forward; // F = I = W
      const ScheduleRequest request = draw_request(*generator);
      inputs.shape = request.shape;
      const Scenario scenario = inputs.scenario();
      const RunReport report = run(make_schedule(*generator, request), scenario).report;
      const auto form = closed_form(*generator, request, scenario);
      RC_CLASSIFY(form.has_value(), "has a closed form");
      if (form) RC_ASSERT(std::abs(form->value - find_metric(form->metric).ratio(report)) < 1e-9);
    });
}

} // namespace ppsim::test::generators_property
