// The best split of layers together with its order, against all splits.

#include "ppsim/study/synthesize.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
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
      {3, "v", 3, 8, 14, 14, 19, 8, 3, 3},
  };
  for (const Case& each : cases) {
    RunSpec spec = spec_of(each);
    const SynthesisRequest request{.placements = {find_chunk_placement(each.placement).value()}, .effort = 0};
    const Duration best = best_of_all(spec, request);
    spec.balance = true;
    const Synthesis found = synthesize(spec, request);
    const SynthesizedOrder& order = found.orders.front();
    INFO(each.stages << " stages, " << each.placement << ", " << each.layers << " layers: " << best.count());
    CHECK(order.makespan == best);
    REQUIRE(order.balance);
    CHECK(order.balance->settled);
    CHECK(order.balance->layout == order.spec.layout);
    CHECK(order.balance->step_time == order.makespan);
    CHECK(order.balance->start_step_time >= order.makespan);
  }
}

} // namespace ppsim::test::synthesize_split_test
