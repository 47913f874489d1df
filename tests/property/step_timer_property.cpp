// StepTimer equals simulate() for every order, cost and network.

#include "ppsim/engine/simulate.hpp"
#include "ppsim/engine/step_timer.hpp"
#include "property/drawn_inputs.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include <utility>
#include <vector>

#include <rapidcheck.h>

namespace ppsim::test::step_timer_property {

namespace {

Scenario draw_costs(const Shape& shape, TransferModel model) {
  Scenario scenario = one_in(4) ? draw_unequal(shape) : draw_scenario(shape, model);
  scenario.network.model = model;
  if (one_in(2)) scenario.update = draw_update(shape);
  return scenario;
}

Duration simulated(const TaskGraph& graph) {
  return end_of(simulate(graph)) - SimTime{};
}

/// Times of all tasks in all lanes.
std::vector<Duration> draw_lanes(std::size_t tasks) {
  std::vector<Duration> alone(tasks * StepTimer::lanes);
  for (Duration& time : alone) time = draw_time(30);
  return alone;
}

} // namespace

TEST_CASE("A step takes as long as its simulation, with the costs of the graph and with others") {
  rc::prop("any order under latency, link and streams", [] {
    const Schedule schedule = draw_order();
    const TransferModel model =
        *rc::gen::element(TransferModel::latency, TransferModel::latency, TransferModel::link, TransferModel::streams);
    const TaskGraph graph = lower(schedule, draw_costs(schedule.shape(), model));
    const StepTimer timer{graph};
    if (!try_run(schedule, graph.scenario())) return; // hangs
    RC_ASSERT(timer.makespan(graph) == simulated(graph));
    const Scenario others = draw_costs(schedule.shape(), TransferModel::latency);
    const TaskGraph anew = lower(schedule, others);
    const TaskGraph shared = graph.with_costs(others);
    RC_ASSERT(timer.makespan(shared) == simulated(anew));
    RC_ASSERT(simulate(shared).tasks == simulate(anew).tasks);
    RC_ASSERT(shared.transfer_volume() == anew.transfer_volume());
  });
}

TEST_CASE("Each lane is a separate step") {
  rc::prop("any order under latency and link", [] {
    const Schedule schedule = draw_order();
    TaskGraph graph =
        lower(schedule, draw_costs(schedule.shape(), one_in(4) ? TransferModel::link : TransferModel::latency));
    const std::vector<Duration> alone = draw_lanes(graph.size());
    const std::vector<Duration> steps = StepTimer{graph}.makespans(graph, alone);
    RC_ASSERT(steps.size() == StepTimer::lanes);
    std::vector<Duration> times(graph.size());
    for (std::size_t lane = 0; lane < StepTimer::lanes; ++lane) {
      for (std::size_t task = 0; task < times.size(); ++task) times[task] = alone[task * StepTimer::lanes + lane];
      graph.set_times(times);
      RC_ASSERT(steps[lane] == simulated(graph));
    }
  });
}

} // namespace ppsim::test::step_timer_property
