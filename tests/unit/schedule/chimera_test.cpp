// Chimera: the order of Li and Hoefler, arXiv 2107.06925, its bubble and its memory.

#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/run_report.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>

namespace ppsim::test::chimera_test {

using namespace std::chrono_literals;

namespace {

Shape shape(std::size_t stages, std::size_t microbatches) {
  return {.stages = stages, .microbatches = microbatches};
}

RunReport simulated(std::size_t stages, std::size_t microbatches, Duration forward, Duration backward) {
  const Schedule schedule = generate("chimera", shape(stages, microbatches));
  return run(schedule, uniform_scenario(schedule.shape(), forward, backward)).report;
}

std::optional<ClosedForm> form(std::size_t stages, std::size_t microbatches, Duration forward, Duration backward,
                               Duration comm = 0ns) {
  const ScheduleRequest request{.shape = shape(stages, microbatches)};
  return closed_form(find_generator("chimera"), request, uniform_scenario(request.shape, forward, backward, comm));
}

std::string refusal(std::size_t stages, std::size_t microbatches) {
  return refusal_of([&] { (void)generate("chimera", shape(stages, microbatches)); }).first();
}

} // namespace

TEST_CASE("Chimera sends half of the microbatches down the stages and half up, as in the paper's figure") {
  CHECK(rows_of(generate("chimera", shape(4, 4))) ==
        Rows{"0F0 0F1 3F2 3B2 3F3 3B3 0B0 0B1", "1F0 2F2 1F1 2F3 2B2 1B0 2B3 1B1", "1F2 2F0 1F3 2F1 2B0 1B2 2B1 1B3",
             "0F2 0F3 3F0 3B0 3F1 3B1 0B2 0B3"});
}

TEST_CASE("Chimera runs more than p microbatches in units of p that interlock, the last of which may be shorter") {
  // 3 each way: 0 1 and 3 4 are the first unit, 2 and 5 the second; its F2 goes before B1 on stage 0
  CHECK(rows_of(generate("chimera", shape(4, 6))) ==
        Rows{"0F0 0F1 3F3 3B3 3F4 3B4 0B0 0F2 0B1 3F5 3B5 0B2", "1F0 2F3 1F1 2F4 2B3 1B0 2B4 1B1 1F2 2F5 2B5 1B2",
             "1F3 2F0 1F4 2F1 2B0 1B3 2B1 1B4 1F5 2F2 2B2 1B5", "0F3 0F4 3F0 3B0 3F1 3B1 0B3 0F5 0B4 3F2 3B2 0B5"});
}

TEST_CASE("Chimera on two stages has no bubble") {
  CHECK(rows_of(generate("chimera", shape(2, 4))) ==
        Rows{"0F0 1F2 1B2 0B0 0F1 1F3 1B3 0B1", "0F2 1F0 1B0 0B2 0F3 1F1 1B1 0B3"});
  CHECK(simulated(2, 4, 1ms, 2ms).makespan == 12ms);
}

TEST_CASE("Chimera with m = p has the paper's bubble ratio at F = B and at B = 2F") {
  for (std::size_t stages = 2; stages <= 32; stages += 2) {
    CAPTURE(stages);
    const auto p = static_cast<double>(stages);
    CHECK(simulated(stages, stages, 1ms, 1ms).bubble_ratio == Approx((p - 2) / (2 * p + p - 2)));
    CHECK(simulated(stages, stages, 1ms, 2ms).bubble_ratio == Approx((p - 2) / (1.5 * p + p - 2)));
  }
}

TEST_CASE("At F = B Chimera's units follow one another without a gap") {
  for (const std::size_t units : {1U, 2U, 5U}) {
    const std::size_t m = 8 * units;
    CHECK(simulated(8, m, 1ms, 1ms).makespan == (2 * m + 6) * 1ms);
  }
}

TEST_CASE("Chimera's closed form includes the waits of each unit if F and B differ") {
  // p = 4, m = 8 is two units: 2(B + |F-B|) = 2(2 + 1) over 8 * 3
  CHECK(form(4, 8, 1ms, 2ms)->value == Approx(6.0 / 24.0));
  CHECK(simulated(4, 8, 1ms, 2ms).makespan == 30ms);
  // m = 2 is half a unit: 2 * 2 + 2 * 1 over 2 * 3
  CHECK(form(4, 2, 1ms, 2ms)->value == Approx(1.0));
  CHECK(simulated(4, 2, 1ms, 2ms).makespan == 12ms);
  // F = B: p-2 and the two microbatches that the last unit lacks
  CHECK(form(4, 6, 1ms, 1ms)->value == Approx(4.0 / 12.0));
  CHECK(simulated(4, 6, 1ms, 1ms).makespan == 16ms);
}

TEST_CASE("Chimera's closed form is omitted if a last unit is short and F and B differ, and with transfers") {
  CHECK(!form(4, 6, 1ms, 2ms));
  CHECK(!form(4, 8, 1ms, 2ms, 1us));
}

TEST_CASE("Chimera holds between p/2 + 1 and p activations, most on the middle stages") {
  const RunReport report = simulated(8, 24, 1ms, 2ms);
  std::vector<std::size_t> live;
  for (const StageReport& stage : report.stages) live.push_back(stage.peak_live_activations);
  CHECK(live == std::vector<std::size_t>{5, 6, 7, 8, 8, 7, 6, 5});
}

TEST_CASE("Chimera keeps two copies of the parameters, one for each direction") {
  const Schedule schedule = generate("chimera", shape(4, 4));
  Scenario scenario = uniform_scenario(schedule.shape(), 1ms, 2ms);
  scenario.memory.parameters = {Bytes{1}, Bytes{10}, Bytes{100}, Bytes{1000}};
  const RunReport report = run(schedule, scenario).report;
  CHECK(report.stages[0].static_bytes == Bytes{1001});
  CHECK(report.stages[2].static_bytes == Bytes{110});
}

TEST_CASE("Chimera refuses an odd number of stages or microbatches and names the nearest that work") {
  CHECK(refusal(5, 8) == "`stages`: must be even here (two pipelines in opposite directions meet between stages), got "
                         "5 -- 4 and 6 are the nearest to 5");
  CHECK(refusal(4, 7) ==
        "`mb`: must be even here (half of the microbatches go each way), got 7 -- 6 and 8 are the nearest to 7");
  CHECK(refusal(1, 2).ends_with("got 1 -- 2 is the nearest to 1"));
  CHECK(refusal(4, 1).ends_with("got 1 -- 2 is the nearest to 1"));
}

} // namespace ppsim::test::chimera_test
