// Comparison: the order of contenders, which of them is recommended, and why; what orders ask of a runtime.

#include "ppsim/study/comparison.hpp"
#include "ppsim/study/recommendation.hpp"
#include "support/contenders.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>

namespace ppsim::test::comparison_test {

using namespace std::chrono_literals;

namespace {

Rows names(const Comparison& comparison) {
  Rows list;
  for (const Contender& each : comparison.contenders) list.push_back(each.name);
  return list;
}

Demands demands_by_name(std::string_view name, Shape shape) {
  const Outcome outcome = run(generate(name, shape), uniform_scenario(shape, Duration{1'000'000}, Duration{2'000'000}));
  return demands_of(outcome.graph.schedule(), outcome.report);
}

} // namespace

TEST_CASE(
    "Contenders stand by step time, and equals by memory, then by what they ask of the runtime, then as they came") {
  CHECK(names(ranked({contender("late", 3ms, 1), contender("early", 2ms, 9)})) == Rows{"early", "late"});
  CHECK(names(ranked({contender("large", 2ms, 2), contender("small", 2ms, 1, folded)})) == Rows{"small", "large"});
  CHECK(names(ranked({contender("split", 2ms, 1, folded), contender("chunks", 2ms, 1, two_chunks),
                      contender("plain", 2ms, 1)})) == Rows{"plain", "chunks", "split"});
  CHECK(names(ranked({contender("b", 2ms), contender("a", 2ms), contender("c", 2ms)})) == Rows{"b", "a", "c"});
}

TEST_CASE("If sizes are unknown, equals are sorted by the activations of a whole stage") {
  Contender chunks = contender("chunks", 2ms); // 6 halves
  chunks.shape.vpp = 2;
  chunks.report.stages[0].peak_live_activations = 6;
  Contender whole = contender("whole", 2ms);
  whole.report.stages[0].peak_live_activations = 4;
  CHECK(chunks.peak_stage_activations() == 3);
  CHECK(names(ranked({whole, chunks})) == Rows{"chunks", "whole"});
}

TEST_CASE("The fastest that fits and is synchronous is recommended, before the next of those") {
  const Comparison comparison = ranked({contender("1f1b", 9ms, 4), contender("pipedream", 5ms, 4, asynchronous),
                                        contender("zb-v", 6ms, 9, folded), contender("zb-h1", 8ms, 4)},
                                       8);
  CHECK(names(comparison) == Rows{"pipedream", "zb-v", "zb-h1", "1f1b"});
  REQUIRE(comparison.recommendation);
  CHECK(comparison.recommendation->best == 2);
  CHECK(comparison.recommendation->runner_up == std::optional<std::size_t>{3});
  CHECK(!ranked({contender("1f1b", 9ms, 9), contender("pipedream", 5ms, 4, asynchronous)}, 8).recommendation);
}

TEST_CASE("With another ranking figure, schedules without it come last and are not recommended") {
  const Comparison comparison =
      ranked({with_p95(contender("steady", 9ms, 1), 10ms), with_p95(contender("shaky", 8ms, 1, folded), 12ms),
              contender("unknown", 5ms, 1), with_p95(contender("large", 4ms, 9), 9ms)},
             8, StepFigure::p95);
  CHECK(names(comparison) == Rows{"large", "steady", "shaky", "unknown"});
  REQUIRE(comparison.recommendation);
  CHECK(comparison.recommendation->best == 1);
  CHECK(comparison.recommendation->runner_up == std::optional<std::size_t>{2});
  const Reasons reasons = reasons_of(comparison);
  CHECK(reasons.runner_up->time == 2ms);
  CHECK(reasons.too_large == std::optional<std::size_t>{0});
  CHECK(reasons.unranked == std::vector<std::size_t>{3});
  const Comparison close =
      ranked({with_p95(contender("zb-v", 8ms, 1, folded), 1000us), with_p95(contender("1f1b", 9ms, 1), 1020us)}, 0,
             StepFigure::p95);
  CHECK(close.recommendation->simpler == std::optional<std::size_t>{1});
}

TEST_CASE("The simpler one demands least within 2 % of the fastest") {
  const auto simpler = [](Duration time) {
    return ranked({contender("zb-v", 1000us, 1, folded), contender("interleaved", 1001us, 1, two_chunks),
                   contender("1f1b", time, 1)})
        .recommendation->simpler;
  };
  CHECK(simpler(1020us) == std::optional<std::size_t>{2});
  CHECK(simpler(1021us) == std::optional<std::size_t>{1});
  CHECK(ranked({contender("1f1b", 1ms), contender("zb-v", 1ms, 0, folded)}).recommendation->simpler == std::nullopt);
}

TEST_CASE("The reasons of a recommendation are its gain, costs, savings and demands") {
  Contender best = contender("zb-v", 100ms, 16, folded);
  best.report.transfers = 10;
  Contender next = contender("v-auto", 125ms, 10, folded);
  next.report.transfers = 20;
  const Reasons reasons = reasons_of(ranked({best, next, contender("1f1b", 200ms, 10)}));
  REQUIRE(reasons.runner_up);
  CHECK(reasons.runner_up->other == 1);
  CHECK(reasons.runner_up->time == 25ms);
  CHECK(reasons.runner_up->share == 0.2);
  CHECK(reasons.runner_up->costs == std::vector{Quantity::memory});
  CHECK(reasons.runner_up->savings == std::vector{Quantity::transfers});
  CHECK(reasons.runtime_features == std::vector{RuntimeFeature::split_backward, RuntimeFeature::fold});
  CHECK(!reasons.alone);
  CHECK(!reasons.simpler);
  CHECK(!reasons.too_large);
}

TEST_CASE("A simpler one is compared with the best, and is as good within the accuracy of costs") {
  const auto simpler = [](Duration time) {
    return reasons_of(ranked(
        {contender("zb-v", 1000us, 5, folded), contender("v-auto", 1001us, 5, folded), contender("1f1b", time, 6)}));
  };
  REQUIRE(simpler(1009us).simpler);
  CHECK(simpler(1009us).simpler->other == 2);
  CHECK(simpler(1009us).simpler->time == 9us);
  CHECK(simpler(1009us).simpler->costs == std::vector{Quantity::memory});
  CHECK(simpler(1009us).simpler_is_as_good);
  CHECK(!simpler(1010us).simpler_is_as_good);
  CHECK(!reasons_of(ranked({contender("zb-v", 1ms, 5, folded), contender("1f1b", 1ms, 5)})).simpler_is_as_good);
}

TEST_CASE("Schedules that cannot be recommended are found: too large, asynchronous, or nearest if nothing fits") {
  const Reasons some = reasons_of(
      ranked({contender("1f1b", 5ms, 2), contender("zb-h2", 4ms, 9), contender("pipedream", 3ms, 2, asynchronous)}, 8));
  CHECK(some.asynchronous == std::optional<std::size_t>{0});
  CHECK(some.too_large == std::optional<std::size_t>{1});
  CHECK(some.alone == std::optional{Alone::others_do_not_fit});
  CHECK(!some.least);
  const Reasons none = reasons_of(ranked({contender("1f1b", 5ms, 10), contender("gpipe", 6ms, 9)}, 8));
  CHECK(none.least == std::optional<std::size_t>{1});
  CHECK(!none.alone);
}

TEST_CASE(
    "Demands are what an order asks of a runtime: chunks, copies of the parameters, split backwards, pairs, folds") {
  CHECK(demands_by_name("1f1b", {4, 8, 1}) == Demands{});
  CHECK(demands_by_name("interleaved", {4, 8, 2}) == Demands{.chunks_per_stage = 2});
  CHECK(demands_by_name("zb-h1", {4, 8, 1}) == Demands{.splits_backward = true});
  CHECK(demands_by_name("zb-v", {4, 8, 2}) == Demands{.chunks_per_stage = 2, .splits_backward = true, .folds = true});
  CHECK(demands_by_name("hanayo", {4, 8, 2}) == Demands{.chunks_per_stage = 2, .folds = true});
  CHECK(demands_by_name("chimera", {4, 8, 1}) == Demands{.chunks_per_stage = 2, .parameter_copies = 2});
  CHECK(demands_by_name("dualpipe", {4, 8, 1}) ==
        Demands{.chunks_per_stage = 2, .parameter_copies = 2, .splits_backward = true, .overlaps_pairs = true});
  CHECK(demands_by_name("pipedream", {4, 8, 1}) == Demands{.parameter_copies = 4, .asynchronous = true}); // stage 0: p
  CHECK(demands_by_name("hanayo", {1, 4, 2}).folds == false); // one stage holds all
}

} // namespace ppsim::test::comparison_test
