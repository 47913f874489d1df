// Copies of the pipeline that are not alike, with a pencil.

#include "ppsim/study/copies.hpp"
#include "ppsim/study/evaluate.hpp"
#include "ppsim/study/synthesize.hpp"

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

TEST_CASE("A step takes as long as the slowest copy, and copies with equal stages are grouped") {
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

TEST_CASE("Entries for a copy override entries for all") {
  const Evaluation run = evaluate(spec_of({{.stage = 3, .ppm = 1'100'000}, {.copy = 7, .stage = 3, .ppm = 1'000'000}}));
  CHECK(run.report.step_time == 35'400us);
  REQUIRE(run.report.copies->alike.size() == 2);
  CHECK(run.report.copies->slowest == 0);
  CHECK(run.report.copies->alike[1].first == 7);
  CHECK(run.report.copies->without_slowest() == 33ms);
  CHECK(!evaluate(spec_of({{.stage = 3, .ppm = 1'100'000}})).report.copies);
}

TEST_CASE("Of equal copies none can be left out") {
  RunSpec spec = spec_of({{.copy = 0, .stage = 3, .ppm = 1'100'000}});
  spec.training.data_parallel = 1;
  const Evaluation run = evaluate(spec);
  CHECK(run.report.step_time == 35'400us);
  CHECK(!run.report.copies->without_slowest());
}

TEST_CASE("An order is searched for the copy that is slowest on every stage; without one there is an error") {
  const SynthesisRequest request{.placements = {find_chunk_placement("linear").value()}, .effort = 1};
  RunSpec spec = spec_of({{.copy = 2, .stage = 3, .ppm = 1'500'000}, {.copy = 5, .stage = 3, .ppm = 1'100'000}});
  spec.activation_limit = 4;
  RunSpec alone = spec_of({{.stage = 3, .ppm = 1'500'000}});
  alone.activation_limit = 4;
  const Synthesis found = synthesize(spec, request);
  const Synthesis expected = synthesize(alone, request);
  CHECK(found.orders.front().makespan == expected.orders.front().makespan);
  CHECK(found.orders.front().bound == expected.orders.front().bound);
  CHECK(found.notes.front().find("copy 2") != std::string::npos);
  RunSpec all = spec; // the order, run by all copies
  all.order = found.orders.front().spec.order;
  all.stages.reset();
  all.microbatches.reset();
  all.activation_limit.reset();
  CHECK(evaluate(all).report.makespan == found.orders.front().makespan);
  CHECK_THROWS_WITH(
      synthesize(spec_of({{.copy = 2, .stage = 3, .ppm = 1'500'000}, {.copy = 5, .stage = 1, .ppm = 1'100'000}}),
                 request),
      Catch::Contains("on every stage"));
  CHECK_THROWS_WITH(synthesize(spec_of({{.copy = 9, .stage = 3, .ppm = 1'500'000}}), request),
                    Catch::Contains("no copy 9"));
  // all but one are slow: that is the copy that counts
  CHECK(slowest_copy(spec_of({{.stage = 0, .ppm = 1'200'000}, {.copy = 0, .stage = 0, .ppm = 1'000'000}}))->number ==
        1);
}

} // namespace ppsim::test::copies_test
