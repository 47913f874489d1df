// Sensitivity: stages and links that are faster than the others, with a pencil.

#include "ppsim/engine/steady.hpp"
#include "ppsim/graph/timeline.hpp"
#include "ppsim/study/jitter.hpp"
#include "ppsim/study/sensitivity.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <chrono>
#include <string>
#include <vector>

namespace ppsim::test::sensitivity_test {

using namespace std::chrono_literals;

namespace {

constexpr Shape two_by_two{.stages = 2, .microbatches = 2, .vpp = 1};

Scenario with_factors(Scenario scenario, std::vector<std::int64_t> factors) {
  scenario.costs.stage_ppm = std::move(factors);
  return scenario;
}

std::vector<SensitivityFigure> figures_of(const Schedule& schedule, const Scenario& scenario, std::size_t threads = 1) {
  const TaskGraph graph = lower(schedule, scenario);
  return stages_and_links(graph, step_time(graph), threads);
}

std::vector<std::string> names(const std::vector<SensitivityFigure>& figures) {
  std::vector<std::string> list;
  for (const SensitivityFigure& figure : figures)
    list.push_back(figure.change == Change::stage
                       ? std::to_string(index(figure.stage))
                       : std::to_string(index(figure.stage)) + "-" + std::to_string(index(figure.other)));
  return list;
}
using Names = std::vector<std::string>;

/// One stage alone, so that every task is easy to find.
Scenario one_stage() {
  Scenario scenario = uniform_scenario({.stages = 1, .microbatches = 1, .vpp = 1}, 100ns, 120ns);
  scenario.costs.overhead = 7ns;
  return with_factors(scenario, {500'000});
}

} // namespace

TEST_CASE("Of the stages without jitter, the one that saves most of p95 is first, at any number of threads") {
  const Shape shape{.stages = 4, .microbatches = 8, .vpp = 1};
  const TaskGraph graph = lower(generate("1f1b", shape), with_factors(uniform_scenario(shape, 1ms, 2ms),
                                                                      {1'000'000, 1'000'000, 1'300'000, 1'000'000}));
  const StepSpread base = find_spread(graph, {.ppm = 100'000, .samples = 300});
  const std::vector<StillStage> stages = still_stages(std::array{SampledCopies{&graph}}, base, 1);
  REQUIRE(stages.size() == 4);
  CHECK(index(stages.front().stage) == 2);
  CHECK(stages.front().gain > 5 * stages.back().gain);
  const std::vector<StillStage> again = still_stages(std::array{SampledCopies{&graph}}, base, 3);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    CHECK(stages[i].p95 == find_spread(graph, base.of, stages[i].stage).p95);
    CHECK(again[i].p95 == stages[i].p95);
    CHECK(again[i].stage == stages[i].stage);
  }
}

TEST_CASE("A stage that computes 1 % faster has tasks of 99 % of their time") {
  // 1F1B, F = 1000, B = 2000: 9000. Stage 0 with F = 990, B = 1980:
  //   stage 0  0F0[0,990) 0F1[990,1980)                  0B0[3990,5970)               0B1[6990,8970)
  //   stage 1       1F0[990,1990) 1B0[1990,3990) 1F1[3990,4990) 1B1[4990,6990)
  // Stage 1 in the same way: 1F0[1000,1990) 1B0[1990,3970) 1F1[3970,4960) 1B1[4960,6940), then 0B1[6940,8940)
  const auto figures = figures_of(generate("1f1b", two_by_two), uniform_scenario(two_by_two, 1000ns, 2000ns));
  REQUIRE(names(figures) == Names{"0", "1"});
  CHECK(figures[0].step_time == 8970ns);
  CHECK(figures[1].step_time == 8940ns);
  CHECK(figures[1].gain == Approx(60.0 / 9000));
}

TEST_CASE("A link that is twice as fast halves the transfers between its two stages, both ways") {
  // 1F1B on 2 stages, 2 microbatches: 3 * 30 + 2 * 4, and with c = 2 instead of 4 90 + 4
  const auto figures = figures_of(generate("1f1b", two_by_two), uniform_scenario(two_by_two, 10ns, 20ns, 4ns));
  REQUIRE(names(figures) == Names{"0", "1", "0-1"});
  CHECK(figures[2].step_time == 94ns);
  CHECK(figures[2].gain == Approx(4.0 / 98));
}

TEST_CASE("A link differs from the others only between its two stages") {
  const Shape shape{.stages = 3, .microbatches = 3, .vpp = 2};
  Scenario scenario = uniform_scenario(shape, 10ns, 20ns, 4ns);
  scenario.network.unusual_links = {{StageId{2}, StageId{0}, 500'000}};
  const Outcome outcome = run(generate("interleaved", shape), scenario);
  // Chunks 0 to 5 on stages 0 1 2 0 1 2: the boundary from chunk 2 to chunk 3 is that link
  CHECK(outcome.graph.transfer_time(outcome.id("2F0")) == 2ns);
  CHECK(outcome.graph.transfer_time(outcome.id("3B0")) == 2ns);
  CHECK(outcome.graph.transfer_time(outcome.id("1F0")) == 4ns);
  CHECK(outcome.graph.transfer_time(outcome.id("3F0")) == 4ns);
  CHECK(outcome.transfer("2F0").length() == 2ns);
  CHECK(names(figures_of(generate("interleaved", shape), uniform_scenario(shape, 10ns, 20ns, 4ns))) ==
        Names{"0", "1", "2", "0-1", "0-2", "1-2"});
}

TEST_CASE("If transfers are free, or there are none, no link has a figure") {
  CHECK(names(figures_of(generate("1f1b", two_by_two), uniform_scenario(two_by_two, 10ns, 20ns))) == Names{"0", "1"});
  const Shape one{.stages = 1, .microbatches = 2, .vpp = 1};
  CHECK(names(figures_of(generate("1f1b", one), uniform_scenario(one, 10ns, 20ns, 4ns))) == Names{"0"});
}

TEST_CASE("With a chunk on two stages, only the faster one's tasks are shorter") {
  const Shape shape{.stages = 4, .microbatches = 8, .vpp = 1};
  for (const char* name : {"chimera", "dualpipe"}) {
    CAPTURE(name);
    const Schedule schedule = generate(name, shape);
    const Scenario plain = uniform_scenario(shape, 10ns, 20ns);
    const TaskGraph usual = lower(schedule, plain);
    const TaskGraph graph = lower(schedule, with_factors(plain, {1'000'000, 500'000, 1'000'000, 1'000'000}));
    for (std::size_t id = 0; id < graph.size(); ++id) {
      const Duration time = usual.duration(make_id<TaskId>(id));
      const bool faster = schedule.stage_of(make_id<TaskId>(id)) == StageId{1};
      CHECK(graph.duration(make_id<TaskId>(id)) == (faster ? time / 2 : time));
    }
  }
}

TEST_CASE("Overhead and collectives take as long on a faster stage as on others") {
  Scenario scenario = one_stage();
  scenario.costs.forward_collective = {40ns};
  scenario.costs.input_grad_collective = {20ns};
  const Outcome outcome = run(order({"0F0 0B0"}), scenario);
  CHECK(outcome.task("0F0").length() == 77ns); // 7 + 40 + 60 / 2
  CHECK(outcome.task("0B0").length() == 77ns); // 7 + 20 + 100 / 2
}

TEST_CASE("Recomputation and the optimizer step are compute of their stage") {
  Scenario scenario = one_stage();
  scenario.recompute = {.kind = RecomputeKind::full, .time = {100ns}, .checkpoint = {Bytes{}}};
  scenario.update.optimizer = {50ns};
  const Outcome outcome = run(order({"0F0 0B0"}), scenario);
  CHECK(outcome.task("0B0").length() == 117ns); // 7 + (120 + 100) / 2
  CHECK(outcome.graph.recompute_time(outcome.id("0B0")) == 50ns);
  CHECK(outcome.report.stages[0].time[static_cast<std::size_t>(Label::recompute)] == 50ns);
  CHECK(outcome.timeline.optimizer[0].span.length() == 25ns);
}

TEST_CASE("An unusual link is unusual between nodes, in slices and under every transfer model") {
  Scenario scenario = uniform_scenario(two_by_two, 10ns, 20ns);
  scenario.network.stages_per_node = 1;
  scenario.network.inter_node_latency = 4ns;
  scenario.network.boundary_bytes = {Bytes{8}};
  scenario.network.bandwidth = Bandwidth{1'000'000'000};
  Scenario twice = scenario;
  twice.network.inter_node_latency = 2ns;
  twice.network.bandwidth = Bandwidth{2'000'000'000};
  scenario.network.unusual_links = {{StageId{0}, StageId{1}, 500'000}};
  for (const TransferModel model : {TransferModel::latency, TransferModel::link, TransferModel::blocking})
    for (const std::size_t slices : {1U, 4U}) {
      if (model == TransferModel::blocking && slices > 1) continue;
      CAPTURE(to_string(model), slices);
      scenario.network.model = twice.network.model = model;
      scenario.network.slices = twice.network.slices = slices;
      CHECK(run(generate("1f1b", two_by_two), scenario).timeline.transfers ==
            run(generate("1f1b", two_by_two), twice).timeline.transfers);
    }
}

TEST_CASE("The figures are the same on any number of threads") {
  const Shape shape{.stages = 4, .microbatches = 8, .vpp = 2};
  const Scenario scenario = uniform_scenario(shape, 1000ns, 2000ns, 100ns);
  const auto alone = figures_of(generate("interleaved", shape), scenario, 1);
  const auto together = figures_of(generate("interleaved", shape), scenario, 4);
  REQUIRE(alone.size() == together.size());
  for (std::size_t i = 0; i < alone.size(); ++i) CHECK(alone[i].step_time == together[i].step_time);
}

TEST_CASE("The gain is the time saved per microbatch") {
  CHECK(gain_over(100ns, 4, 90ns, 4) == Approx(0.1));
  CHECK(gain_over(100ns, 4, 120ns, 5) == Approx(0.04)); // 25 and 24
  CHECK(gain_over(100ns, 4, 150ns, 5) == Approx(-0.2));
  CHECK(gain_over(0ns, 4, 150ns, 5) == 0);
}

TEST_CASE("Figures are ranked by gain, equals by kind and stage") {
  Sensitivity sensitivity;
  sensitivity.figures = {{.change = Change::link, .gain = 0.1},
                         {.change = Change::stage, .stage = StageId{1}, .gain = 0.1},
                         {.change = Change::stage, .stage = StageId{0}, .gain = 0.1},
                         {.change = Change::chunks, .gain = 0.3},
                         {.change = Change::microbatches, .gain = -0.1}};
  rank(sensitivity);
  std::vector<std::string> order;
  for (const SensitivityFigure& figure : sensitivity.figures)
    order.push_back(std::string{to_string(figure.change)} + std::to_string(index(figure.stage)));
  CHECK(order == std::vector<std::string>{"vpp0", "stage0", "stage1", "link0", "microbatches0"});
}

TEST_CASE("Factors are one per stage, above 0") {
  const Scenario plain = uniform_scenario(two_by_two, 10ns, 20ns);
  const auto refusal = [](const Scenario& scenario) { return refusal_of([&] { validate(scenario); }).first(); };
  CHECK(refusal(with_factors(plain, {1'000'000})).starts_with("stage factors: 1 for 2 stages"));
  CHECK(refusal(with_factors(plain, {1'000'000, 0})).starts_with("stage factors: must be above 0"));
  Scenario link = plain;
  link.network.unusual_links = {{StageId{0}, StageId{1}, -1}};
  CHECK(refusal(link).starts_with("link factors: must be above 0"));
}

} // namespace ppsim::test::sensitivity_test
