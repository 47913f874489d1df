// Syntheses whose microbatches differ, against all orders, in any order of microbatches.

#include "ppsim/study/evaluate.hpp"
#include "ppsim/study/synthesize.hpp"
#include "property/all_orders.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

namespace ppsim::test::by_microbatch_property {
namespace {

constexpr std::size_t usual_runs = 150;
constexpr std::size_t most_states = 400'000;

struct Draw {
  explicit Draw(std::uint32_t seed) : random{seed} {}
  std::size_t up_to(std::size_t most) { return random() % (most + 1); }
  std::vector<Duration> times(std::size_t count, std::size_t most) {
    std::vector<Duration> drawn(count);
    for (Duration& each : drawn) each = Duration{static_cast<std::int64_t>(up_to(most))};
    return drawn;
  }
  std::mt19937 random;
};

/// Two stages; 3 microbatches with whole backwards, or 2 with split ones.
RunSpec draw_run(Draw& draw, bool splits) {
  RunSpec spec;
  spec.stages = 2;
  spec.microbatches = splits ? 2 : 3;
  const std::size_t tasks = *spec.stages * *spec.microbatches;
  spec.forward = draw.times(tasks, 9);
  spec.input_grad = draw.times(tasks, 9);
  spec.weight_grad = draw.times(tasks, splits ? 9 : 0);
  spec.comm = draw.times(1, 4);
  spec.optimizer = draw.times(1, 3);
  spec.activation_limit = 1 + draw.up_to(2);
  return spec;
}

/// The instance with a sequence for each task, so that microbatches may run in any order.
synthesis::Instance one_by_one(const synthesis::Instance& instance, const RunSpec& spec, bool splits) {
  const std::uint32_t m = instance.microbatches;
  const std::size_t passes = splits ? 3 : 2;
  synthesis::Instance each{.microbatches = 1, .capacity = instance.capacity, .sequences = {}, .arcs = {}};
  for (std::size_t i = 0; i < instance.sequences.size(); ++i)
    for (std::uint32_t j = 0; j < m; ++j) {
      const std::size_t at = i / passes * m + j;
      const std::array costs{(*spec.forward)[at], (*spec.input_grad)[at], (*spec.weight_grad)[at]};
      each.sequences.push_back(instance.sequences[i]);
      each.sequences.back().duration = costs.at(i % passes).count();
    }
  for (const synthesis::Arc& arc : instance.arcs)
    for (std::uint32_t j = 0; j < m; ++j) each.arcs.push_back({arc.from * m + j, arc.to * m + j, arc.lag});
  return each;
}

/// That of the order among all orders in which no stage holds more.
void require_bound_holds(const SynthesizedOrder& order, const RunSpec& spec, bool splits) {
  RunSpec bounded = order.spec;
  bounded.bound = true;
  const Evaluation run = evaluate(bounded);
  synthesis::Instance instance = one_by_one(order.instance, spec, splits);
  for (std::size_t stage = 0; stage < instance.stages(); ++stage)
    instance.capacity[stage] = static_cast<std::int64_t>(run.report.stages[stage].peak_live_activations);
  const AllOrders all = try_all_orders(instance, most_states);
  REQUIRE(run.report.bound);
  if (all.complete) REQUIRE(run.report.bound->makespan.count() <= all.least.value());
}

} // namespace

TEST_CASE("If microbatches differ, no order of tasks and microbatches is shorter than the bound of a synthesis") {
  Draw draw{20261126};
  std::size_t tried = 0, exact = 0, optimal = 0;
  for (std::size_t i = 0; i < usual_runs; ++i) {
    const bool splits = i % 2 == 0;
    const RunSpec spec = draw_run(draw, splits);
    const Synthesis synthesis = synthesize(spec, {.placements = {find_chunk_placement("linear").value()},
                                                  .splits_backward = splits,
                                                  .effort = i % 30 == 0 ? 1U : 0U});
    const SynthesizedOrder& order = synthesis.orders.front();
    REQUIRE(order.by_microbatch);
    const AllOrders all = try_all_orders(one_by_one(order.instance, spec, splits), most_states);
    if (!all.complete) continue;
    INFO(fmt::format("run {}: {} to {}, the best takes {}", i, order.bound.count(), order.length.count(),
                     all.least.value_or(0)));
    ++tried;
    REQUIRE(order.bound.count() <= *all.least);
    REQUIRE(order.length.count() >= *all.least);
    REQUIRE(evaluate(order.spec).report.makespan == order.length);
    require_bound_holds(order, spec, splits);
    exact += order.bound.count() == *all.least ? 1 : 0;
    optimal += order.length.count() == *all.least ? 1 : 0;
  }
  INFO(fmt::format("{} runs tried: the bound is exact for {}, the order the best for {}", tried, exact, optimal));
  CHECK(tried * 10 > usual_runs * 9);
  CHECK(exact * 4 > tried);
  CHECK(optimal * 4 > tried);
}

TEST_CASE("If microbatches differ, more memory makes no synthesis longer") {
  Draw draw{20261127};
  for (std::size_t i = 0; i < 20; ++i) {
    RunSpec spec = draw_run(draw, true);
    spec.stages = 3;
    spec.microbatches = 5;
    for (auto* const costs : {&spec.forward, &spec.input_grad, &spec.weight_grad}) *costs = draw.times(15, 30);
    spec.activation_limit.reset();
    const Axis axis{.option = "activation-limit", .unit = Axis::Unit::count, .from = 1, .to = 5};
    const std::vector<FrontPoint> front =
        synthesize_along(spec, {.placements = {find_chunk_placement("linear").value()}}, axis, 5);
    REQUIRE(front.size() == 5);
    for (std::size_t at = 0; at < front.size(); ++at) {
      const SynthesizedOrder& order = front[at].synthesis.orders.front();
      INFO(fmt::format("run {}, {} activations", i, front[at].value));
      CHECK(order.bound <= order.length);
      if (order.best_named) CHECK(order.length <= order.best_named->length);
      if (at > 0) CHECK(order.length <= front[at - 1].synthesis.orders.front().length);
    }
  }
}

} // namespace ppsim::test::by_microbatch_property
