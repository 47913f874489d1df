// Memory: when an activation lives, peaks, and the first moment at which a device is too small.

#include "ppsim/study/run_report.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <vector>

namespace ppsim::test::memory_test {

using namespace std::chrono_literals;

namespace {

const Rows one_f_one_b{"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"};

/// p = 2, m = 2, F = 10, B = 20, c = 3; activations 100 and 10 bytes, 8 and 5 static.
///   stage 0  0F0[0,10) 0F1[10,20) . 0B0[46,66) . 0B1[76,96)
///   stage 1  . 1F0[13,23) 1B0[23,43) 1F1[43,53) 1B1[53,73)
Scenario small_scenario() {
  Scenario scenario = uniform_scenario({.stages = 2, .microbatches = 2, .vpp = 1}, 10ns, 20ns, 3ns);
  scenario.memory.activation = {Bytes{100}, Bytes{10}};
  scenario.memory.parameters = {Bytes{1}, Bytes{2}};
  scenario.memory.gradients = {Bytes{3}, Bytes{2}};
  scenario.memory.optimizer = {Bytes{4}, Bytes{1}};
  return scenario;
}

std::vector<std::size_t> peaks(const RunReport& report) {
  std::vector<std::size_t> live;
  for (const StageReport& stage : report.stages) live.push_back(stage.peak_live_activations);
  return live;
}

std::vector<std::size_t> peaks(std::string_view name, const Shape& shape) {
  return peaks(run(generate(name, shape), uniform_scenario(shape, 1ms, 2ms)).report);
}

/// The peak of one stage's order on a pipeline of one stage.
std::size_t peak_of(const std::string& row, PairRule pair = {}) {
  Schedule schedule = order({row});
  Scenario scenario = uniform_scenario(schedule.shape(), 10ns, 20ns);
  scenario.pair = pair;
  return run(std::move(schedule), std::move(scenario)).report.stages[0].peak_live_activations;
}

} // namespace

TEST_CASE("An activation is live from the start of its forward to the end of its backward") {
  const Outcome outcome = run(order(one_f_one_b), small_scenario());
  CHECK(points(outcome, 0) == std::vector<Point>{{0, 8, 0}, {0, 108, 1}, {10, 208, 2}, {66, 108, 1}, {96, 8, 0}});
}

TEST_CASE("An activation that ends when the next begins is not counted twice") {
  // 1B0 ends at 43 when 1F1 starts: at no moment do two activations live
  const Outcome outcome = run(order(one_f_one_b), small_scenario());
  CHECK(points(outcome, 1) == std::vector<Point>{{0, 5, 0}, {13, 15, 1}, {43, 15, 1}, {73, 5, 0}});
  CHECK(outcome.report.stages[1].peak_live_activations == 1);
  CHECK(outcome.report.stages[1].peak_activation_bytes == Bytes{10});
}

TEST_CASE("The peak has its first moment and the task that reaches it") {
  const Outcome outcome = run(order(one_f_one_b), small_scenario());
  const StageReport& stage = outcome.report.stages[0];
  CHECK(stage.peak_live_activations == 2);
  CHECK(stage.peak_activation_bytes == Bytes{200});
  CHECK(stage.static_bytes == Bytes{8});
  CHECK(stage.peak_bytes() == Bytes{208});
  CHECK(stage.peak_at == SimTime{10ns});
  CHECK(stage.peak_task == outcome.id("0F1"));
}

TEST_CASE("Without sizes, the peak is the moment with the most live activations") {
  Scenario scenario = small_scenario();
  scenario.memory.activation = {Bytes{0}, Bytes{0}};
  const Outcome outcome = run(order(one_f_one_b), scenario);
  CHECK(outcome.report.stages[0].peak_at == SimTime{10ns});
  CHECK(outcome.report.stages[0].peak_task == outcome.id("0F1"));
}

TEST_CASE("With unequal chunks the most bytes and the most activations may be at different moments") {
  //  one stage, chunks of 100 and 1 bytes: 0F0 (100), 1F0 (101), 1B0 (100), 0B0 (0), then 0F1 1F1 ...
  Scenario scenario = uniform_scenario({.stages = 1, .microbatches = 3, .vpp = 2}, 20ns, 40ns);
  scenario.memory.activation = {Bytes{1}, Bytes{100}};
  const Outcome outcome = run(order({"0F0 1F0 1B0 0F1 0F2 0B0 1F1 1B1 0B1 1F2 1B2 0B2"}), scenario);
  // live: 1 2 1 2 3 | 2 3 2 1 2 1 0; bytes: 1 101 1 2 3 | 2 102 2 1 101 1 0
  const StageReport& stage = outcome.report.stages[0];
  CHECK(stage.peak_live_activations == 3);
  CHECK(stage.peak_activation_bytes == Bytes{102});
  CHECK(stage.peak_task == outcome.id("1F1"));
}

TEST_CASE("With a split backward, the activation is live until the end of W") {
  CHECK(peak_of("0F0 0B0 0F1 0B1") == 1);
  CHECK(peak_of("0F0 0I0 0W0 0F1 0I1 0W1") == 1);
  CHECK(peak_of("0F0 0I0 0F1 0W0 0I1 0W1") == 2);
  CHECK(peak_of("0F0 0I0 0F1 0I1 0F2 0I2 0W0 0W1 0W2") == 3);
}

TEST_CASE("In a pair that runs in one piece, both activations are live, whichever half is named first") {
  CHECK(peak_of("0F0 (0F1;0B0) 0B1") == 2);
  CHECK(peak_of("0F0 (0B0;0F1) 0B1") == 2);
  CHECK(peak_of("0F0 (0F1;0B0) 0B1", {.kind = PairRule::Kind::serial}) == 2);
  CHECK(peak_of("0F0 (0B0;0F1) 0B1", {.kind = PairRule::Kind::serial}) == 1);
}

TEST_CASE("GPipe holds all microbatches on every stage") {
  CHECK(peaks("gpipe", {.stages = 4, .microbatches = 8, .vpp = 1}) == std::vector<std::size_t>{8, 8, 8, 8});
}

TEST_CASE("1F1B holds p-s on stage s, or m if there are fewer") {
  CHECK(peaks("1f1b", {.stages = 8, .microbatches = 32, .vpp = 1}) == std::vector<std::size_t>{8, 7, 6, 5, 4, 3, 2, 1});
  CHECK(peaks("1f1b", {.stages = 4, .microbatches = 2, .vpp = 1}) == std::vector<std::size_t>{2, 2, 2, 1});
}

TEST_CASE(
    "Interleaving raises stage 0's peak by the factor 1 + (p-1)/(pv), less with more chunks, never below 1F1B's") {
  // Korthikanti et al., arXiv 2205.05198, section 4.2.3.
  // p = 8: v = 2 23 chunks of half a stage = 11.5, v = 4 39 quarters = 9.75; 1F1B 8
  const auto stages_held = [](std::size_t vpp) {
    return static_cast<double>(peaks("interleaved", {.stages = 8, .microbatches = 32, .vpp = vpp}).front()) /
           static_cast<double>(vpp);
  };
  CHECK(stages_held(1) == 8.0);
  CHECK(stages_held(2) == 11.5);
  CHECK(stages_held(4) == 9.75);
  CHECK(stages_held(2) / 8.0 == Approx(1.0 + 7.0 / 16.0));
  CHECK(stages_held(4) / 8.0 == Approx(1.0 + 7.0 / 32.0));
}

TEST_CASE("A stage holds the parameters, gradients and optimizer state of all its chunks") {
  const Shape shape{.stages = 2, .microbatches = 2, .vpp = 2};
  Scenario scenario = uniform_scenario(shape, 10ns, 20ns);
  scenario.memory.parameters = {Bytes{1}, Bytes{2}, Bytes{4}, Bytes{8}};
  scenario.memory.gradients = {Bytes{10}, Bytes{20}, Bytes{40}, Bytes{80}};
  scenario.memory.optimizer = {Bytes{100}, Bytes{200}, Bytes{400}, Bytes{800}};
  const RunReport report = run(generate("interleaved", shape), scenario).report;
  CHECK(report.stages[0].static_bytes == Bytes{555}); // chunks 0 and 2
  CHECK(report.stages[1].static_bytes == Bytes{1110});
}

TEST_CASE("A run fits if its peak equals the limit") {
  Scenario scenario = small_scenario();
  scenario.memory.limit = Bytes{208};
  CHECK(!run(order(one_f_one_b), scenario).report.overflow);
}

TEST_CASE("A run that does not fit is reported with place, time and task") {
  Scenario scenario = small_scenario();
  scenario.memory.limit = Bytes{207};
  const Outcome outcome = run(order(one_f_one_b), scenario);
  REQUIRE(outcome.report.overflow);
  CHECK(outcome.report.overflow->stage == StageId{0});
  CHECK(outcome.report.overflow->task == outcome.id("0F1"));
  CHECK(outcome.report.overflow->at == SimTime{10ns});
  CHECK(outcome.report.overflow->needed == Bytes{208});
}

TEST_CASE("The first moment is reported, not the peak, for the earliest stage") {
  Scenario scenario = small_scenario();
  scenario.memory.limit = Bytes{14}; // both stages: stage 0 at its first forward, stage 1 at 13
  const Outcome outcome = run(order(one_f_one_b), scenario);
  REQUIRE(outcome.report.overflow);
  CHECK(outcome.report.overflow->stage == StageId{0});
  CHECK(outcome.report.overflow->task == outcome.id("0F0"));
  CHECK(outcome.report.overflow->needed == Bytes{108});

  scenario.memory.activation = {Bytes{1}, Bytes{10}}; // stage 0 needs at most 10
  const Outcome later = run(order(one_f_one_b), scenario);
  REQUIRE(later.report.overflow);
  CHECK(later.report.overflow->stage == StageId{1});
  CHECK(later.report.overflow->at == SimTime{13ns});
}

TEST_CASE("Parameters alone may exceed the limit") {
  Scenario scenario = small_scenario();
  scenario.memory.limit = Bytes{6};
  const RunReport report = run(order(one_f_one_b), scenario).report;
  REQUIRE(report.overflow);
  CHECK(report.overflow->stage == StageId{0});
  CHECK(report.overflow->task == no_task);
  CHECK(report.overflow->at == SimTime{0ns});
  CHECK(report.overflow->needed == Bytes{8});
}

} // namespace ppsim::test::memory_test
