// What-if figures: the same order under costs that differ in one respect.

#include "ppsim/study/what_if.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>

namespace ppsim::test::what_if_test {

using namespace std::chrono_literals;

namespace {

constexpr Shape two_by_two{.stages = 2, .microbatches = 2, .vpp = 1};

WhatIf what_if_of(const Scenario& scenario) {
  return what_if(lower(generate("1f1b", scenario.shape), scenario));
}

} // namespace

TEST_CASE("Without communication 1F1B takes (m+p-1)(F+B)") {
  // 96 with transfers of 3 (simulate_test), 3 * 30 without
  const WhatIf figures = what_if_of(uniform_scenario(two_by_two, 10ns, 20ns, 3ns));
  CHECK(figures.no_communication == 90ns);
  CHECK(!figures.equal_stages);
}

TEST_CASE("With equal stages every chunk costs the mean of its pass") {
  // F = 10, 20; B = 20, 40: mean 15 + 30, times 3
  Scenario scenario = uniform_scenario(two_by_two, 10ns, 20ns);
  scenario.costs = {.forward = {10ns, 20ns}, .input_grad = {10ns, 20ns}, .weight_grad = {10ns, 20ns}, .overhead = 0ns};
  const WhatIf figures = what_if_of(scenario);
  CHECK(figures.equal_stages == 135ns);
  CHECK(!figures.no_communication);
}

TEST_CASE("Equal stages keep the communication, and no communication keeps the costs") {
  Scenario scenario = uniform_scenario(two_by_two, 10ns, 20ns, 3ns);
  scenario.costs.forward = {5ns, 15ns};
  const WhatIf figures = what_if_of(scenario);
  CHECK(figures.equal_stages == 96ns);
  //  F = 5, 15, B = 20, c = 0
  //  stage 0  0F0[0,5) 0F1[5,10)          0B0[40,60)            0B1[75,95)
  //  stage 1           1F0[5,20) 1B0[20,40) 1F1[40,55) 1B1[55,75)
  CHECK(figures.no_communication == 95ns);
}

TEST_CASE("Under link and blocking no communication means no contention and no waiting for sends") {
  Scenario scenario = uniform_scenario(two_by_two, 10ns, 20ns, 3ns);
  scenario.network.model = TransferModel::blocking;
  CHECK(what_if_of(scenario).no_communication == 90ns);
  scenario.network.model = TransferModel::link;
  scenario.network.stages_per_node = 1;
  CHECK(what_if_of(scenario).no_communication == 90ns);
}

TEST_CASE("A change without effect has no figure") {
  const WhatIf uniform = what_if_of(uniform_scenario(two_by_two, 10ns, 20ns));
  CHECK(!uniform.no_communication);
  CHECK(!uniform.equal_stages);
  const WhatIf alone = what_if_of(uniform_scenario({.stages = 1, .microbatches = 2, .vpp = 1}, 10ns, 20ns, 3ns));
  CHECK(!alone.no_communication);
}

} // namespace ppsim::test::what_if_test
