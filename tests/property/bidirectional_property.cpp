// Properties of Chimera, Hanayo and PipeDream for every supported shape and any costs.

#include "ppsim/base/error.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/engine/steady.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/run_report.hpp"
#include "support/printers.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <rapidcheck.h>

namespace ppsim::test::bidirectional_property {

namespace {

std::size_t draw(std::size_t low, std::size_t high) {
  return *rc::gen::inRange<std::size_t>(low, high + 1);
}
Duration draw_time() {
  return Duration{static_cast<std::int64_t>(draw(0, 9))};
}

bool is_taken(const Generator& generator, const ScheduleRequest& request) {
  try {
    check_request(generator, request);
    return true;
  } catch (const Error&) {
    return false;
  }
}

RunReport simulated(const Generator& generator, const ScheduleRequest& request, const Scenario& scenario) {
  const TaskGraph graph = lower(make_schedule(generator, request), scenario);
  return run_report(graph, simulate(graph));
}

/// Simulates every shape in range and counts them; lower() throws if a task is missing, repeated, or waits for itself.
template <class Check>
std::size_t for_every_shape(std::string_view name, Check check) {
  const Generator& generator = find_generator(name);
  std::size_t taken = 0;
  for (std::size_t stages = 1; stages <= 10; ++stages)
    for (std::size_t microbatches = 1; microbatches <= 30; ++microbatches)
      for (std::size_t vpp = 1; vpp <= 6; ++vpp) {
        const ScheduleRequest request{.shape = {.stages = stages, .microbatches = microbatches, .vpp = vpp}};
        if (!is_taken(generator, request)) continue;
        ++taken;
        CAPTURE(stages, microbatches, vpp);
        const Scenario scenario = uniform_scenario(request.shape, Duration{60}, Duration{120});
        check(request.shape, simulated(generator, request, scenario));
      }
  return taken;
}

void closed_form_holds(std::string_view name) {
  const Generator& generator = find_generator(name);
  rc::prop("any shape, any costs", [&] {
    ScheduleRequest request;
    const std::size_t multiple = std::max<std::size_t>(generator.vpp.multiple, 1);
    request.shape = {.stages = draw(1, 10), .microbatches = draw(1, 40), .vpp = multiple * draw(1, 4)};
    if (generator.vpp.multiple == 0) request.shape.vpp = generator.vpp.standard;
    RC_PRE(is_taken(generator, request));
    const auto v = static_cast<std::int64_t>(request.shape.vpp);
    const Scenario scenario = uniform_scenario(request.shape, v * draw_time(), v * draw_time());
    const auto form = closed_form(generator, request, scenario);
    RC_CLASSIFY(form.has_value(), "has a closed form");
    if (form) RC_ASSERT(std::abs(form->value - simulated(generator, request, scenario).bubble_overhead) < 1e-9);
  });
}

ScheduleRequest draw_replicas(std::size_t most_microbatches) {
  ScheduleRequest request;
  request.replicas.resize(draw(1, 5));
  for (std::size_t& count : request.replicas) count = draw(1, 4);
  request.shape.stages = std::accumulate(request.replicas.begin(), request.replicas.end(), std::size_t{0});
  request.shape.shared = request.shape.stages - request.replicas.size();
  request.shape.microbatches = draw(std::ranges::max(request.replicas), most_microbatches);
  return request;
}

} // namespace

TEST_CASE("Chimera takes every even p and m, and holds at most p/2 + 1 + min(s, p-1-s) activations") {
  const std::size_t taken = for_every_shape("chimera", [](const Shape& shape, const RunReport& report) {
    const std::size_t p = shape.stages;
    for (std::size_t stage = 0; stage < p; ++stage) {
      const std::size_t from_the_end = std::min(stage, p - 1 - stage);
      const std::size_t promised = std::min(shape.microbatches, std::min(p, shape.microbatches) / 2 + 1 + from_the_end);
      CHECK(report.stages[stage].peak_live_activations == promised);
    }
  });
  CHECK(taken == 5 * 15);
}

TEST_CASE("Hanayo takes every shape with an even v, and holds at most min(m, p) v activations") {
  const std::size_t taken = for_every_shape("hanayo", [](const Shape& shape, const RunReport& report) {
    std::size_t most = 0;
    for (const StageReport& stage : report.stages) most = std::max(most, stage.peak_live_activations);
    CHECK(most == std::min(shape.microbatches, shape.stages) * shape.vpp);
  });
  CHECK(taken == 10 * 30 * 3);
}

TEST_CASE("Chimera's closed form equals the simulation") {
  closed_form_holds("chimera");
}

TEST_CASE("Hanayo's closed form equals the simulation") {
  closed_form_holds("hanayo");
}

TEST_CASE("PipeDream takes every shape without replicas, and stage s holds at most p-s activations") {
  const std::size_t taken = for_every_shape("pipedream", [](const Shape& shape, const RunReport& report) {
    for (std::size_t stage = 0; stage < shape.stages; ++stage)
      CHECK(report.stages[stage].peak_live_activations == std::min(shape.microbatches, shape.stages - stage));
  });
  CHECK(taken == 10 * 30);
}

TEST_CASE("PipeDream does not deadlock with any replicas, and each keeps at least its share of all stages from there") {
  const Generator& pipedream = find_generator("pipedream");
  rc::prop("any costs", [&] {
    const ScheduleRequest request = draw_replicas(30);
    Scenario scenario = uniform_scenario(request.shape, Duration{1}, Duration{1}, draw_time());
    for (auto* costs : {&scenario.costs.forward, &scenario.costs.input_grad, &scenario.costs.weight_grad})
      for (Duration& cost : *costs) cost = draw_time();
    const RunReport report = simulated(pipedream, request, scenario);
    std::size_t stage = 0;
    for (const std::size_t replicas : request.replicas) {
      const std::size_t share = (request.shape.stages - stage + replicas - 1) / replicas; // at the input: NOAM
      const std::size_t own = request.shape.microbatches / replicas;                      // of the last replica
      RC_ASSERT(report.stages[stage].peak_live_activations >= std::min(own, share));
      stage += replicas;
    }
  });
}

TEST_CASE("PipeDream's steady state has no bubble if positions are balanced") {
  const Generator& pipedream = find_generator("pipedream");
  rc::prop("any replicas, any ratio of F and B", [&] {
    ScheduleRequest request = draw_replicas(4);
    const std::int64_t forward = 1 + draw_time().count();
    const std::int64_t input_grad = 1 + draw_time().count();
    const auto end = [&](std::size_t microbatches) {
      request.shape.microbatches = microbatches;
      Scenario scenario = uniform_scenario(request.shape, Duration{0}, Duration{0});
      for (std::size_t position = 0; position < request.replicas.size(); ++position) {
        const auto replicas = static_cast<std::int64_t>(request.replicas[position]);
        scenario.costs.forward[position] = Duration{forward * replicas};
        scenario.costs.input_grad[position] = Duration{input_grad * replicas};
      }
      return simulated(pipedream, request, scenario).makespan;
    };
    constexpr std::size_t round = 60; // divisible by every number of replicas
    RC_ASSERT(end(3 * round) - end(2 * round) == Duration{std::int64_t{round} * (forward + input_grad)});
  });
}

TEST_CASE("PipeDream's step time is the time that many more microbatches add") {
  const Generator& pipedream = find_generator("pipedream");
  rc::prop("any replicas, costs and transfers", [&] {
    ScheduleRequest request = draw_replicas(30);
    Scenario scenario =
        uniform_scenario(request.shape, Duration{0}, Duration{0}, Duration{static_cast<std::int64_t>(draw(0, 99))});
    for (auto* costs : {&scenario.costs.forward, &scenario.costs.input_grad})
      for (Duration& cost : *costs) cost = draw_time();
    const std::int64_t found = steady_interval(lower(make_schedule(pipedream, request, scenario), scenario)).count();
    const auto microbatches = static_cast<double>(request.shape.microbatches);
    const auto end = [&](std::size_t many) {
      request.shape.microbatches = scenario.shape.microbatches = many;
      return simulated(pipedream, request, scenario).makespan;
    };
    constexpr std::size_t more = 1680; // a multiple of most periods: of the numbers of replicas, and of 1 to 8
    const double expected =
        static_cast<double>((end(2 * more) - end(more)).count()) * microbatches / static_cast<double>(more);
    RC_ASSERT(std::abs(static_cast<double>(found) - expected) <= 1.5);
  });
}

} // namespace ppsim::test::bidirectional_property
