// Orders with overlapped pairs, against all orders of tiny pipelines as the engine runs them.

#include "ppsim/certificate/certificate.hpp"
#include "ppsim/schedule/detail/sequences.hpp"
#include "ppsim/study/evaluate.hpp"
#include "ppsim/study/proven_bound.hpp"
#include "ppsim/study/synthesize.hpp"
#include "support/stage_orders.hpp"

#include <catch2/catch.hpp>

#include <array>

namespace ppsim::test::synthesize_pairs_test {
namespace {

constexpr std::size_t tries = 24;
constexpr std::size_t most_orders = 10'000;

PairRule draw_rule(DrawnTimes& draw) {
  constexpr std::array kinds{PairRule::Kind::max, PairRule::Kind::factor, PairRule::Kind::hide};
  return {.kind = kinds[draw.from(0, 2)], .factor_ppm = 100'000 * static_cast<std::int64_t>(draw.from(3, 9))};
}

SynthesizedOrder synthesized(const RunSpec& spec, const char* placement, bool splits = true) {
  const SynthesisRequest request{
      .placements = {find_chunk_placement(placement).value()}, .splits_backward = splits, .effort = 0};
  return synthesize(spec, request).orders.front();
}

/// Four stages, F = 10, I = 11, W = 6 ms, transfers of 1 ms.
RunSpec usual(PairRule::Kind kind) {
  RunSpec spec;
  spec.stages = 4;
  spec.microbatches = 8;
  spec.forward = {Duration{10'000'000}};
  spec.input_grad = {Duration{11'000'000}};
  spec.weight_grad = {Duration{6'000'000}};
  spec.comm = {Duration{1'000'000}};
  spec.pair = PairRule{.kind = kind};
  return spec;
}

} // namespace

TEST_CASE("No order with pairs that the engine runs beats the bound, and the best one is found") {
  DrawnTimes draw{20261127};
  std::size_t tried = 0, best = 0, with_pairs = 0;
  for (std::size_t i = 0; i < tries; ++i) {
    const char* const placement = std::array{"linear", "v", "loop:2"}[i % 3];
    const bool splits = i % 3 == 0 && draw.from(0, 1) == 0;
    RunSpec spec;
    spec.stages = 2;
    spec.microbatches = i % 3 > 0 ? 2 : splits ? 3 : draw.from(3, 5);
    spec.forward = {draw.ms(1, 6)};
    spec.input_grad = {draw.ms(1, 6)};
    spec.weight_grad = {draw.ms(1, 4)};
    spec.comm = {draw.ms(0, 3)};
    spec.pair = draw_rule(draw);
    spec.forward_collective = {spec.forward->front() / 2};
    spec.backward_collective = {spec.input_grad->front() / 2};
    if (draw.from(0, 1) == 0) spec.activation_limit = draw.from(2, 4);
    const SynthesizedOrder found = synthesized(spec, placement, splits);
    const std::size_t vpp = found.placement.vpp;
    const Shape shape{.stages = 2, .microbatches = *spec.microbatches, .vpp = vpp};
    const auto least = least_of_all(found, shape, spec.activation_limit, sequence_passes(splits), most_orders, true);
    if (!least) continue;
    ++tried;
    INFO("input " << i << ", " << placement << ", " << *spec.microbatches << " microbatches, F "
                  << spec.forward->front().count() << ", I " << spec.input_grad->front().count() << ", W "
                  << spec.weight_grad->front().count() << ", pair " << to_string(*spec.pair) << ", split " << splits);
    CHECK(found.bound <= *least);
    const Evaluation run = evaluate(found.spec);
    CHECK(run.report.makespan == found.length);
    for (const StageReport& stage : run.report.stages)
      CHECK(stage.peak_live_activations <= spec.activation_limit.value_or(99));
    if (found.pairs) CHECK(check_certificate(certificate_of(found)).bound.proven);
    best += found.length <= *least ? 1 : 0; // shorter: a pair with a whole backward among split ones
    with_pairs += run.graph.schedule().taken_apart() == run.graph.schedule() ? 0 : 1;
  }
  INFO(tried << " tried, " << best << " best, " << with_pairs << " with pairs");
  CHECK(tried * 3 >= tries * 2);
  CHECK(best * 100 >= tried * 95);
  CHECK(with_pairs * 3 > tried);
}

TEST_CASE("A synthesized order with pairs is no longer than dualpipe-v, and both are above the bound") {
  for (const PairRule::Kind kind : {PairRule::Kind::max, PairRule::Kind::hide}) {
    RunSpec spec = usual(kind);
    const SynthesizedOrder found = synthesized(spec, "v");
    REQUIRE(found.best_named);
    CHECK(found.length <= found.best_named->length);
    spec.schedule = "dualpipe-v";
    const Evaluation dualpipe = evaluate(spec);
    CHECK(found.best_named->length <= dualpipe.report.makespan);
    const auto bound = find_bound(dualpipe.graph, dualpipe.report);
    REQUIRE(bound);
    CHECK(bound->makespan <= dualpipe.report.makespan);
    CHECK(bound->makespan >= found.bound); // less memory
  }
}

TEST_CASE("A bound covers pairs and whole backwards, also of an order without pairs, or where only they save time") {
  RunSpec spec = usual(PairRule::Kind::max);
  spec.schedule = "zb-h2";
  const Evaluation without_pairs = evaluate(spec);
  CHECK(find_bound(without_pairs.graph, without_pairs.report).value().makespan <=
        synthesized(usual(PairRule::Kind::max), "linear").length);
  for (const PairRule::Kind kind : {PairRule::Kind::sum, PairRule::Kind::serial}) {
    spec = usual(kind);
    spec.overhead = Duration{1'000'000}; // of each task: I and W take longer than B
    spec.schedule = "dualpipe-v";
    const Evaluation run = evaluate(spec);
    CHECK(find_bound(run.graph, run.report).value().makespan <= run.report.makespan);
  }
}

TEST_CASE("Costs by microbatch are refused with pairs, also where the first microbatch saves nothing") {
  RunSpec spec = usual(PairRule::Kind::max);
  spec.stages = 2;
  spec.microbatches = 2;
  spec.forward = {Duration{0}, Duration{4'000'000}, Duration{0}, Duration{4'000'000}};
  CHECK_THROWS_AS(synthesized(spec, "linear"), Error);
}

TEST_CASE("Pairs that save nothing are not sought") {
  for (const PairRule::Kind kind : {PairRule::Kind::sum, PairRule::Kind::serial}) {
    const SynthesizedOrder found = synthesized(usual(kind), "linear");
    CHECK_FALSE(found.pairs);
    CHECK(certificate_of(found).order);
  }
  const SynthesizedOrder found = synthesized(usual(PairRule::Kind::max), "linear");
  CHECK(found.pairs);
  CHECK_FALSE(certificate_of(found).order);
}

} // namespace ppsim::test::synthesize_pairs_test
