// The memory of every stage at every moment, for every order, cost and size.

#include "property/drawn_inputs.hpp"
#include "property/naive_model.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include <algorithm>
#include <vector>

#include <rapidcheck.h>

namespace ppsim::test::memory_property {

TEST_CASE("Peaks are the maxima of memory over time, and all memory is freed") {
  rc::prop("under any model", [] {
    const Schedule schedule = draw_order();
    const auto outcome = try_run(schedule, draw_scenario(schedule.shape(), draw_model()));
    for (std::size_t stage = 0; outcome && stage < schedule.shape().stages; ++stage) {
      std::size_t live = 0;
      Bytes bytes;
      const auto points = memory_over_time(outcome->graph, outcome->timeline, make_id<StageId>(stage));
      for (std::size_t i = 0; i < points.size(); ++i) {
        live = std::max(live, points[i].live);
        bytes = std::max(bytes, points[i].bytes);
        if (i > 0) RC_ASSERT(points[i].at >= points[i - 1].at);
      }
      const StageReport& report = outcome->report.stages[stage];
      RC_ASSERT(points.back().live == 0U);
      RC_ASSERT(points.back().bytes == points.front().bytes);
      // Tasks of zero length start and free an activation at one moment, which the points do not show.
      RC_ASSERT(report.peak_live_activations >= live);
      RC_ASSERT(report.peak_bytes() >= bytes);
    }
  });
}

TEST_CASE("The peak counts activations from the start of F to the end of B or W") {
  rc::prop("under any model, no task without length", [] {
    const Schedule schedule = draw_order();
    Scenario scenario = draw_scenario(schedule.shape(), draw_model());
    lengthen_tasks(scenario);
    if (scenario.pair.kind == PairRule::Kind::factor) scenario.pair.kind = PairRule::Kind::max;
    const auto outcome = try_run(schedule, scenario);
    for (std::size_t stage = 0; outcome && stage < schedule.shape().stages; ++stage)
      RC_ASSERT(outcome->report.stages[stage].peak_live_activations == naive_peak(schedule, outcome->timeline, stage));
  });
}

TEST_CASE(
    "At every moment a stage holds what the definition of each activation's life says, and its peak is the most") {
  rc::prop("under any model, no task without length", [] {
    const Schedule schedule = draw_order();
    Scenario scenario = draw_scenario(schedule.shape(), draw_model());
    lengthen_tasks(scenario);
    if (scenario.pair.kind == PairRule::Kind::factor) scenario.pair.kind = PairRule::Kind::max;
    const auto outcome = try_run(schedule, scenario);
    for (std::size_t stage = 0; outcome && stage < schedule.shape().stages; ++stage) {
      const std::vector<ActivationLifetime> lives = lifetimes_on(*outcome, stage);
      Bytes most;
      for (const MemoryPoint& point : memory_over_time(outcome->graph, outcome->timeline, make_id<StageId>(stage))) {
        if (point.live == 0 && point.bytes == Bytes{} && point.at == SimTime{}) continue; // before the first change
        Bytes held;
        for (const ActivationLifetime& life : lives) held += naive_bytes(*outcome, life, point.at);
        RC_ASSERT(point.bytes == held);
        most = std::max(most, held);
      }
      RC_ASSERT(outcome->report.stages[stage].peak_activation_bytes == most);
    }
  });
}

TEST_CASE("Earlier freed parts never raise a peak") {
  rc::prop("under any model", [] {
    const Schedule schedule = draw_order();
    if (schedule.forward_only()) return; // its outputs outlive their forwards
    Scenario scenario = draw_scenario(schedule.shape(), draw_model());
    const auto parts = try_run(schedule, scenario);
    scenario.memory.activation_for_weight = scenario.memory.activation;
    scenario.memory.release_outputs = false;
    const auto whole = try_run(schedule, scenario);
    for (std::size_t stage = 0; parts && stage < schedule.shape().stages; ++stage)
      RC_ASSERT(parts->report.stages[stage].peak_activation_bytes <= whole->report.stages[stage].peak_activation_bytes);
  });
}

} // namespace ppsim::test::memory_property
