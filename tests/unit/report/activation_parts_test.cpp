// Parts of an activation that go before the rest, outputs that go once sent, and parameters that are there several
// times.

#include "ppsim/viz/text.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>

namespace ppsim::test::activation_parts_test {

using namespace std::chrono_literals;

namespace {

/// F = 10, I = W = 10, transfers 3; activations of 100 bytes, 40 of them for W.
Scenario parted(const Shape& shape) {
  Scenario scenario = uniform_scenario(shape, static_cast<std::int64_t>(shape.vpp) * 10ns,
                                       static_cast<std::int64_t>(shape.vpp) * 20ns, 3ns);
  scenario.memory.activation.assign(shape.chunks(), Bytes{100});
  scenario.memory.activation_for_weight.assign(shape.chunks(), Bytes{40});
  return scenario;
}

/// The same with outputs of 30 bytes that are given up once sent.
Scenario releasing(const Shape& shape) {
  Scenario scenario = parted(shape);
  scenario.network.boundary_bytes.assign(shape.chunks() - 1, Bytes{30});
  scenario.memory.release_outputs = true;
  return scenario;
}

constexpr Shape one{.stages = 1, .microbatches = 1, .vpp = 1};
constexpr Shape two{.stages = 2, .microbatches = 1, .vpp = 1};

} // namespace

TEST_CASE("Of a split backward's activation, the part for W is live until the end of W, the rest until the end of I") {
  CHECK(points(run(order({"0F0 0I0 0W0"}), parted(one)), 0) ==
        std::vector<Point>{{0, 0, 0}, {0, 100, 1}, {20, 40, 1}, {30, 0, 0}});
}

TEST_CASE("A whole backward frees its activation at its end, whatever W needs") {
  CHECK(points(run(order({"0F0 0B0"}), parted(one)), 0) == std::vector<Point>{{0, 0, 0}, {0, 100, 1}, {30, 0, 0}});
}

TEST_CASE("Parts lower the peak, not the number of live activations") {
  // 0F0 0I0 0F1 0I1: 100 before the end of 0I0, then 40 + 100
  const Shape shape{.stages = 1, .microbatches = 2, .vpp = 1};
  const Outcome outcome = run(order({"0F0 0I0 0F1 0I1 0W0 0W1"}), parted(shape));
  CHECK(outcome.report.stages[0].peak_activation_bytes == Bytes{140});
  CHECK(outcome.report.stages[0].peak_live_activations == 2);
}

TEST_CASE("In a pair that runs in one piece, I frees its part when the pair ends") {
  const Shape shape{.stages = 1, .microbatches = 2, .vpp = 1};
  CHECK(points(run(order({"0F0 (0F1;0I0) 0W0 0I1 0W1"}), parted(shape)), 0) ==
        std::vector<Point>{{0, 0, 0}, {0, 100, 1}, {10, 200, 2}, {30, 140, 2}, {40, 100, 1}, {50, 40, 1}, {60, 0, 0}});
}

TEST_CASE("A part for W that is larger than the activation is refused") {
  Scenario scenario = parted(two);
  scenario.memory.activation_for_weight[1] = Bytes{101};
  CHECK(refusal_of([&] { validate(scenario); }).first() ==
        "`weight-activation-bytes`: chunk 1: part for W of 101 B is more than its activation of 100 B -- it must be "
        "part of the activation");
}

TEST_CASE("An output is freed when its transfer ends") {
  //  stage 0  0F0[0,10) sends to 13 . 0B0[46,66)
  //  stage 1  . 1F0[13,23) 1B0[23,43), and nothing to send up
  const Outcome outcome = run(order({"0F0 0B0", "1F0 1B0"}), releasing(two));
  CHECK(points(outcome, 0) == std::vector<Point>{{0, 0, 0}, {0, 100, 1}, {13, 70, 1}, {66, 0, 0}});
  CHECK(points(outcome, 1) == std::vector<Point>{{0, 0, 0}, {13, 100, 1}, {43, 0, 0}});
}

TEST_CASE("An output whose transfer ends during later tasks is freed between them") {
  //  0F0[0,10) 0F1[10,20): the first output is there at 13, the second at 23
  const Shape shape{.stages = 2, .microbatches = 2, .vpp = 1};
  const Outcome outcome = run(order({"0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1"}), releasing(shape));
  //  1F0[13,23) 1F1[23,33) 1B0[33,53) 1B1[53,73): 0B0[56,76) 0B1[76,96)
  CHECK(points(outcome, 0) ==
        std::vector<Point>{{0, 0, 0}, {0, 100, 1}, {10, 200, 2}, {13, 170, 2}, {23, 140, 2}, {76, 70, 1}, {96, 0, 0}});
}

TEST_CASE("An output for the same stage is not freed") {
  const Shape shape{.stages = 1, .microbatches = 1, .vpp = 2};
  CHECK(points(run(order({"0F0 1F0 1B0 0B0"}), releasing(shape)), 0) ==
        std::vector<Point>{{0, 0, 0}, {0, 100, 1}, {10, 200, 2}, {40, 100, 1}, {60, 0, 0}});
}

TEST_CASE("W needs at most what remains without the output") {
  // 70 of 100 remain; W needs 80
  Scenario scenario = releasing(two);
  scenario.memory.activation_for_weight = {Bytes{80}, Bytes{80}};
  //  stage 0  0F0[0,10) . 0I0[36,46) 0W0[46,56)
  CHECK(points(run(order({"0F0 0I0 0W0", "1F0 1I0 1W0"}), scenario), 0) ==
        std::vector<Point>{{0, 0, 0}, {0, 100, 1}, {13, 70, 1}, {56, 0, 0}});
}

TEST_CASE("Full recomputation keeps no output to release, selective does") {
  Scenario scenario = releasing(two);
  scenario.recompute = {.kind = RecomputeKind::full, .time = {5ns, 5ns}, .checkpoint = {Bytes{50}, Bytes{50}}};
  //  stage 0  0F0[0,10) . 0B0[51,76)
  const Schedule schedule = order({"0F0 0B0", "1F0 1B0"});
  CHECK(points(run(schedule, scenario), 0) == std::vector<Point>{{0, 0, 0}, {0, 50, 1}, {51, 100, 1}, {76, 0, 0}});
  scenario.recompute.kind = RecomputeKind::selective;
  CHECK(points(run(schedule, scenario), 0) ==
        std::vector<Point>{{0, 0, 0}, {0, 50, 1}, {13, 20, 1}, {51, 70, 1}, {76, 0, 0}});
}

TEST_CASE("An output larger than its activation, or than a recomputed forward's part of it, is refused") {
  Scenario scenario = releasing(two);
  scenario.network.boundary_bytes = {Bytes{101}};
  CHECK(refusal_of([&] { validate(scenario); }).first() ==
        "`boundary-bytes`: chunk 0: output of 101 B is more than its activation of 100 B -- it must be part of the "
        "activation");
  scenario.network.boundary_bytes = {Bytes{60}};
  scenario.recompute = {.kind = RecomputeKind::selective, .time = {5ns, 5ns}, .checkpoint = {Bytes{50}, Bytes{50}}};
  CHECK(refusal_of([&] { validate(scenario); }).lines.size() == 1);
  scenario.recompute.kind = RecomputeKind::full;
  CHECK(refusal_of([&] { validate(scenario); }).lines.empty());
}

TEST_CASE("Without a flush, a stage keeps its parameters once per active microbatch") {
  const Shape shape{.stages = 2, .microbatches = 3, .vpp = 1};
  Scenario scenario = parted(shape);
  scenario.memory.parameters = {Bytes{1000}, Bytes{1000}};
  scenario.memory.gradients = {Bytes{200}, Bytes{200}};
  scenario.memory.optimizer = {Bytes{30}, Bytes{30}};
  scenario.memory.limit = Bytes{2430};
  const auto run_order = [&](bool asynchronous) {
    ScheduleBuilder builder{"mine", shape};
    if (asynchronous) builder.set_asynchronous();
    for (const char* stage : {"0F0 0F1 0B0 0F2 0B1 0B2", "1F0 1B0 1F1 1B1 1F2 1B2"}) {
      for (const Task& task : row(stage)) builder.add(task);
      builder.end_stage();
    }
    return run(builder.build(), scenario);
  };
  const Outcome outcome = run_order(true);
  CHECK(outcome.report.stages[0].weight_versions == 2);
  CHECK(outcome.report.stages[0].static_bytes == Bytes{2230});
  CHECK(outcome.report.stages[1].weight_versions == 1);
  CHECK(outcome.report.stages[1].static_bytes == Bytes{1230});
  CHECK(points(outcome, 0).front() == Point{0, 2230, 0});
  CHECK(!outcome.report.overflow); // 2230 + 200
  CHECK(viz::text_report(outcome.graph, outcome.timeline, outcome.report, {.width = 200})
            .find("on stage 0; up to 2 versions of the weights, on stage 0\n") != std::string::npos);
  scenario.memory.limit = Bytes{2429};
  CHECK(run_order(true).report.overflow->needed == Bytes{2430});
  CHECK(run_order(false).report.stages[0].weight_versions == 1);
  CHECK(run_order(false).report.stages[0].static_bytes == Bytes{1230});
}

TEST_CASE("Weight versions are counted per chunk: activations of one chunk need no second version of another") {
  const Shape shape{.stages = 1, .microbatches = 1, .vpp = 2};
  ScheduleBuilder builder{"mine", shape};
  builder.set_asynchronous();
  for (const Task& task : row("0F0 1F0 1B0 0B0")) builder.add(task);
  builder.end_stage();
  CHECK(run(builder.build(), parted(shape)).report.stages[0].weight_versions == 1);
}

} // namespace ppsim::test::activation_parts_test
