// Scenario: transfer times, uniform costs, and what validate() refuses.

#include "ppsim/base/error.hpp"
#include "ppsim/scenario/scenario.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <string>

namespace ppsim::test::scenario_test {

using namespace std::chrono_literals;
using ppsim::test::refusal_of;

namespace {

std::string refusal_after(void (*spoil)(Scenario&), const Shape& shape = {.stages = 2, .microbatches = 2, .vpp = 2}) {
  Scenario scenario = uniform_scenario(shape, 10ns, 20ns);
  spoil(scenario);
  const auto refusal = refusal_of([&] { validate(scenario); });
  CHECK(refusal.code == ExitCode::bad_input);
  return refusal.first();
}

} // namespace

TEST_CASE("A chunk costs its share of the stage, rounded to the nearest nanosecond, half up") {
  // 5 ns over 2 chunks: 2.5 -> 3; 4 ns over 3: 1.33 -> 1; 5 over 3: 1.67 -> 2
  CHECK(divide_rounded(5, 2) == 3);
  CHECK(divide_rounded(4, 3) == 1);
  CHECK(divide_rounded(5, 3) == 2);
  CHECK(divide_rounded(0, 7) == 0);
}

TEST_CASE("A uniform scenario halves the backward, with an odd nanosecond in the input gradient") {
  const Scenario scenario = uniform_scenario({.stages = 2, .microbatches = 3, .vpp = 2}, 5ns, 6ns, 4ns);
  CHECK(scenario.costs.forward == std::vector<Duration>(4, 3ns));
  CHECK(scenario.costs.input_grad == std::vector<Duration>(4, 2ns)); // 6/2 = 3 = 2 + 1
  CHECK(scenario.costs.weight_grad == std::vector<Duration>(4, 1ns));
  CHECK(scenario.network.latency == std::vector<Duration>(3, 4ns));
  CHECK(scenario.network.boundary_bytes == std::vector<Bytes>(3));
  CHECK(scenario.memory.activation == std::vector<Bytes>(4));
  CHECK_NOTHROW(validate(scenario));
}

TEST_CASE("A transfer on an idle link takes its latency and its bytes over the bandwidth") {
  Network network;
  network.latency = {5ns, 6ns};
  network.boundary_bytes = {Bytes{100}, Bytes{200}};
  CHECK(network.transfer_time(0, true) == 5ns);
  network.bandwidth = Bandwidth{10'000'000'000}; // 10 B/ns
  CHECK(network.transfer_time(0, true) == 15ns);
  CHECK(network.transfer_time(1, true) == 26ns);
}

TEST_CASE("Between nodes, latency and bandwidth are the inter-node ones, if given") {
  Network network;
  network.latency = {5ns};
  network.boundary_bytes = {Bytes{100}};
  network.bandwidth = Bandwidth{10'000'000'000};
  CHECK(network.transfer_time(0, false) == 15ns);
  network.inter_node_latency = 7ns;
  CHECK(network.transfer_time(0, false) == 17ns);
  network.inter_node_bandwidth = Bandwidth{1'000'000'000}; // 1 B/ns
  CHECK(network.transfer_time(0, false) == 107ns);
  CHECK(network.transfer_time(0, true) == 15ns);
}

TEST_CASE("Consecutive stages share a node, and without nodes all do") {
  Network network;
  CHECK(network.same_node(StageId{0}, StageId{7}));
  network.stages_per_node = 2; // 0 1 | 2 3
  CHECK(network.same_node(StageId{0}, StageId{1}));
  CHECK(!network.same_node(StageId{1}, StageId{2}));
  CHECK(network.same_node(StageId{2}, StageId{3}));
}

TEST_CASE("A network is free when no transfer takes any time") {
  Network network;
  network.latency = {0ns, 0ns};
  network.boundary_bytes = {Bytes{100}, Bytes{100}};
  CHECK(network.is_free());
  network.inter_node_latency = 1ns;
  CHECK(!network.is_free());
  network.inter_node_latency.reset();
  network.bandwidth = Bandwidth{1'000'000'000};
  CHECK(!network.is_free());
  network.bandwidth.reset();
  network.latency[1] = 1ns;
  CHECK(!network.is_free());
}

TEST_CASE("A list of the wrong length is refused with both lengths") {
  CHECK(refusal_after([](Scenario& s) { s.costs.forward.pop_back(); }) ==
        "`forward`: 3 values, but 4 are needed -- one value per chunk (or per boundary between chunks), by global id");
  CHECK(refusal_after([](Scenario& s) {
          s.network.latency.push_back(1ns);
        }).starts_with("`latency`: 4 values, but 3 are needed"));
  CHECK(refusal_after([](Scenario& s) {
          s.memory.activation.clear();
        }).starts_with("`activation-bytes`: 0 values, but 4"));
}

TEST_CASE("A negative cost, latency, size or overhead is refused") {
  CHECK(
      refusal_after([](Scenario& s) { s.costs.input_grad[1] = -3ns; }).starts_with("`input-grad`: negative value -3"));
  CHECK(refusal_after([](Scenario& s) { s.network.latency[0] = -1ns; }).starts_with("`latency`: negative value -1"));
  CHECK(refusal_after([](Scenario& s) {
          s.memory.optimizer[0] = Bytes{-2};
        }).starts_with("`optimizer-bytes`: negative value -2"));
  CHECK(refusal_after([](Scenario& s) { s.costs.overhead = -1ns; }).starts_with("`overhead`: negative"));
}

TEST_CASE("A shape without stages, microbatches or chunks, or beyond the limits, is refused by name") {
  CHECK(refusal_after([](Scenario& s) { s.shape.stages = 0; }).starts_with("`stages`: must be 1 to 4096, got 0"));
  CHECK(refusal_after([](Scenario& s) { s.shape.stages = 4097; }).starts_with("`stages`: must be 1 to 4096, got 4097"));
  CHECK(
      refusal_after([](Scenario& s) { s.shape.microbatches = 0; }).starts_with("`mb`: must be 1 to 134217728, got 0"));
  CHECK(refusal_after([](Scenario& s) {
          s.shape.vpp = 0;
        }).starts_with("`vpp`: stages x vpp must be 1 to 65535 chunks, got 0"));
  CHECK(refusal_after([](Scenario& s) {
          s.shape.vpp = 40'000;
        }).starts_with("`vpp`: stages x vpp must be 1 to 65535 chunks, got 80000"));
}

TEST_CASE("A run whose times or sizes could overflow is refused") {
  // 3 * 4 chunks * 2 microbatches * 2e17 ns > 4e18 ns
  CHECK(refusal_after([](Scenario& s) {
          s.costs.forward[0] = Duration{200'000'000'000'000'000};
        }).starts_with("costs: the stages together could run longer"));
  CHECK(refusal_after([](Scenario& s) {
          s.network.latency[0] = Duration{200'000'000'000'000'000};
        }).starts_with("costs: the stages together could run longer"));
  CHECK(refusal_after([](Scenario& s) {
          s.memory.activation[0] = Bytes{200'000'000'000'000'000};
        }).starts_with("sizes: the run would hold more"));
  CHECK(refusal_after([](Scenario& s) {
          s.memory.parameters[0] = Bytes{1'100'000'000'000'000'000};
        }).starts_with("sizes: the run would hold more"));
  // A transfer of 1.8e19 ns would wrap to a negative one.
  CHECK(refusal_after([](Scenario& s) {
          s.network.boundary_bytes[0] = Bytes{18'446'744'073};
          s.network.bandwidth = Bandwidth{1};
        }).starts_with("costs: the stages together could run longer"));
}

TEST_CASE("The accounts of all stages together stay in range, not only the makespan") {
  // makespan 4096 * 2 days = 7e17 ns fits, 4096 times that does not
  const Shape shape{.stages = 4096, .microbatches = 1, .vpp = 1};
  const Scenario scenario = uniform_scenario(shape, max_duration, max_duration);
  CHECK(refusal_of([&] { validate(scenario); }).lines.size() == 1);
}

TEST_CASE("All problems of a scenario are reported together") {
  Scenario scenario = uniform_scenario({.stages = 2, .microbatches = 2, .vpp = 1}, 10ns, 20ns);
  scenario.costs.forward = {-1ns, -2ns, 3ns};
  scenario.memory.gradients.clear();
  CHECK(refusal_of([&] { validate(scenario); }).lines.size() == 4); // length, two negative values, length
}

TEST_CASE("Transfer models and pair rules have the names that options use") {
  CHECK(to_string(TransferModel::latency) == "latency");
  CHECK(to_string(TransferModel::link) == "link");
  CHECK(to_string(TransferModel::blocking) == "blocking");
  CHECK(to_string(PairRule{}) == "sum");
  CHECK(to_string(PairRule{.kind = PairRule::Kind::max}) == "max");
  CHECK(to_string(PairRule{.kind = PairRule::Kind::serial}) == "serial");
  CHECK(to_string(PairRule{PairRule::Kind::factor, 800'000}) == "0.8");
}

} // namespace ppsim::test::scenario_test
