// The guarantees of the searching schedules compared with other orders of their placement.

#include "ppsim/base/error.hpp"
#include "ppsim/engine/steady.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/build_run.hpp"
#include "ppsim/study/proven_bound.hpp"
#include "property/drawn_inputs.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <rapidcheck.h>

namespace ppsim::test::searched_property {

namespace {

std::vector<std::size_t> live_activations(const Outcome& outcome) {
  std::vector<std::size_t> most;
  most.reserve(outcome.report.stages.size());
  for (const StageReport& stage : outcome.report.stages) most.push_back(stage.peak_live_activations);
  return most;
}

/// None where it deadlocks.
std::optional<Outcome> run_of(Schedule schedule, const Scenario& scenario) {
  try {
    return test::run(std::move(schedule), scenario);
  } catch (const Error& error) {
    if (error.code() != ExitCode::no) throw;
    return std::nullopt;
  }
}

/// The step time in the long run, which is the objective of the search.
Duration step_of(const Outcome& outcome) {
  const bool by_span = outcome.graph.scenario().update.step == OptimizerStep::per_stage;
  return by_span ? span_of(outcome) : outcome.report.makespan;
}

struct EqualChunks {
  std::string_view name;
  std::size_t stages, microbatches;
  std::int64_t forward, input_grad, weight_grad, transfer; ///< microseconds; the forward is that of a stage
  std::vector<std::size_t> limits;                         ///< activations
};

Duration makespan_within(const EqualChunks& run, std::size_t activations) {
  const Generator& generator = find_generator(run.name);
  const Shape shape{.stages = run.stages, .microbatches = run.microbatches, .vpp = generator.vpp.standard};
  Scenario scenario = uniform_scenario(shape, Duration{1000 * run.forward}, Duration{2});
  std::ranges::fill(scenario.costs.input_grad, Duration{1000 * run.input_grad});
  std::ranges::fill(scenario.costs.weight_grad, Duration{1000 * run.weight_grad});
  std::ranges::fill(scenario.network.latency, Duration{1000 * run.transfer});
  const ScheduleRequest request{.shape = shape, .activation_limit = activations};
  return test::run(make_schedule(generator, request, scenario), scenario).report.makespan;
}

/// Stages differ in what they hold at first; on each, all that comes is of one size.
void draw_sizes(Memory& memory, std::size_t chunks) {
  const Bytes one{number(draw(1, 4))};
  memory.activation.assign(chunks, one);
  memory.activation_for_weight.assign(chunks, one_in(2) ? Bytes{} : one);
  for (Bytes& bytes : memory.parameters) bytes = Bytes{number(draw(0, 6))};
}

/// Forwards keep little, which is restored for I, and of which W needs all or a part.
void draw_recomputed(Scenario& scenario, std::size_t chunks) {
  scenario.recompute.kind = RecomputeKind::full;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    const std::size_t all = draw(2, 20);
    scenario.memory.activation[chunk] = Bytes{number(all)};
    scenario.memory.activation_for_weight[chunk] = Bytes{number(one_in(2) ? all : draw(0, all))};
    scenario.recompute.checkpoint.emplace_back(number(draw(0, 2)));
    scenario.recompute.time.emplace_back(number(draw(0, 10)));
  }
  scenario.memory.limit = Bytes{number(draw(20, 60))};
}

} // namespace

TEST_CASE("No searched schedule takes twice the proven bound for its memory, and few come near") {
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
    const Outcome outcome = test::run(make_schedule(generator, request, scenario), scenario);
    const ProvenBound bound = find_bound(outcome.graph, outcome.report).value();
    CHECK(outcome.report.makespan <= 2 * bound.makespan);
    far_above += 3 * outcome.report.makespan > 4 * bound.makespan ? 1 : 0;
  }
  CHECK(far_above == 0); // 1 without synthesis
}

TEST_CASE("A bound counts links, and no schedule that holds no more is below it") {
  constexpr std::array placements{std::array<std::string_view, 4>{"gpipe", "1f1b", "eager-1f1b", "zb-h1"},
                                  std::array<std::string_view, 4>{"hanayo", "zb-v", "v-half", "v-min"}};
  rc::prop("one chunk per stage, or a V", [&placements] {
    const auto& names = placements[draw(0, 1)];
    const auto of_name = [](std::string_view name) -> const Generator& { return find_generator(name); };
    const Shape shape{.stages = draw(2, 4), .microbatches = draw(1, 10), .vpp = of_name(names[0]).vpp.standard};
    Scenario scenario = draw_unequal(shape);
    for (Duration& latency : scenario.network.latency) latency = Duration{number(one_in(3) ? 0 : draw(0, 60))};
    if (one_in(4)) // all that takes no time happens at once
      for (auto* costs : {&scenario.costs.forward, &scenario.costs.input_grad, &scenario.costs.weight_grad})
        std::ranges::fill(*costs, Duration{0});
    scenario.network.stages_per_node = draw(0, 2);
    const auto outcome_of = [&](std::string_view name, TransferModel transfers) {
      scenario.network.model = transfers;
      return test::run(make_schedule(of_name(name), {.shape = shape}, scenario), scenario);
    };
    const bool thorough = one_in(8);
    const auto bound_of = [thorough](const Outcome& outcome) {
      return find_bound(outcome.graph, outcome.report, thorough)->makespan;
    };
    const std::string_view name = names[draw(0, names.size() - 1)];
    const Outcome outcome = outcome_of(name, TransferModel::link);
    const Duration bound = bound_of(outcome);
    const bool is_higher = bound > bound_of(outcome_of(name, TransferModel::latency));
    RC_CLASSIFY(is_higher, "above the bound without links");
    for (const std::string_view other : names) {
      const Outcome its = outcome_of(other, TransferModel::link);
      if (splits_backward(its.graph.schedule()) != splits_backward(outcome.graph.schedule())) continue;
      if (std::ranges::equal(live_activations(its), live_activations(outcome), std::less_equal{}))
        RC_ASSERT(its.report.makespan >= bound);
    }
  });
}

