// Copies of the pipeline that are not alike, with a pencil.

#include "ppsim/study/copies.hpp"
#include "ppsim/study/evaluate.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <vector>

namespace ppsim::test::copies_test {

using namespace std::chrono_literals;

namespace {

RunSpec spec_of(std::vector<SlowStage> slow) {
  RunSpec spec;
  spec.stages = 4;
  spec.microbatches = 8;
  spec.training.data_parallel = 8;
  spec.slow = std::move(slow);
  return spec;
}

} // namespace

TEST_CASE("A step takes what the slowest copy takes, and copies whose stages take the same are alike") {
  // 1F1B, F = 1 ms, B = 2 ms: 33 ms; where the last stage takes 1.1 times as long: 3 (1 + 2) + 8 * 3.3 = 35.4 ms
  const Evaluation run = evaluate(spec_of({{.copy = 2, .stage = 3, .ppm = 1'100'000},
                                           {.copy = 5, .stage = 3, .ppm = 1'100'000},
                                           {.copy = 1, .stage = 0, .ppm = 1'000'000}}));
  CHECK(run.report.step_time == 35'400us);
  REQUIRE(run.report.copies);
  const CopiesReport& copies = *run.report.copies;
  REQUIRE(copies.alike.size() == 2);
  CHECK(copies.alike[0].first == 0);
  CHECK(copies.alike[0].count == 6);
  CHECK(copies.alike[0].step_time == 33ms);
  CHECK(copies.alike[1].first == 2);
  CHECK(copies.alike[1].count == 2);
  CHECK(copies.slowest == 1);
  CHECK(copies.without_slowest() == 33ms);
}

TEST_CASE("What is said of a copy stands above what is said of all") {
  const Evaluation run = evaluate(spec_of({{.stage = 3, .ppm = 1'100'000}, {.copy = 7, .stage = 3, .ppm = 1'000'000}}));
  CHECK(run.report.step_time == 35'400us);
  REQUIRE(run.report.copies->alike.size() == 2);
  CHECK(run.report.copies->slowest == 0);
  CHECK(run.report.copies->alike[1].first == 7);
  CHECK(run.report.copies->without_slowest() == 33ms);
  CHECK(!evaluate(spec_of({{.stage = 3, .ppm = 1'100'000}})).report.copies);
}

TEST_CASE("Of copies that are all alike none can be left out") {
  RunSpec spec = spec_of({{.copy = 0, .stage = 3, .ppm = 1'100'000}});
  spec.training.data_parallel = 1;
  const Evaluation run = evaluate(spec);
  CHECK(run.report.step_time == 35'400us);
  CHECK(!run.report.copies->without_slowest());
}

} // namespace ppsim::test::copies_test
