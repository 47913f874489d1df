// Golden files: orders that public implementations generate, and whole outputs of small runs.
//
// The order files hold what PyTorch (GPipe, 1F1B, looped BFS, zero bubble), DeepSeek (DualPipe, DualPipeV) and
// Megatron-LM (1F1B, interleaved by microbatch group) generate. Beside each stand, as numbers, its makespans and peaks
// from a simulator that shares no code with this one.

#include "ppsim/measured/explanation.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/comparison.hpp"
#include "ppsim/study/run_report.hpp"
#include "ppsim/study/variation.hpp"
#include "ppsim/traces/chrome_trace.hpp"
#include "ppsim/traces/json.hpp"
#include "ppsim/traces/run_file.hpp"
#include "ppsim/traces/schedule_file.hpp"
#include "ppsim/viz/comparison.hpp"
#include "ppsim/viz/explanation.hpp"
#include "ppsim/viz/svg.hpp"
#include "ppsim/viz/text.hpp"
#include "ppsim/viz/validation.hpp"
#include "ppsim/viz/variation.hpp"
#include "support/faulty_runs.hpp"
#include "support/golden.hpp"
#include "support/lowered.hpp"
#include "support/measured.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace ppsim::test::golden_test {

using namespace std::chrono_literals;

namespace {

/// An order file, how to make it, and its known figures.
struct StoredOrder {
  std::string file;
  std::string schedule;
  Shape shape;
  std::optional<std::size_t> group_size;
  std::optional<bool> descending_backward;
  Duration unit;                  ///< makespan with F = I = W = 1 per chunk, no transfers
  Duration skew;                  ///< with F, I, W = 10, 11, 9 per chunk and transfers of 2
  std::vector<std::size_t> peaks; ///< live chunk activations per stage
};

StoredOrder gpipe(std::size_t m, bool descending, Duration unit, Duration skew) {
  return {"gpipe-" + std::string{descending ? "descending-" : ""} + "p4-m" + std::to_string(m),
          "gpipe",
          {4, m, 1},
          {},
          descending,
          unit,
          skew,
          {m, m, m, m}};
}
StoredOrder one_f_one_b(std::size_t m, Duration unit, Duration skew) {
  return {"1f1b-p4-m" + std::to_string(m), "1f1b", {4, m, 1}, {}, {}, unit, skew, {4, 3, 2, 1}};
}
StoredOrder interleaved(std::size_t v, std::size_t m, std::size_t g, Duration unit, Duration skew,
                        std::vector<std::size_t> peaks) {
  return {"interleaved-p4-v" + std::to_string(v) + "-m" + std::to_string(m) + "-g" + std::to_string(g),
          "interleaved",
          {4, m, v},
          g,
          {},
          unit,
          skew,
          std::move(peaks)};
}

/// An order without options whose stages all hold the same number of activations.
StoredOrder level(std::string schedule, std::size_t v, std::size_t m, Duration unit, Duration skew, std::size_t peak) {
  std::string file = schedule + "-p4-v" + std::to_string(v) + "-m" + std::to_string(m);
  return {std::move(file), std::move(schedule), {4, m, v}, {}, {}, unit, skew, {peak, peak, peak, peak}};
}

std::vector<StoredOrder> stored_orders() {
  return {gpipe(8, false, 33ns, 342ns),
          gpipe(16, false, 57ns, 582ns),
          gpipe(8, true, 33ns, 342ns),
          one_f_one_b(8, 33ns, 362ns),
          one_f_one_b(16, 57ns, 626ns),
          interleaved(2, 8, 4, 57ns, 598ns, {11, 9, 7, 5}),
          interleaved(2, 8, 8, 57ns, 582ns, {15, 13, 11, 9}),
          interleaved(2, 16, 4, 105ns, 1'078ns, {11, 9, 7, 5}),
          interleaved(2, 16, 8, 105ns, 1'062ns, {15, 13, 11, 9}),
          interleaved(2, 16, 16, 105ns, 1'062ns, {23, 21, 19, 17}),
          interleaved(3, 8, 4, 81ns, 854ns, {15, 13, 11, 9}),
          interleaved(3, 8, 8, 81ns, 822ns, {23, 21, 19, 17}),
          interleaved(3, 16, 4, 153ns, 1'574ns, {15, 13, 11, 9}),
          interleaved(3, 16, 8, 153ns, 1'542ns, {23, 21, 19, 17}),
          interleaved(3, 16, 16, 153ns, 1'542ns, {39, 37, 35, 33}),
          level("looped-bfs", 2, 8, 57ns, 582ns, 16),
          level("looped-bfs", 3, 16, 153ns, 1'542ns, 48),
          {"eager-1f1b-p4-m8", "eager-1f1b", {4, 8, 1}, {}, {}, 33ns, 342ns, {7, 5, 3, 1}},
          level("zb-interleaved", 1, 8, 27ns, 300ns, 4),
          level("zb-interleaved", 2, 8, 51ns, 548ns, 8),
          level("zb-interleaved", 3, 16, 147ns, 1'516ns, 12),
          level("zb-v", 2, 8, 51ns, 539ns, 8),
          level("zb-v", 2, 16, 99ns, 1'019ns, 8),
          level("dualpipe", 1, 8, 26ns, 280ns, 5),
          level("dualpipe", 1, 20, 62ns, 658ns, 5),
          level("dualpipe-v", 2, 8, 54ns, 583ns, 9),
          level("dualpipe-v", 2, 20, 126ns, 1'339ns, 9),
          // No pipeline: m * p * v * (F+B), and 2(pv-1) transfers per microbatch; one microbatch's v chunks live.
          {"sequential-p4-v2-m3", "sequential", {4, 3, 2}, {}, {}, 72ns, 804ns, {2, 2, 2, 2}}};
}

std::string stored_text(const std::string& file) {
  std::ifstream stream{source_path("tests/golden/orders/" + file + ".csv"), std::ios::binary};
  return {std::istreambuf_iterator<char>{stream}, {}};
}

Scenario per_chunk(const Shape& shape, Duration forward, Duration input_grad, Duration weight_grad, Duration comm) {
  Scenario scenario = uniform_scenario(shape, 0ns, 0ns, comm);
  scenario.costs.forward.assign(shape.chunks(), forward);
  scenario.costs.input_grad.assign(shape.chunks(), input_grad);
  scenario.costs.weight_grad.assign(shape.chunks(), weight_grad);
  return scenario;
}

/// `ppsim --stages 4 --mb 8 --vpp 2`, with an example of everything that reports show.
Outcome four_by_eight() {
  const Shape shape{.stages = 4, .microbatches = 8, .vpp = 2};
  Scenario scenario = uniform_scenario(shape, 1ms, 2ms, 20us);
  scenario.memory.activation.assign(shape.chunks(), Bytes{512 << 20});
  scenario.memory.parameters.assign(shape.chunks(), Bytes{256 << 20});
  Outcome outcome = run(generate("interleaved", shape), scenario);
  outcome.report.closed_form = closed_form(find_generator("interleaved"), {.shape = shape}, scenario);
  outcome.report.what_if = what_if(outcome.graph);
  return outcome;
}

/// 1F1B, 2 stages, 2 microbatches, transfers of 100 us.
Outcome two_by_two() {
  const Shape shape{.stages = 2, .microbatches = 2, .vpp = 1};
  return run(generate("1f1b", shape), uniform_scenario(shape, 1ms, 2ms, 100us));
}

} // namespace

TEST_CASE("The schedules equal those of the public implementations, cell by cell") {
  for (const StoredOrder& stored : stored_orders())
    check_golden("orders/" + stored.file + ".csv",
                 traces::write_schedule_csv(
                     generate(stored.schedule, stored.shape, stored.group_size, stored.descending_backward)));
}

TEST_CASE("Every stored order has the makespan and memory of an independent simulator") {
  for (const StoredOrder& stored : stored_orders()) {
    CAPTURE(stored.file);
    const Schedule schedule = traces::read_schedule(stored_text(stored.file), stored.file + ".csv").schedule;
    REQUIRE(schedule.shape() == stored.shape);
    const RunReport unit = run(schedule, per_chunk(stored.shape, 1ns, 1ns, 1ns, 0ns)).report;
    const RunReport skew = run(schedule, per_chunk(stored.shape, 10ns, 11ns, 9ns, 2ns)).report;
    CHECK(unit.makespan == stored.unit);
    CHECK(skew.makespan == stored.skew);
    const auto tasks = static_cast<std::int64_t>(stored.shape.microbatches * stored.shape.vpp);
    for (std::size_t stage = 0; stage < stored.shape.stages; ++stage) {
      CAPTURE(stage);
      CHECK(unit.stages[stage].busy == Duration{3 * tasks});
      CHECK(skew.stages[stage].busy == Duration{30 * tasks});
      CHECK(unit.stages[stage].peak_live_activations == stored.peaks[stage]);
    }
  }
}

TEST_CASE("The JSON report") {
  const auto [graph, timeline, report] = four_by_eight();
  check_golden("report-4x8-v2.json", traces::report_json(graph, timeline, report, false));
}

TEST_CASE("The JSON report with its tasks") {
  const auto [graph, timeline, report] = two_by_two();
  check_golden("report-2x2-tasks.json", traces::report_json(graph, timeline, report, true));
}

TEST_CASE("The terminal report, with its list of tasks") {
  const auto [graph, timeline, report] = four_by_eight();
  check_golden("report-4x8-v2.txt", viz::text_report(graph, timeline, report, {.width = 100, .colour = false}));
  const Outcome small = two_by_two();
  check_golden("tasks-2x2.txt", viz::task_table(small.graph, small.timeline));
}

TEST_CASE("The chart") {
  const Shape shape{.stages = 4, .microbatches = 4, .vpp = 1};
  const auto [graph, timeline, report] = run(generate("1f1b", shape), uniform_scenario(shape, 1ms, 2ms, 100us));
  check_golden("gantt-4x4.svg", viz::svg_gantt(graph, timeline, report));
}

TEST_CASE("The charts of a comparison") {
  Comparison comparison;
  comparison.stages = 4;
  comparison.microbatches = 4;
  const auto made = [](std::string_view name, std::size_t vpp) {
    const Shape shape{.stages = 4, .microbatches = 4, .vpp = vpp};
    return run(generate(name, shape), uniform_scenario(shape, 1ms, 2ms, 100us));
  };
  const Outcome best = made("zb-v", 2);
  const Outcome plain = made("1f1b", 1);
  const Outcome slow = made("sequential", 1);
  const std::vector<viz::Panel> panels{{best.graph, best.timeline, best.report, "zb-v", true},
                                       {plain.graph, plain.timeline, plain.report, "1f1b", false},
                                       {slow.graph, slow.timeline, slow.report, "sequential", false}};
  check_golden("compare-4x4.svg", viz::svg_comparison(comparison, panels));
}

TEST_CASE("The plot of a variation") {
  struct Line {
    std::string name;
    std::string schedule;
    std::size_t vpp;
  };
  const std::vector<Line> lines{
      {"gpipe", "gpipe", 1}, {"1f1b", "1f1b", 1}, {"interleaved v=2", "interleaved", 2}, {"zb-v", "zb-v", 2}};
  const auto sample = [&lines](std::size_t line, std::int64_t comm) -> std::optional<Sample> {
    const Shape shape{.stages = 4, .microbatches = 8, .vpp = lines[line].vpp};
    const RunReport report =
        run(generate(lines[line].schedule, shape), uniform_scenario(shape, 1ms, 2ms, Duration{comm})).report;
    return Sample{.step_time = report.step_time, .microbatches = 8};
  };
  std::vector<std::string> names;
  for (const Line& line : lines) names.push_back(line.name);
  const Axis axis{.option = "comm", .unit = Axis::Unit::time, .from = 0, .to = 1'000'000};
  const Variation variation = vary(axis, names, sample, {.points = 21});
  check_golden("vary-comm-4x8.svg", viz::svg_variation(variation));
  check_golden("vary-comm-4x8.txt", viz::variation_text(variation, {.width = 100, .colour = false}));
}

/// A step of 1F1B with some longer tasks than predicted, and one much longer forward on stage 1.
TEST_CASE("A run file, and the run compared with its prediction") {
  const Shape shape{.stages = 4, .microbatches = 4, .vpp = 1};
  Scenario scenario = uniform_scenario(shape, 1ms, 2ms, 100us);
  scenario.memory.activation.assign(shape.chunks(), Bytes{512 << 20});
  scenario.memory.parameters.assign(shape.chunks(), Bytes{256 << 20});
  const auto [graph, timeline, report] = run(generate("1f1b", shape), scenario);
  const std::size_t slow = position_of(graph.schedule(), "1F2");
  const Timeline step = played(
      graph,
      {.length =
           [&](TaskId id) { return graph.duration(id) + 7us * (index(id) % 5) + (index(id) == slow ? 800us : 0us); },
       .way = [&](TaskId id) { return graph.transfer_time(id) + 3us * (index(id) % 4); },
       .pause = [](TaskId id) { return 2us * (index(id) % 3); }});
  MeasuredRun measured = run_of(graph.schedule(), {step});
  for (std::size_t stage = 0; stage < shape.stages; ++stage)
    measured.stages[stage].peak_bytes = report.stages[stage].peak_bytes();
  measured.proof = Proof{.same_order = true,
                         .bit_equal = true,
                         .gradient_error = 0,
                         .loss_error = 0,
                         .tolerance = 0,
                         .losses = {2.5, 1.5}};
  const Validation validation = validate_run(graph, timeline, measured, 0.05);
  check_golden("run-4x4.json", traces::write_run(measured));
  check_golden("validation-4x4.txt",
               viz::validation_text(graph, measured, validation, {.width = 100, .colour = false}));
  check_golden("validation-4x4.json", traces::validation_json(graph, measured, validation));
  check_golden("validation-4x4.svg", viz::svg_validation(graph, timeline, measured, validation));
}

/// Three replicas with a heavy last stage, a slow link, transfers, some of everything else, and one slow worker.
TEST_CASE("Why the steps of a measured run are long") {
  std::vector<MeasuredRun> replicas;
  for (std::size_t at = 0; at < 3; ++at) {
    std::vector<Timeline> steps;
    for (std::int64_t step = 0; step < 8; ++step) {
      const Fault fault{
          .length =
              [&](const Task& task, std::size_t stage, Duration length) {
                const Duration own = heavy_last_stage.length(task, stage, length);
                const auto jitter = 2 * static_cast<std::int64_t>(index(task.microbatch) * 5 % 7) - 6;
                return own * (100 + jitter + step) / 100 * (at == 1 && stage == 1 ? 2 : 1);
              },
          .way = [](const Task& task,
                    std::size_t stage) { return stage == (task.pass == Pass::forward ? 0U : 1U) ? 8ms : 1ms; },
          .pause = [](const Task& task, std::size_t) { return 300us * (index(task.microbatch) % 2); }};
      steps.push_back(step_with(fault));
    }
    replicas.push_back(replica(std::move(steps)));
  }
  const Explanation explanation = explain(replicas);
  check_golden("explanation-4x8.txt", viz::explanation_text(replicas, explanation, {.width = 100, .colour = false}));
  check_golden("explanation-4x8.json", traces::explanation_json(replicas, explanation));
}

TEST_CASE("The trace") {
  const auto [graph, timeline, report] = two_by_two();
  check_golden("trace-2x2.json", traces::chrome_trace(graph, timeline, report));
}

TEST_CASE("An order with its sends and receives, and as a task list") {
  const Outcome small = two_by_two();
  check_golden("orders/1f1b-p2-m2-comms.csv", test::csv_with_operations(small.graph));
  check_golden("orders/1f1b-p2-m2.tasks.csv", traces::write_task_list(small.graph));
}

} // namespace ppsim::test::golden_test
