// DualPipe and DualPipeV: two streams of microbatches per stage, forwards of one overlapped with backwards of the
// other.

#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

namespace ppsim::test::generators_dualpipe_test {

using namespace std::chrono_literals;

namespace {

Refusal refusal(std::string_view name, const Shape& shape) {
  const Refusal refusal = refusal_of([&] { (void)generate(name, shape); });
  CHECK(refusal.code == ExitCode::bad_input);
  return refusal;
}

/// F = I = W = `pass` for every chunk.
Scenario equal_passes(const Shape& shape, Duration pass) {
  Scenario scenario = uniform_scenario(shape, 0ns, 0ns);
  for (auto* costs : {&scenario.costs.forward, &scenario.costs.input_grad, &scenario.costs.weight_grad})
    costs->assign(shape.chunks(), pass);
  return scenario;
}

std::optional<ClosedForm> form(std::string_view name, const Scenario& scenario) {
  return closed_form(find_generator(name), {.shape = scenario.shape}, scenario);
}

} // namespace

TEST_CASE("DualPipe on two stages: both are at the turn, and mirror each other") {
  const Schedule schedule = generate("dualpipe", {.stages = 2, .microbatches = 4, .vpp = 1});
  CHECK(schedule == order({"0F0 1F2 0F1 1B2 (1F3;0B0) 1B3 0I1 0W1", "0F2 1F0 0F3 1B0 (1F1;0B2) 1B1 0I3 0W3"}));
  CHECK(schedule.warmup_forwards(make_id<StageId>(0)) == std::size_t{2});
}

TEST_CASE("DualPipe runs chunk s for the first half of the microbatches and chunk p-1-s for the second") {
  const Schedule schedule = generate("dualpipe", {.stages = 6, .microbatches = 14, .vpp = 1});
  for (std::size_t stage = 0; stage < 6; ++stage)
    for (const Task& task : schedule.stage(make_id<StageId>(stage)))
      CHECK(task.chunk_index == (index(task.microbatch) < 7 ? stage : 5 - stage));
}

TEST_CASE("DualPipe holds two copies of the parameters, DualPipeV one") {
  const auto held = [](std::string_view name, const Shape& shape) {
    Scenario scenario = uniform_scenario(shape, 1ms, 2ms);
    scenario.memory.parameters.assign(shape.chunks(), Bytes{100});
    Bytes sum{0};
    for (const StageReport& stage : run(generate(name, shape), scenario).report.stages) sum += stage.static_bytes;
    return sum;
  };
  CHECK(held("dualpipe", {.stages = 4, .microbatches = 8, .vpp = 1}) == Bytes{800});
  CHECK(held("dualpipe-v", {.stages = 4, .microbatches = 8, .vpp = 2}) == Bytes{800}); // 8 chunks, once each
}

TEST_CASE("DualPipeV on two stages, by hand") {
  const Schedule schedule = generate("dualpipe-v", {.stages = 2, .microbatches = 4, .vpp = 2});
  CHECK(schedule == order({"0F0 0F1 0F2 3F0 3I0 3W0 3F1 (0F3;3B1) (3F2;0B0) 3B2 (3F3;0B1) 3B3 0I2 0W2 0I3 0W3",
                           "1F0 2F0 1F1 2F1 1F2 2B0 (2F2;1B0) (1F3;2B1) (2F3;1B1) 2B2 1B2 2I3 1I3 2W3 1W3"}));
  CHECK(schedule.warmup_forwards(make_id<StageId>(0)) == std::size_t{4});
  CHECK(schedule.warmup_forwards(make_id<StageId>(1)) == std::size_t{4});
}

TEST_CASE("DualPipeV runs on a single stage, which is the turn") {
  CHECK(generate("dualpipe-v", {.stages = 1, .microbatches = 2, .vpp = 2}) ==
        order({"0F0 1F0 0F1 1B0 (1F1;0B0) 1B1 0I1 0W1"}));
}

TEST_CASE("At the turn an odd number of drain rounds splits the backwards from the middle of a round on") {
  // p = 3, m = 6, last stage: three rounds of 3B 2B, six backwards, the last three split
  const std::string row = rows_of(generate("dualpipe-v", {.stages = 3, .microbatches = 6, .vpp = 2}))[2];
  CHECK(row.ends_with("3B3 2B3 3B4 2I4 3I5 2I5 2W4 3W5 2W5"));
}

TEST_CASE("DualPipe refuses the same as its source, with the nearest values that work") {
  CHECK(
      refusal("dualpipe", {.stages = 3, .microbatches = 8, .vpp = 1}).first() ==
      "`stages`: must be even here, as stages s and p-1-s hold the same chunks, got 3 -- 2 and 4 are the nearest to 3");
  CHECK(refusal("dualpipe", {.stages = 4, .microbatches = 9, .vpp = 1}).first() ==
        "`mb`: must be even here, as each direction takes half, got 9 -- 8 and 10 are the nearest to 9");
  CHECK(refusal("dualpipe", {.stages = 4, .microbatches = 7, .vpp = 1}).first() ==
        "`mb`: must be at least 2p = 8 here, got 7 -- 8 is the nearest");
  CHECK(refusal("dualpipe", {.stages = 1, .microbatches = 1, .vpp = 1}).lines.size() == 2);
  CHECK(refusal("dualpipe", {.stages = 4, .microbatches = 8, .vpp = 2}).first() ==
        "`vpp`: 'dualpipe' runs one chunk per stage, got 2 -- leave `vpp` out, or use `schedule` interleaved");
}

TEST_CASE("DualPipeV refuses fewer than 2p microbatches, and takes an odd number") {
  CHECK(refusal("dualpipe-v", {.stages = 4, .microbatches = 7, .vpp = 2}).first() ==
        "`mb`: must be at least 2p = 8 here, got 7 -- 8 is the nearest");
  CHECK_NOTHROW(generate("dualpipe-v", {.stages = 3, .microbatches = 7, .vpp = 2}));
}

TEST_CASE("Closed forms of DualPipe hold for equal passes and pairs that last F + B") {
  const Shape bidirectional{.stages = 8, .microbatches = 20, .vpp = 1};
  const Shape folded{.stages = 4, .microbatches = 20, .vpp = 2};
  // (8/2 - 1)(3 + 2 - 3) passes of 20 * 3; (4 - 1)(3 + 2 - 3) chunk passes of 20 * 6
  CHECK(form("dualpipe", equal_passes(bidirectional, 10ns))->value == Approx(6.0 / 60.0));
  CHECK(form("dualpipe-v", equal_passes(folded, 10ns))->value == Approx(6.0 / 120.0));
  for (const auto& [name, shape] : {std::pair{"dualpipe", bidirectional}, std::pair{"dualpipe-v", folded}}) {
    CAPTURE(name);
    Scenario scenario = equal_passes(shape, 10ns);
    scenario.pair.kind = PairRule::Kind::serial;
    CHECK(form(name, scenario));
    scenario.pair.kind = PairRule::Kind::max;
    CHECK(!form(name, scenario));
    scenario = equal_passes(shape, 10ns);
    scenario.costs.overhead = 1ns; // B pays it once, I and W once each
    CHECK(!form(name, scenario));
    CHECK(!form(name, uniform_scenario(shape, 10ns, 10ns)));
  }
}

} // namespace ppsim::test::generators_dualpipe_test
