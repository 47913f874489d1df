// Links as stages of a synthesis, against all orders of tiny pipelines as the engine runs them.

#include "ppsim/certificate/certificate.hpp"
#include "ppsim/schedule/detail/sequences.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/evaluate.hpp"
#include "ppsim/study/synthesize.hpp"
#include "support/stage_orders.hpp"

#include <catch2/catch.hpp>

#include <array>

namespace ppsim::test::synthesize_links_test {
namespace {

constexpr std::size_t tries = 90;
constexpr std::size_t most_orders = 2000;

} // namespace

TEST_CASE("No order that the engine runs with one transfer at a time per link beats the bound with links as stages") {
  DrawnTimes draw{20261126};
  std::size_t tried = 0, above_latency = 0, exact = 0;
  for (std::size_t i = 0; i < tries; ++i) {
    const ChunkPlacement placement = find_chunk_placement(std::array{"linear", "v", "loop:2"}[i % 3]).value();
    const bool splits = placement.vpp == 1 && draw.from(0, 1) == 0;
    RunSpec spec;
    spec.stages = placement.vpp > 1 ? 2 : draw.from(2, 3);
    spec.microbatches = placement.vpp > 1 || splits ? 2 : draw.from(2, 3);
    spec.forward = {draw.ms(1, 4)};
    spec.input_grad = {draw.ms(1, 4)};
    spec.weight_grad = {draw.ms(1, 4)};
    spec.comm.emplace(); // also transfers that take no time, but wait
    for (std::size_t boundary = 0; boundary + 1 < *spec.stages * placement.vpp; ++boundary)
      spec.comm->push_back(draw.ms(0, 9));
    if (draw.from(0, 2) == 0) spec.stages_per_node = 1;
    if (draw.from(0, 1) == 0) spec.activation_limit = draw.from(placement.vpp, 2 * placement.vpp);
    spec.transfer = TransferModel::link;
    const SynthesisRequest request{.placements = {placement}, .splits_backward = splits, .effort = 0};
    const SynthesizedOrder found = synthesize(spec, request).orders.front();
    const Shape shape{.stages = *spec.stages, .microbatches = *spec.microbatches, .vpp = placement.vpp};
    const auto least = least_of_all(found, shape, spec.activation_limit, sequence_passes(splits), most_orders);
    if (!least) continue;
    ++tried;
    INFO("input " << i << ", " << placement.name << ", " << *spec.stages << " stages, " << *spec.microbatches
                  << " microbatches, first transfers of " << spec.comm->front().count() << " ns");
    CHECK(found.bound <= *least);
    CHECK(found.length >= *least);
    CHECK(evaluate(found.spec).report.makespan == found.length);
    CHECK(check_certificate(certificate_of(found)).holds());
    if (found.best_named) {
      RunSpec named = spec;
      named.schedule = found.best_named->name;
      const Generator& generator = find_generator(*named.schedule);
      if (!generator.takes("activation-limit")) named.activation_limit.reset();
      if (placement.name == "loop:2") named.vpp = {placement.vpp};
      CHECK(evaluate(named).report.makespan == found.best_named->length);
    }
    spec.transfer = TransferModel::latency;
    above_latency += found.bound > synthesize(spec, request).orders.front().length ? 1 : 0;
    exact += found.bound == *least && found.length == *least ? 1 : 0;
  }
  INFO(tried << " tried, " << above_latency << " bounds above the best under latency, " << exact << " exact");
  CHECK(tried * 10 > tries * 9);
  CHECK(above_latency * 4 > tried);
  CHECK(exact * 10 > tried * 9);
}

} // namespace ppsim::test::synthesize_links_test
