// The search for the best split compared with all splits.

#include "ppsim/engine/simulate.hpp"
#include "ppsim/study/balance.hpp"
#include "property/drawn_inputs.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <rapidcheck.h>

namespace ppsim::test::balance_property {

namespace {

/// A model and a schedule for it: the costs of a layer, extra costs of the ends, and their memory.
struct Model {
  Schedule schedule;
  Duration layer_forward{0};
  Duration layer_backward{0};
  Duration embedding{0};
  Duration head{0};
  Duration comm{0};
  Bytes layer_activation;
  Bytes layer_parameters;
  std::optional<Bytes> limit;

  [[nodiscard]] SplitValue value(const Layout& layout) const {
    Scenario scenario = uniform_scenario(schedule.shape(), zero, zero, comm);
    for (std::size_t chunk = 0; chunk < layout.size(); ++chunk) {
      const std::int64_t layers = number(layout[chunk].layers);
      scenario.costs.forward[chunk] =
          layers * layer_forward + (layout[chunk].embedding ? embedding : zero) + (layout[chunk].loss ? head : zero);
      scenario.costs.input_grad[chunk] = layers * layer_backward + (layout[chunk].loss ? 2 * head : zero);
      scenario.memory.activation[chunk] = Bytes{layers * layer_activation.count()};
      scenario.memory.parameters[chunk] = Bytes{layers * layer_parameters.count()};
    }
    scenario.memory.activation_for_weight = scenario.memory.activation;
    scenario.memory.limit = limit;
    const TaskGraph graph = lower(schedule, scenario);
    const Timeline timeline = simulate(graph);
    return split_value(graph, timeline, end_of(timeline) - SimTime{});
  }
};

Model draw_model_of(const Schedule& schedule) {
  Model model;
  model.schedule = schedule;
  model.layer_forward = draw_time(10, 100);
  model.layer_backward = draw_time(10, 200);
  if (one_in(2)) model.embedding = draw_time(200);
  if (!one_in(3)) model.head = draw_time(300);
  if (one_in(2)) model.comm = draw_time(150);
  if (one_in(2)) {
    model.layer_activation = Bytes{number(draw(1, 20))};
    model.layer_parameters = Bytes{number(draw(0, 40))};
    model.limit = Bytes{number(draw(20, 400))};
  }
  return model;
}

Schedule draw_schedule(std::size_t most_stages) {
  const std::size_t stages = draw(1, most_stages);
  switch (draw(0, 2)) {
  case 0:
    return generate("1f1b", {.stages = stages, .microbatches = draw(1, 8), .vpp = 1});
  case 1:
    return generate("gpipe", {.stages = stages, .microbatches = draw(1, 8), .vpp = 1});
  default:
    return generate("interleaved", {.stages = stages, .microbatches = stages * draw(1, 2), .vpp = 2});
  }
}

/// Calls visit with every distribution of `layers` over the chunks from `chunk` on, at least one on each except the
/// ends.
template <class Visit>
void for_each_split(Layout& layout, std::size_t chunk, std::size_t layers, const Visit& visit) {
  const bool end = chunk == 0 || chunk + 1 == layout.size();
  if (chunk + 1 == layout.size()) {
    layout[chunk].layers = layers;
    return visit(std::as_const(layout));
  }
  for (std::size_t here = end ? 0 : 1; here <= layers; ++here) {
    layout[chunk].layers = here;
    for_each_split(layout, chunk + 1, layers - here, visit);
  }
}

std::pair<Bytes, Duration> best_of_all(const Model& model, std::size_t layers) {
  std::optional<std::pair<Bytes, Duration>> best;
  Layout layout = plain_layout(std::vector<std::size_t>(model.schedule.shape().chunks()));
  for_each_split(layout, 0, layers, [&](const Layout& split) {
    const SplitValue value = model.value(split);
    const std::pair rank{value.excess, value.step_time};
    if (!best || rank < *best) best = rank;
  });
  return best.value();
}

} // namespace

TEST_CASE("For few layers the search finds the best of all splits") {
  rc::prop("1f1b, gpipe and interleaved on up to 4 stages with up to 10 layers", [] {
    const Model model = draw_model_of(draw_schedule(4));
    const std::size_t chunks = model.schedule.shape().chunks();
    const std::size_t layers = draw(chunks, std::max<std::size_t>(10, chunks));
    const Layout start =
        plain_layout(split_layers(model.schedule.shape(), placement_of(model.schedule), layers, {}, {}));
    const Balance found = balance(
        {start}, [&](const Layout& layout) { return model.value(layout); }, 4096);
    const SplitValue value = model.value(found.layout);
    RC_ASSERT(value.step_time == found.step_time);
    RC_ASSERT((value.excess == Bytes{}) == found.fits);
    RC_ASSERT(std::pair(value.excess, value.step_time) == best_of_all(model, layers));
    std::size_t sum = 0;
    for (const ChunkBlocks& blocks : found.layout) sum += blocks.layers;
    RC_ASSERT(sum == layers);
  });
}

TEST_CASE("For more layers the search also finds the best split, if any fits") {
  rc::prop("1f1b, gpipe and interleaved on up to 4 stages with up to 20 layers", [] {
    const Model model = draw_model_of(draw_schedule(4));
    const std::size_t layers = model.schedule.shape().chunks() > 4 ? 11 : draw(16, 20);
    const Layout start =
        plain_layout(split_layers(model.schedule.shape(), placement_of(model.schedule), layers, {}, {}));
    const Balance found = balance(
        {start}, [&](const Layout& layout) { return model.value(layout); }, 4096);
    const auto [excess, step_time] = best_of_all(model, layers);
    RC_ASSERT(found.fits == (excess == Bytes{}));
    if (found.fits) RC_ASSERT(found.step_time == step_time);
  });
}

} // namespace ppsim::test::balance_property
