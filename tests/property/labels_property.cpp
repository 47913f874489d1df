// The labels of every stage's time, for every order, cost and network.

#include "property/drawn_inputs.hpp"
#include "property/naive_model.hpp"
#include "property/timeline_checks.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include <numeric>
#include <vector>

#include <rapidcheck.h>

namespace ppsim::test::labels_property {

namespace {

Duration sum(const std::vector<Duration>& values) {
  return std::accumulate(values.begin(), values.end(), zero);
}

} // namespace

TEST_CASE("Under latency, every wait has the label that a naive recurrence gives it") {
  rc::prop("any order without pairs, any costs", [] {
    const Schedule schedule = draw_order(false);
    const Scenario scenario = draw_scenario(schedule.shape());
    const Outcome outcome = run(schedule, scenario);
    const NaiveRun naive = naive_latency(schedule, scenario);
    for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage)
      RC_ASSERT(outcome.report.stages[stage].time ==
                naive_labels(schedule, scenario, naive, stage, outcome.report.makespan));
  });
}

TEST_CASE("Every nanosecond of every stage has one label, and they add up to p x makespan") {
  rc::prop("under any model", [] {
    const Schedule schedule = draw_order();
    const auto outcome = try_run(schedule, draw_scenario(schedule.shape(), draw_model()));
    if (!outcome) return;
    for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage) check_account(*outcome, stage);
    const auto by_label = outcome->report.time_by_label();
    RC_ASSERT(sum({by_label.begin(), by_label.end()}) == number(schedule.shape().stages) * outcome->report.makespan);
  });
}

} // namespace ppsim::test::labels_property
