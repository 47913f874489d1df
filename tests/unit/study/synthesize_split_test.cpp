// The best split of layers together with its order, against all splits.

#include "ppsim/study/evaluate.hpp"
#include "ppsim/study/synthesize.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

namespace ppsim::test::synthesize_split_test {
namespace {

struct Case {
  std::size_t stages;
  const char* placement;
  std::size_t microbatches, layers;
  std::int64_t forward, input_grad, weight_grad, head, transfer; ///< ms, of a stage as long as the mean
  std::optional<std::size_t> room;
};

RunSpec spec_of(const Case& each) {
  const auto ms = [](std::int64_t count) { return Duration{1'000'000 * count}; };
  RunSpec spec;
  spec.stages = each.stages;
  spec.microbatches = each.microbatches;
  spec.layers = each.layers;
  spec.forward = {ms(each.forward)};
  spec.input_grad = {ms(each.input_grad)};
  spec.weight_grad = {ms(each.weight_grad)};
  spec.head = {ms(each.head)};
  spec.comm = {ms(each.transfer)};
  spec.activation_limit = each.room;
  return spec;
}

/// All splits of `layers` over the chunks from `chunk` on, with one at least on each but the ends.
void add_splits(Layout& layout, std::size_t chunk, std::size_t layers, std::vector<Layout>& splits) {
  if (chunk + 1 == layout.size()) {
    layout[chunk].layers = layers;
    splits.push_back(layout);
    return;
  }
  for (std::size_t here = chunk == 0 ? 0 : 1; here <= layers; ++here) {
    layout[chunk].layers = here;
    add_splits(layout, chunk + 1, layers - here, splits);
  }
}

Duration best_of_all(const RunSpec& spec, const SynthesisRequest& request) {
  Layout layout(spec.stages.value() * request.placements.front().vpp);
  layout.front().embedding = true;
  layout.back().loss = true;
  std::vector<Layout> splits;
  add_splits(layout, 0, spec.layers.value(), splits);
  Duration best = Duration::max();
  for (const Layout& split : splits) {
    RunSpec fixed = spec;
    fixed.layers.reset();
    fixed.layout = split;
    best = std::min(best, synthesize(fixed, request).orders.front().makespan);
  }
  return best;
}

} // namespace

TEST_CASE("No split of a few layers has a shorter order than the one that is found") {
  const std::vector<Case> cases{
      {2, "linear", 4, 6, 10, 10, 5, 4, 0, std::nullopt},
      {3, "linear", 4, 6, 4, 9, 6, 8, 3, 2},
      {3, "linear", 5, 5, 12, 3, 8, 0, 8, 3},
      {4, "linear", 3, 6, 5, 5, 5, 5, 1, 4},
      {2, "v", 4, 6, 17, 13, 15, 5, 3, 2},
      {2, "v", 4, 6, 10, 16, 9, 6, 0, 4},
  };
  for (const Case& each : cases) {
    RunSpec spec = spec_of(each);
    const SynthesisRequest request{.placements = {find_chunk_placement(each.placement).value()}, .effort = 0};
    const Duration best = best_of_all(spec, request);
    const Duration even = synthesize(spec, request).orders.front().makespan;
    spec.balance = true;
    const Synthesis found = synthesize(spec, request);
    const SynthesizedOrder& order = found.orders.front();
    INFO(each.stages << " stages, " << each.placement << ", " << each.layers << " layers: " << best.count());
    CHECK(order.makespan == best);
    REQUIRE(order.balance);
    CHECK(order.balance->settled);
    CHECK(order.balance->start_step_time == even);
    CHECK(evaluate(order.spec).report.step_time == order.balance->step_time);
  }
}

TEST_CASE("No synthesis takes longer with a split that is sought") {
  std::mt19937 random{20261125};
  const auto drawn = [&random](std::size_t low, std::size_t high) { return low + random() % (high - low + 1); };
  const auto ms = [&drawn](std::size_t most) { return static_cast<std::int64_t>(drawn(1, most)); };
  for (std::size_t i = 0; i < 12; ++i) {
    const ChunkPlacement placement = find_chunk_placement(std::array{"linear", "v", "loop:2"}[i % 3]).value();
    const std::size_t stages = drawn(2, 4);
    const std::size_t chunks = stages * placement.vpp;
    RunSpec spec = spec_of({.stages = stages,
                            .placement = "",
                            .microbatches = drawn(2, 6),
                            .layers = drawn(chunks, chunks + 6),
                            .forward = ms(20),
                            .input_grad = ms(20),
                            .weight_grad = ms(20),
                            .head = ms(9),
                            .transfer = ms(8),
                            .room = drawn(placement.vpp, chunks + 2)});
    if (i % 2 == 0) spec.transfer = TransferModel::link;
    const SynthesisRequest request{.placements = {placement}, .effort = 0};
    const Duration even = evaluate(synthesize(spec, request).orders.front().spec).report.step_time;
    spec.balance = true;
    const SynthesizedOrder order = synthesize(spec, request).orders.front();
    INFO("input " << i << ", " << placement.name << ", " << stages << " stages");
    CHECK(evaluate(order.spec).report.step_time <= even);
    CHECK(order.balance.value().start_step_time == even);
  }
}

} // namespace ppsim::test::synthesize_split_test
