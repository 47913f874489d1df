// Advice for the next run, with its figures.

#include "ppsim/study/advice.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>

namespace ppsim::test::advice_test {

using namespace std::chrono_literals;

namespace {

Outcome outcome_of(std::string_view name, const Shape& shape, Duration transfer = 0ms) {
  return run(generate(name, shape), uniform_scenario(shape, 1ms, 2ms, transfer));
}

Advice advice_of(const Outcome& outcome) {
  return advice_for(outcome.graph, outcome.report);
}

constexpr Shape shape{.stages = 4, .microbatches = 8};

} // namespace

TEST_CASE("Advice is about the largest cost") {
  CHECK(advice_of(outcome_of("1f1b", {.stages = 1, .microbatches = 4})).next == NextStep::nothing);
  CHECK(advice_of(outcome_of("sequential", shape)).next == NextStep::run_together);
  const Advice fill = advice_of(outcome_of("1f1b", shape));
  CHECK(fill.next == NextStep::pipeline_waits);
  CHECK(fill.share == Approx(3.0 / 11)); // (p-1)/(m+p-1)
  CHECK(fill.try_others);
  CHECK(!advice_of(outcome_of("1f1b", {.stages = 2, .microbatches = 20})).try_others); // 1/21 of device time
  const Advice transfers = advice_of(outcome_of("1f1b", shape, 20ms));
  CHECK(transfers.next == NextStep::transfers);
  CHECK(transfers.share > 1.0 / 3);
  CHECK(transfers.try_others);
}

TEST_CASE("Stages that compute longer than a tenth more than the mean are named, unless the split was searched") {
  const auto with_last = [](Duration forward) {
    Scenario scenario = uniform_scenario(shape, 1000us, 2000us);
    scenario.costs.forward[3] = forward;
    return run(generate("1f1b", shape), std::move(scenario));
  };
  Outcome uneven = with_last(1500us); // 3.5 ms, where the mean is 3.125 ms
  const Advice advice = advice_of(uneven);
  CHECK(advice.next == NextStep::even_out);
  CHECK(advice.busiest == std::vector<std::size_t>{3});
  CHECK(advice.imbalance == Approx(1.12));
  CHECK(!advice.can_balance);
  uneven.report.balance = Balance{};
  CHECK(advice_of(uneven).next == NextStep::pipeline_waits);
  CHECK(advice_of(with_last(1300us)).next == NextStep::pipeline_waits); // 1.07 times
}

TEST_CASE("A tried change is a remedy if it fits and takes less time per microbatch") {
  Outcome outcome = outcome_of("1f1b", shape); // 33 ms
  outcome.report.alternatives = {{.change = "`mb` 16", .microbatches = 16, .step_time = 57ms},
                                 {.change = "`vpp` 2", .microbatches = 8, .step_time = 28ms, .fits = false},
                                 {.change = "--same", .microbatches = 8, .step_time = 33ms}};
  const Advice advice = advice_of(outcome);
  REQUIRE(advice.remedies.size() == 1);
  CHECK(advice.remedies[0].fields == "`mb` 16");
  CHECK(advice.remedies[0].gain == Approx(1 - 57.0 / 66));
}

TEST_CASE("If memory is exceeded, advice names the stage and the excess") {
  Scenario scenario = uniform_scenario(shape, 1ms, 2ms);
  scenario.memory.limit = Bytes{100};
  Outcome outcome = run(generate("1f1b", shape), std::move(scenario));
  CHECK(!advice_of(outcome).excess);
  outcome.report.stages[2].static_bytes = Bytes{130};
  outcome.report.overflow = Overflow{.stage = make_id<StageId>(2)};
  const Advice advice = advice_of(outcome);
  REQUIRE(advice.excess);
  CHECK(index(advice.excess->stage) == 2);
  CHECK(advice.excess->over == Bytes{30});
}

TEST_CASE("A search is advised from 1 % above the bound") {
  Outcome outcome = run(generate("1f1b", shape), uniform_scenario(shape, 1ms, 2ms));
  CHECK(!advice_of(outcome).search);
  outcome.report.makespan = 101ms;
  outcome.report.bound = ProvenBound{.makespan = 100ms};
  CHECK(advice_of(outcome).search);
  outcome.report.makespan -= 1ns;
  CHECK(!advice_of(outcome).search);
}

} // namespace ppsim::test::advice_test