TEST_CASE("No searched schedule takes longer than a named one of its placement that holds no more") {
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
    for (Duration& latency : scenario.network.latency) latency = Duration{number(one_in(3) ? 0 : draw(0, 60))};
    scenario.network.model = std::array{TransferModel::latency, TransferModel::link, TransferModel::streams,
                                        TransferModel::blocking}[draw(0, 3)];
    ScheduleRequest request{.shape = shape};
    if (generator.takes("activation-limit")) request.activation_limit = draw(shape.vpp, 2 * shape.chunks());
    const bool by_latency = scenario.network.model == TransferModel::latency;
    const auto step = [&](const Outcome& run) { return by_latency ? step_of(run) : step_time(run.graph); };
    const std::optional<Outcome> outcome = run_of(make_for_transfers(generator, request, scenario), scenario);
    Scenario at_once = scenario;
    at_once.network.model = TransferModel::latency; // under which nothing deadlocks
    std::vector<std::size_t> most = live_activations(test::run(make_schedule(generator, request, at_once), at_once));
    if (request.activation_limit) std::ranges::fill(most, *request.activation_limit);
    for (const std::string_view other : others) {
      const auto its = run_of(make_schedule(find_generator(other), {.shape = shape}, scenario), scenario);
      const bool fits = its && std::ranges::equal(live_activations(*its), most, std::less_equal{});
      RC_CLASSIFY(fits, std::string{other});
      if (fits) RC_ASSERT(outcome && step(*outcome) <= step(*its));
    }
  });
}

TEST_CASE("With recomputation no searched schedule takes longer than a named one with split backwards that fits") {
  using Names = std::vector<std::string_view>;
  const std::array<std::pair<std::string_view, Names>, 2> searched{
      {{"zb-auto", {"zb-h1", "zb-h2"}}, {"v-auto", {"zb-v", "v-half", "v-min"}}}};
  rc::prop("in bytes, any costs", [&searched] {
    const auto& [name, others] = searched[draw(0, 1)];
    const Generator& generator = find_generator(name);
    const Shape shape{.stages = draw(2, 5), .microbatches = draw(1, 12), .vpp = generator.vpp.standard};
    Scenario scenario = draw_unequal(shape);
    draw_recomputed(scenario, shape.chunks());
    const auto fits = [&scenario](const Outcome& outcome) {
      return outcome.report.peak_bytes() <= *scenario.memory.limit;
    };
    std::optional<Outcome> outcome;
    try {
      outcome = test::run(make_schedule(generator, {.shape = shape}, scenario), scenario);
    } catch (const Error& error) {
      RC_ASSERT(error.code() == ExitCode::no);
      RC_DISCARD("too little memory");
    }
    RC_ASSERT(fits(*outcome));
    for (const std::string_view other : others) {
      const Outcome its = test::run(make_schedule(find_generator(other), {.shape = shape}, scenario), scenario);
      RC_CLASSIFY(fits(its), std::string{other});
      if (fits(its)) RC_ASSERT(step_of(*outcome) <= step_of(its));
    }
  });
}

TEST_CASE("A searched schedule with more memory takes no longer") {
  // a search of the larger room alone finds a longer order
  const std::array<EqualChunks, 3> cases{{{"v-auto", 6, 9, 8, 6, 2, 18, {13, 14}},
                                          {"v-auto", 6, 15, 20, 3, 2, 0, {10, 11}},
                                          {"zb-auto", 8, 24, 10, 12, 6, 5, {10, 11, 12, 13, 14}}}};
  for (const EqualChunks& each : cases) {
    Duration shortest = Duration::max();
    for (const std::size_t limit : each.limits) {
      INFO(each.name << ", " << each.stages << " stages, " << each.microbatches << " microbatches, room for " << limit);
      const Duration makespan = makespan_within(each, limit);
      CHECK(makespan <= shortest);
      shortest = std::min(shortest, makespan);
    }
  }
}

TEST_CASE("A searched schedule in a larger room takes no longer, in activations or in bytes") {
  rc::prop("zb-auto, and sometimes v-auto", [] {
    const Generator& generator = find_generator(one_in(16) ? "v-auto" : "zb-auto");
    const Shape shape{.stages = draw(2, 5), .microbatches = draw(1, 12), .vpp = generator.vpp.standard};
    Scenario scenario = draw_unequal(shape);
    ScheduleRequest request{.shape = shape};
    const bool in_bytes = one_in(2);
    if (in_bytes) draw_sizes(scenario.memory, shape.chunks());
    const std::size_t low = in_bytes ? draw(24, 60) : draw(shape.vpp, 2 * shape.chunks());
    const auto step_within = [&](std::size_t limit) {
      if (in_bytes)
        scenario.memory.limit = Bytes{number(limit)};
      else
        request.activation_limit = limit;
      return step_of(test::run(make_schedule(generator, request, scenario), scenario));
    };
    RC_CLASSIFY(in_bytes, "bytes");
    const Duration step = step_within(low);
    RC_ASSERT(step_within(low + draw(1, 5)) <= step);
  });
}

} // namespace ppsim::test::searched_property
