// Conditions of --fail-if: how they are read, and when they hold.

#include "ppsim/study/run_report.hpp"

#include <catch2/catch.hpp>

#include <chrono>

#include "cli/options/condition.hpp"

namespace ppsim::test::condition_test {

using namespace ppsim::cli;
using namespace std::chrono_literals;

TEST_CASE("A condition is a metric, a comparison and a number or a time") {
  const auto condition = parse_condition("bubble_ratio > 0.1");
  REQUIRE(condition);
  CHECK(condition->metric->tag == "bubble_ratio");
  CHECK(condition->above);
  CHECK(condition->threshold == 0.1);
  CHECK(parse_condition("  makespan_ns<33ms ")->threshold == 33e6);
  CHECK(!parse_condition("makespan_ns<33ms")->above);
  CHECK(parse_condition("step_time_ns > 1000")->threshold == 1000.0);
  CHECK(parse_condition("step_time_p95_ns > 34ms")->threshold == 34e6);
  CHECK(parse_condition("mfu < 40 %")->threshold == 0.4);
  CHECK(parse_condition("tflops > 1.5PFLOPS")->threshold == 1500.0);
  CHECK(parse_condition("tflops_per_device < 300")->threshold == 300.0);
  CHECK(parse_condition("tokens_per_second > 2e6")->threshold == 2e6);
}

TEST_CASE("A condition holds strictly above or below") {
  RunReport report;
  report.bubble_ratio = 0.25;
  CHECK(parse_condition("bubble_ratio > 0.2")->holds(report));
  CHECK(!parse_condition("bubble_ratio > 0.25")->holds(report));
  CHECK(!parse_condition("bubble_ratio < 0.25")->holds(report));
  CHECK(parse_condition("bubble_ratio < 0.3")->holds(report));
  CHECK(!parse_condition("mfu < 0.3")->holds(report)); // not known
  report.work = StepWork{.model_flop = 1e12, .flops_per_second = 4e12};
  report.step_time = 1s;
  CHECK(parse_condition("mfu < 30%")->holds(report));
  CHECK(!parse_condition("mfu < 25%")->holds(report));
}

TEST_CASE("Invalid conditions are refused") {
  const auto* text = GENERATE("", ">", "bubble_ratio", "bubble_ratio >", "bubble_ratio = 0.1", "bubbles > 0.1",
                              "bubble_ratio > 5ms", "bubble_ratio > x", "bubble_ratio > 0.1 > 0.2", "> 0.1",
                              "bubble_ratio > nan", "mfu < 1s", "tokens_per_second > 5%", "tflops < 5%");
  CAPTURE(text);
  CHECK(!parse_condition(text));
}

} // namespace ppsim::test::condition_test
