// Collectives inside a task, and how much of them an overlapped pair hides (SPEC section 2).

#include "ppsim/study/what_if.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>

namespace ppsim::test::collective_test {

using namespace std::chrono_literals;

namespace {

/// The pair (0F1;0B0) or (0F1;0I0) of one stage: F = 10, I = 14, W = 6.
struct PairCase {
  Duration forward_collective;
  Duration backward_collective;
  bool split = false;
  PairRule rule{.kind = PairRule::Kind::hide};

  [[nodiscard]] Duration length() const {
    const Schedule schedule = order({split ? "0F0 (0F1;0I0) 0W0 0B1" : "0F0 (0F1;0B0) 0B1"});
    Scenario scenario = uniform_scenario(schedule.shape(), 0ns, 0ns);
    scenario.costs = {.forward = {10ns},
                      .input_grad = {14ns},
                      .weight_grad = {6ns},
                      .forward_collective = {forward_collective},
                      .input_grad_collective = {backward_collective}};
    scenario.pair = rule;
    return run(schedule, scenario).task("0F1").length();
  }
};

} // namespace

TEST_CASE("A pair with rule hide takes as long as both halves compute") {
  CHECK(PairCase{4ns, 5ns}.length() == 6ns + 15ns); // B 20 computes 15
  CHECK(PairCase{4ns, 5ns, true}.length() == 6ns + 9ns);
}

TEST_CASE("A pair with rule hide is not shorter than both halves' collectives one after the other") {
  CHECK(PairCase{9ns, 13ns, true}.length() == 22ns); // compute 1 + 1
}

TEST_CASE("A pair with rule hide is not shorter than either half") {
  CHECK(PairCase{9ns, 2ns}.length() == 20ns);        // compute 1 + 18, collectives 11, B 20
  CHECK(PairCase{1ns, 12ns, true}.length() == 14ns); // compute 9 + 2, collectives 13, I 14
}

TEST_CASE("Without collectives hide equals sum, and other rules ignore them") {
  CHECK(PairCase{0ns, 0ns}.length() == 30ns);
  CHECK(PairCase{4ns, 5ns, false, {.kind = PairRule::Kind::sum}}.length() == 30ns);
  CHECK(PairCase{4ns, 5ns, false, {.kind = PairRule::Kind::max}}.length() == 20ns);
  CHECK(PairCase{4ns, 5ns, false, {PairRule::Kind::factor, 500'000}}.length() == 15ns);
}

TEST_CASE("Overhead is compute and is not hidden") {
  const Schedule schedule = order({"0F0 (0F1;0B0) 0B1"});
  Scenario scenario = uniform_scenario(schedule.shape(), 10ns, 20ns);
  scenario.costs.overhead = 3ns;
  scenario.costs.forward_collective = {10ns};
  scenario.pair.kind = PairRule::Kind::hide;
  CHECK(run(schedule, scenario).task("0F1").length() == 3ns + 23ns);
}

TEST_CASE("A collective longer than its task is refused, with the chunk") {
  Scenario scenario = uniform_scenario({.stages = 2, .microbatches = 1}, 10ns, 20ns);
  scenario.costs.forward_collective = {10ns, 11ns};
  scenario.costs.input_grad_collective = {11ns, 0ns}; // I is half of 20
  const Refusal refusal = refusal_of([&] { validate(scenario); });
  REQUIRE(refusal.lines.size() == 2);
  CHECK(refusal.lines[0] == "`forward-collective`: chunk 1: 11 ns is longer than the whole forward of 10 ns -- it is "
                            "the communication part of that time");
  CHECK_THAT(
      refusal.lines[1],
      Catch::StartsWith("`backward-collective`: chunk 0: 11 ns is longer than the whole input gradient of 10 ns"));
  scenario.costs.forward_collective = {1ns};
  scenario.costs.input_grad_collective = {1ns, -1ns};
  CHECK(refusal_of([&] { validate(scenario); }).lines.size() == 2);
}

TEST_CASE("With equal stages, collectives are also equal, so that none exceeds its task") {
  const Schedule schedule = order({"0F0 (0F1;0B0) 0B1", "1F0 1B0 1F1 1B1"});
  Scenario scenario = uniform_scenario(schedule.shape(), 10ns, 20ns);
  scenario.costs.forward = {2ns, 18ns};
  scenario.costs.forward_collective = {0ns, 18ns};
  scenario.pair.kind = PairRule::Kind::hide;
  const std::optional<Duration> equal = what_if(lower(schedule, scenario)).equal_stages;
  // F 10 with 9 of collectives everywhere: F0 0-10, F0 10-20, B0 20-40; the pair 40-61; F1 61-71, B1 71-91; B1 91-111
  CHECK(equal == 111ns);
}

} // namespace ppsim::test::collective_test
