// Hanayo: waves (Liu et al., arXiv 2308.15762), their bubble and their memory.

#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/run_report.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>

namespace ppsim::test::hanayo_test {

using namespace std::chrono_literals;

namespace {

Shape shape(std::size_t stages, std::size_t microbatches, std::size_t waves) {
  return {.stages = stages, .microbatches = microbatches, .vpp = 2 * waves};
}

/// F and B of one chunk.
RunReport simulated(const Shape& shape, Duration forward, Duration backward) {
  const auto v = static_cast<std::int64_t>(shape.vpp);
  return run(generate("hanayo", shape), uniform_scenario(shape, v * forward, v * backward)).report;
}

std::optional<ClosedForm> form(const Shape& shape, Duration forward, Duration backward, Duration comm = 0ns) {
  const auto v = static_cast<std::int64_t>(shape.vpp);
  return closed_form(find_generator("hanayo"), {.shape = shape},
                     uniform_scenario(shape, v * forward, v * backward, comm));
}

} // namespace

TEST_CASE("Hanayo's microbatches turn around on their stage, with a new one every second step") {
  // The chunk of microbatch k runs F in step c + 2k and B in step 6 - c + 2k, where a step has room for both.
  CHECK(rows_of(generate("hanayo", shape(2, 2, 1))) ==
        Rows{"0F0 0F1 3F0 3B0 3F1 3B1 0B0 0B1", "1F0 2F0 1F1 2F1 2B0 1B0 2B1 1B1"});
}

TEST_CASE("The next unit of Hanayo begins as soon as the first leaves gaps, and may be short") {
  // microbatch 2 enters in step 4
  CHECK(rows_of(generate("hanayo", shape(2, 3, 1))) ==
        Rows{"0F0 0F1 3F0 3B0 0F2 3F1 3B1 0B0 3F2 3B2 0B1 0B2", "1F0 2F0 1F1 2F1 2B0 1F2 1B0 2F2 2B1 1B1 2B2 1B2"});
}

TEST_CASE("Two waves go down and up the stages twice") {
  CHECK(rows_of(generate("hanayo", shape(2, 1, 2))) ==
        Rows{"0F0 3F0 4F0 7F0 7B0 4B0 3B0 0B0", "1F0 2F0 5F0 6F0 6B0 5B0 2B0 1B0"});
}

TEST_CASE("Hanayo's chunks are placed in waves, two per stage by default") {
  const Generator& hanayo = find_generator("hanayo");
  CHECK(hanayo.vpp.standard == 2);
  CHECK(hanayo.place({.shape = shape(3, 1, 1)}) == placement_of(generate("hanayo", shape(3, 1, 1))));
  CHECK(refusal_of([] { (void)generate("hanayo", {.stages = 4, .microbatches = 8, .vpp = 3}); }).first() ==
        "`vpp`: must be a multiple of 2 here, got 3 -- 2 and 4 are the nearest");
}

TEST_CASE("Hanayo's bubble ratio is at most the paper's (2p-2)/(3pW+p-1) at B = 2F") {
  for (std::size_t p = 2; p <= 16; ++p)
    for (std::size_t waves = 1; waves <= 4; ++waves)
      for (const std::size_t m : {p, 2 * p, 4 * p}) {
        CAPTURE(p, waves, m);
        const double paper = static_cast<double>(2 * p - 2) / static_cast<double>(3 * p * waves + p - 1);
        CHECK(simulated(shape(p, m, waves), 1ms, 2ms).bubble_ratio < paper);
      }
}

TEST_CASE("Hanayo waits for 2(p-1) of the longer pass, whatever the ratio of F and B and the number of units") {
  for (const std::size_t m : {4U, 8U, 20U})
    for (const std::size_t waves : {1U, 3U}) {
      CAPTURE(m, waves);
      const std::size_t chunks = 2 * waves * m;
      CHECK(simulated(shape(4, m, waves), 1ms, 1ms).makespan == (2 * chunks + 6) * 1ms);
      CHECK(simulated(shape(4, m, waves), 1ms, 2ms).makespan == (3 * chunks + 12) * 1ms);
      CHECK(simulated(shape(4, m, waves), 5ms, 3ms).makespan == (8 * chunks + 30) * 1ms);
    }
}

TEST_CASE("Hanayo is no slower than the 1F1B-V order of the zero-bubble schedulers") {
  // Theirs for p = 4, m = 8 with F = I = W = 500 per chunk and no transfers spans 31 500 (shared/golden, 1f1bv).
  CHECK(simulated(shape(4, 8, 1), 500ns, 1000ns).makespan == 30'000ns);
}

TEST_CASE("Hanayo's closed form depends on the missing microbatches of a last unit") {
  CHECK(form(shape(4, 8, 2), 1ms, 2ms)->value == Approx(12.0 / (32.0 * 3.0)));
  CHECK(form(shape(4, 8, 2), 1ms, 2ms)->formula == "2(p-1)max(F,B)/(vm(F+B))");
  // m = 5 lacks 3 of 8, each 2 chunks: (6 + 6) * 2
  CHECK(form(shape(4, 5, 2), 1ms, 2ms)->value == Approx(24.0 / (20.0 * 3.0)));
  CHECK(simulated(shape(4, 5, 2), 1ms, 2ms).makespan == 84ms);
  // with one wave nothing is missed: 6 * 2
  CHECK(form(shape(4, 5, 1), 1ms, 2ms)->value == Approx(12.0 / (10.0 * 3.0)));
  // m = 3 of 4 is one unit: (6 + 2) * 2 + 4 * 1
  CHECK(form(shape(4, 3, 2), 1ms, 2ms)->value == Approx(20.0 / (12.0 * 3.0)));
  CHECK(simulated(shape(4, 3, 2), 1ms, 2ms).makespan == 56ms);
  CHECK(!form(shape(4, 8, 1), 1ms, 2ms, 1us));
}

TEST_CASE("A stage of Hanayo holds at most min(m, p) v chunk activations") {
  const auto live = [](std::size_t m) {
    std::vector<std::size_t> peaks;
    for (const StageReport& stage : simulated(shape(4, m, 3), 1ms, 2ms).stages)
      peaks.push_back(stage.peak_live_activations);
    return peaks;
  };
  CHECK(std::ranges::max(live(2)) == 12);
  CHECK(std::ranges::max(live(4)) == 24);
  CHECK(live(16) == std::vector<std::size_t>{24, 24, 24, 24});
}

} // namespace ppsim::test::hanayo_test
