// A validation in words and in a picture; views of a measured run are marked as measured.

#include "ppsim/study/run_report.hpp"
#include "ppsim/traces/json.hpp"
#include "ppsim/viz/replay.hpp"
#include "ppsim/viz/svg.hpp"
#include "ppsim/viz/text.hpp"
#include "ppsim/viz/validation.hpp"
#include "support/golden.hpp"
#include "support/predicted_runs.hpp"
#include "support/svg.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "viz/words/validation_words.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::test::validation_views_test {

using namespace std::chrono_literals;

namespace {

std::string text_of(const Outcome& outcome, const MeasuredRun& run, std::size_t width = 100, double tolerance = 0.05) {
  const Validation validation = validate_run(outcome.graph, outcome.timeline, run, tolerance);
  return viz::validation_text(outcome.graph, run, validation, {.width = width, .colour = false});
}

std::string first_line(const Outcome& outcome, const MeasuredRun& run, double tolerance = 0.05) {
  const std::string text = text_of(outcome, run, 300, tolerance);
  return text.substr(0, text.find('\n'));
}

/// The lines about single tasks.
Rows deviation_lines(const Outcome& outcome, const MeasuredRun& run) {
  const Validation validation = validate_run(outcome.graph, outcome.timeline, run, 0.05);
  Rows lines;
  for (const Deviation& deviation : validation.deviations)
    lines.push_back(to_string(outcome.graph.schedule().task(deviation.task)) + " " +
                    viz::deviation_words(outcome.graph, deviation));
  return lines;
}

std::vector<Element> picture(const Outcome& outcome, const MeasuredRun& run, std::string* document = nullptr) {
  const Validation validation = validate_run(outcome.graph, outcome.timeline, run, 0.05);
  const std::string svg = viz::svg_validation(outcome.graph, outcome.timeline, run, validation);
  if (document != nullptr) *document = svg;
  return parsed(svg);
}

} // namespace

TEST_CASE("The first line of a validation says whether the prediction holds and, if not, why") {
  const Outcome outcome = predicted();
  MeasuredRun run = measured(outcome);
  CHECK(first_line(outcome, run) == "valid: the step time is predicted exactly (9 ms; the run took 9 ms), within 5 %");
  const Validation own = validate_run(outcome.graph, outcome.timeline, run, 0.05, {.costs_of = run_id(run)});
  const std::string text = viz::validation_text(outcome.graph, run, own, {.width = 300, .colour = false});
  CHECK(text.starts_with("valid: from the run's own means, the step time is predicted exactly"));
  CHECK(text.find("its costs are the means of this run") != std::string::npos);
  CHECK(first_line(outcome, measured(outcome, "1F0", 1ms)) ==
        "not valid: the step time is predicted 10.0 % too short (9 ms; the run took 10 ms), 5 % is tolerated");
  CHECK(first_line(outcome, measured(outcome, "1F0", 1ms), 0.1) ==
        "valid: the step time is predicted 10.0 % too short (9 ms; the run took 10 ms), within 10 %");
  run.stages[1].peak_bytes = Bytes{151};
  CHECK(first_line(outcome, run) == "not valid: stage 1 held 151 B, but 150 B were predicted");
  run.proof = Proof{.same_order = true, .bit_equal = false};
  CHECK(first_line(outcome, run) == "not valid: the results are wrong; stage 1 held 151 B, but 150 B were predicted");
  run = measured(outcome);
  run.stages[0].cpu = 620ns;
  CHECK(first_line(outcome, run) == "no validation: the cores were shared with other work (a stage had 62 % of one)");
  run = measured(outcome);
  run.unaligned = true;
  CHECK(first_line(outcome, run) == "no validation: the clocks of the stages differ by more than their bound");
}

TEST_CASE("A tolerance is shown as given") {
  const Outcome outcome = predicted();
  const MeasuredRun run = measured(outcome, "1F0", 9ms); // the step takes 18 ms
  CHECK(first_line(outcome, run, 10) ==
        "valid: the step time is predicted 50.0 % too short (9 ms; the run took 18 ms), within 1000 %");
  CHECK(first_line(outcome, run, 0.07) ==
        "not valid: the step time is predicted 50.0 % too short (9 ms; the run took 18 ms), 7 % is tolerated");
  CHECK(first_line(outcome, run, 0.00125) ==
        "not valid: the step time is predicted 50.0 % too short (9 ms; the run took 18 ms), 0.125 % is tolerated");
  CHECK(first_line(outcome, run, 0) ==
        "not valid: the step time is predicted 50.0 % too short (9 ms; the run took 18 ms), 0 % is tolerated");
}

TEST_CASE("The origin of costs is shown as in the scenario") {
  Outcome outcome = predicted();
  Scenario scenario = outcome.graph.scenario();
  scenario.source = "measured on a processor with 8 cores";
  outcome = run(outcome.graph.schedule(), scenario);
  CHECK(text_of(outcome, measured(outcome)).find("\ncosts: measured on a processor with 8 cores\n") !=
        std::string::npos);
}

TEST_CASE("A deviation is shown with the task's delay, its wait, and the cause") {
  const Outcome outcome = predicted();
  CHECK(deviation_lines(outcome, measured(outcome, "1F0", 1ms)) ==
        Rows{"1F0 took 1 ms longer than the 1 ms predicted",
             "0B0 waited 1 ms longer for 1B0 on stage 1, late because 1F0 on stage 1 took longer"});
  CHECK(deviation_lines(outcome, measured(outcome, "1B0", 1ms)) ==
        Rows{"1B0 took 1 ms longer than the 2 ms predicted",
             "0B0 waited 1 ms longer for 1B0 on stage 1, which took longer"});
  CHECK(deviation_lines(outcome, measured(outcome, "0B1", -500us)) ==
        Rows{"0B1 took 500 us less than the 2 ms predicted"});
  MeasuredRun run = measured(outcome);
  run.steps[0] = played(outcome.graph, {.length = [&](TaskId id) { return outcome.graph.duration(id); },
                                        .way = [](TaskId id) { return index(id) == 0 ? Duration{1ms} : 0ms; }});
  CHECK(deviation_lines(outcome, run) ==
        Rows{"1F0 waited 1 ms longer for 0F0 on stage 0, which sent its output for longer",
             "0B0 waited 1 ms longer for 1B0 on stage 1, late because 0F0 on stage 0 sent its output for longer"});
  const std::size_t late = position_of(run.schedule, "1B1");
  run.steps[0] = played(outcome.graph, {.length = [&](TaskId id) { return outcome.graph.duration(id); },
                                        .pause = [&](TaskId id) { return index(id) == late ? Duration{1ms} : 0ms; }});
  CHECK(deviation_lines(outcome, run) ==
        Rows{"1B1 could have run, but started 1 ms late",
             "0B1 waited 1 ms longer for 1B1 on stage 1, which could have run but started late"});
}

TEST_CASE("A pair that took longer is compared with the predicted time of both halves") {
  const Schedule schedule = order({"0F0 (0F1;0B0) 0B1"});
  Scenario scenario = uniform_scenario(schedule.shape(), 1us, 2us);
  scenario.pair = {.kind = PairRule::Kind::serial};
  const Outcome outcome = run(schedule, scenario);
  const Timeline timeline = timeline_of({{{0, 1000}, {1000, 9000}, {1000, 9000}, {9000, 11000}}});
  CHECK(deviation_lines(outcome, run_of(schedule, {timeline})) == Rows{"0F1 took 5 us longer than the 3 us predicted"});
}

TEST_CASE("If no flush separates steps, the compared step is called one step alone") {
  const Shape shape{.stages = 2, .microbatches = 4, .vpp = 1};
  const Outcome outcome = run(generate("pipedream", shape), uniform_scenario(shape, 1ms, 2ms));
  const MeasuredRun run = measured(outcome);
  CHECK(first_line(outcome, run).starts_with("valid: one step alone is predicted exactly (15 ms; the run took 15 ms)"));
  Timeline step = run.steps[0];
  attribute(outcome.graph, step);
  const RunReport report = run_report(outcome.graph, step, describe(run));
  const std::string text = viz::text_report(outcome.graph, step, report, {.width = 100, .colour = false});
  CHECK(text.find("one step    15 ms alone, of which the busiest stage computes 12 ms\n") != std::string::npos);
  CHECK(text.find("step time") == std::string::npos);
  const std::string svg = viz::svg_gantt(outcome.graph, step, report);
  CHECK(svg.find("one step alone: 15 ms") != std::string::npos);
  CHECK(svg.find("step time") == std::string::npos);
  const Validation validation = validate_run(outcome.graph, outcome.timeline, run, 0.05);
  CHECK(viz::replay_text(run, validation, {.warmup = 1, .predicts = true}, {.width = 100, .colour = false})
            .find("1 to warm up, 1 that count: 15 ms, each step alone\n") != std::string::npos);
}

TEST_CASE("A pass that is predicted to take no time has no errors of its tasks") {
  const Schedule schedule = order({"0F0 0B0"});
  const Outcome outcome = run(schedule, uniform_scenario(schedule.shape(), 0ns, 20ns));
  const MeasuredRun run = run_of(schedule, {timeline_of({{{0, 10}, {10, 32}}})});
  const std::string text = text_of(outcome, run);
  CHECK(text.find("  F         1    0 ns  10 ns          -            -\n") != std::string::npos);
  const Validation validation = validate_run(outcome.graph, outcome.timeline, run, 0.05);
  const auto json = nlohmann::json::parse(traces::validation_json(outcome.graph, run, validation));
  CHECK(json["per_pass"][0]["median_task_error"].is_null());
  CHECK(json["per_pass"][0]["p95_task_error"].is_null());
  CHECK(json["per_pass"][1]["p95_task_error"] == Approx(0.1));
}

TEST_CASE("The prediction from times measured one stage at a time comes last, if known") {
  const Outcome outcome = predicted();
  const MeasuredRun run = measured(outcome);
  Validation validation = validate_run(outcome.graph, outcome.timeline, run, 0.05);
  const auto text = [&](std::size_t width) {
    return viz::validation_text(outcome.graph, run, validation, {.width = width, .colour = false});
  };
  CHECK(text(100).find("one stage at a time, the step") == std::string::npos);
  CHECK_FALSE(nlohmann::json::parse(traces::validation_json(outcome.graph, run, validation)).contains("alone"));
  validation.alone = ComparedTime{7'200us, 9ms};
  CHECK(text(100).ends_with(
      "\n  With times measured one stage at a time, the step is predicted to take 7.2 ms (-20.0 %).\n"));
  CHECK(text(60).ends_with(
      "\n  With times measured one stage at a time, the step is\n  predicted to take 7.2 ms (-20.0 %).\n"));
  const auto json = nlohmann::json::parse(traces::validation_json(outcome.graph, run, validation));
  CHECK(json["alone"] == nlohmann::json{{"predicted_ns", 7'200'000}, {"error", -0.2}});
}

TEST_CASE("A wait that no task alone explains is shown as the sum of many small delays") {
  const Outcome outcome = predicted({.stages = 4, .microbatches = 1, .vpp = 1});
  MeasuredRun run = measured(outcome);
  run.steps[0] = played(outcome.graph, {.length = [&](TaskId id) { return outcome.graph.duration(id) + 100us; }});
  // 3F0 waits for three forwards that each took 0.1 ms longer; 0B0 for seven tasks except 0F0, which ran on stage 0.
  const Rows lines = deviation_lines(outcome, run);
  CHECK(lines.front() == "0B0 waited 600 us longer for 1B0 on stage 1, as many small delays added up (at most 100 us: "
                         "1B0 on stage 1 took longer)");
}

TEST_CASE("A wait of a stage that was early itself is shown as such, not as a delay of others") {
  const Outcome outcome = predicted();
  MeasuredRun run = measured(outcome);
  // 1F1 could have begun at 1.5 ms instead of 4 ms, and did at 3.6 ms.
  run.steps[0] = played(outcome.graph, {.length = [&](TaskId id) -> Duration {
                          const std::string name = to_string(outcome.graph.schedule().task(id));
                          if (name == "1F0") return 200us;
                          if (name == "1B0") return 300us;
                          return outcome.graph.duration(id) + (name == "0F1" ? 1600us : 0us);
                        }});
  const Rows lines = deviation_lines(outcome, run);
  CHECK(std::ranges::count(lines, "1F1 waited 2.1 ms longer for 0F1 on stage 0, and started to wait 2.5 ms early") ==
        1);
}

TEST_CASE("A validation with a title still names its schedule") {
  Outcome outcome = predicted();
  Scenario scenario = outcome.graph.scenario();
  scenario.title = "My model";
  outcome = test::run(outcome.graph.schedule(), scenario);
  std::string svg;
  (void)picture(outcome, measured(outcome), &svg);
  CHECK(svg.find(">My model: predicted and measured<") != std::string::npos);
  CHECK(svg.find(">1f1b") != std::string::npos);
}

TEST_CASE("The text has place and machine, the tables, results, memory and reliability") {
  const Outcome outcome = predicted();
  MeasuredRun run = measured(outcome, "1F0", 1ms);
  run.proof = Proof{.same_order = true,
                    .bit_equal = true,
                    .gradient_error = 0,
                    .loss_error = 0,
                    .tolerance = 0,
                    .losses = {2.5, 1.5}};
  run.clock_error = 1200ns;
  const std::string text = text_of(outcome, run);
  const auto has = [&text](std::string_view part) {
    CAPTURE(text, part);
    CHECK(text.find(part) != std::string::npos);
  };
  has("1f1b: 2 stages, 2 microbatches\n");
  has("measured: threads; mlp: 256 tokens, width 512, 1 layer per chunk; buffers are handed over; a");
  has("  bubble      33.3 % predicted, 35.0 % measured\n");
  has("  results     gradients bit-equal with a run that does one task at a time; loss 2.5 in the first\n"
      "              step, 1.5 in the last of 2\n");
  has("  memory      as predicted on every stage, at most 200 B (stage 0)\n");
  has("  cores       in tasks, every stage had at least 99 % of a core\n");
  has("  clocks      aligned within 1.2 us\n");
  has("  stage  busy   was    error  idle   was    error   end    was    error   peak    was\n");
  has("      0  6 ms  6 ms   0.00 %  3 ms  4 ms  -25.0 %  9 ms  10 ms  -10.0 %  200 B  equal\n");
  has("      1  6 ms  7 ms");
  has("  F         4    1 ms  1 ms     0.00 %        100 %\n");
  CHECK(text.find("costs: ") == std::string::npos); // the origin is unknown
  CHECK(text.find("besides") == std::string::npos);
  CHECK(text.find("the means of this run") == std::string::npos);
  const SimTime end{10ms};
  run.steps[0].reductions = {{.stage = StageId{0}, .chunk = ChunkId{0}, .span = {end, end + 3ms}, .released_by = {}}};
  run.steps[0].optimizer = {{.span = {end + 3ms, end + 4ms}, .released_by = {}},
                            {.span = {end + 3ms, end + 3ms}, .released_by = {}}};
  const std::string besides = text_of(outcome, run);
  CAPTURE(besides);
  CHECK(besides.find("(9 ms; the run took 10 ms without the") != std::string::npos);
  CHECK(besides.find(
            "  besides     measured but not predicted, so left out of the comparison: reductions of gradients (3\n"
            "              ms of the step) and the optimizer (1 ms of the step)\n") != std::string::npos);
  run.facts.timed = true;
  CHECK(text_of(outcome, run).find("this says nothing about real compute") != std::string::npos);
}

TEST_CASE("No line of a validation is wider than the terminal") {
  const Outcome outcome = predicted({.stages = 20, .microbatches = 40, .vpp = 1});
  MeasuredRun run = measured(outcome, "7F3", 1ms);
  run.stages[3].peak_bytes = Bytes{123'456'789};
  for (const std::size_t width : {70U, 80U, 100U, 140U}) {
    std::istringstream lines{text_of(outcome, run, width)};
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(width, line);
      CHECK(line.size() <= width);
    }
  }
}

TEST_CASE("The picture has each stage's predicted row above its measured one, on one time axis") {
  const Outcome outcome = predicted();
  const MeasuredRun run = measured(outcome, "1F0", 1ms);
  const std::vector<Element> elements = picture(outcome, run);
  std::vector<Element> cells;
  for (const Element& element : elements)
    if (element.name == "rect" && element.get("class") == "cells") cells.push_back(element);
  REQUIRE(cells.size() == 16);
  std::set<double> rows;
  for (const Element& cell : cells) rows.insert(cell.number("y"));
  CHECK(rows.size() == 4); // two stages, two rows each
  // The step of 10 ms fills the axis: a predicted F is a tenth of it, and the slow one two.
  double right = 0;
  double left = 1e9;
  for (const Element& cell : cells) {
    left = std::min(left, cell.number("x"));
    right = std::max(right, cell.number("x") + cell.number("width"));
  }
  const double per_ms = (right - left) / 10;
  std::multiset<long> widths; // of the second stage, in ms
  for (const Element& cell : cells)
    if (cell.number("y") >= *std::next(rows.begin(), 2)) widths.insert(std::lround(cell.number("width") / per_ms));
  CHECK(widths == std::multiset<long>{1, 1, 2, 2, 2, 1, 2, 2});
  std::vector<double> ends;
  for (const Element& element : elements)
    if (element.name == "path" && element.get("class") == "end")
      ends.push_back(std::strtod(element.get("d").substr(1).c_str(), nullptr));
  REQUIRE(ends.size() == 4); // and two in the legend
  CHECK(ends[0] == Approx(left + 9 * per_ms));
  CHECK(ends[1] == Approx(right));
}

TEST_CASE("The picture marks the tasks that deviate and says why") {
  const Outcome outcome = predicted();
  std::string svg;
  const std::vector<Element> elements = picture(outcome, measured(outcome, "1F0", 1ms), &svg);
  const auto marks = std::ranges::count_if(
      elements, [](const Element& element) { return element.name == "rect" && element.get("class") == "deviation"; });
  CHECK(marks == 2 + 2); // and their legend
  CHECK(svg.find("<title>1F0 on stage 1 took 1 ms longer than the 1 ms predicted</title>") != std::string::npos);
  CHECK(svg.find(">1: 1F0 on stage 1 took 1 ms longer than the 1 ms predicted<") != std::string::npos);
  CHECK(svg.find(">measured: threads; mlp") != std::string::npos);
  CHECK(svg.find("not valid: ") != std::string::npos);
  std::string exact;
  picture(outcome, measured(outcome), &exact);
  CHECK(exact.find("class=\"deviation\"") == std::string::npos);
}

TEST_CASE("The picture of a large run stays small and shows shares of time") {
  const Outcome outcome = predicted({.stages = 128, .microbatches = 512, .vpp = 1});
  std::string svg;
  picture(outcome, measured(outcome, "7F3", 1ms), &svg);
  CHECK(svg.size() < 3'000'000);
  CHECK(svg.find("each column shows from top to bottom how its time is shared") != std::string::npos);
}

TEST_CASE("The views of a measured run say that it is measured, and nothing about transfer models") {
  const Outcome outcome = predicted();
  const MeasuredRun run = measured(outcome);
  Timeline step = run.steps[0];
  attribute(outcome.graph, step);
  const RunReport report = run_report(outcome.graph, step, describe(run));
  const std::string svg = viz::svg_gantt(outcome.graph, step, report);
  CHECK(svg.find(">1f1b, measured<") != std::string::npos);
  CHECK(svg.find(">measured: threads; mlp: 256 tokens") != std::string::npos);
  CHECK(svg.find("transfer model") == std::string::npos);
  const std::string text = viz::text_report(outcome.graph, step, report, {.width = 100, .colour = false});
  CHECK(text.starts_with("1f1b: 2 stages, 2 microbatches, measured\nmeasured: threads; mlp"));
  CHECK(text.find("latency") == std::string::npos);
}

TEST_CASE("The JSON of a validation has every figure with its error, and null where there is none") {
  const Outcome outcome = predicted();
  MeasuredRun run = measured(outcome, "1F0", 1ms);
  const Validation validation = validate_run(outcome.graph, outcome.timeline, run, 0.05);
  const auto json = nlohmann::json::parse(traces::validation_json(outcome.graph, run, validation));
  CHECK(json["schema"] == 1);
  CHECK(json["holds"] == false);
  CHECK(json["same_peaks"] == true);
  CHECK(json["proof"].is_null());
  CHECK(json["step"]["predicted_ns"] == 9'000'000);
  CHECK(json["step"]["measured_ns"] == 10'000'000);
  CHECK(json["step"]["error"] == -0.1);
  CHECK(json["unpredicted_exchange_ns"].is_null());
  CHECK(json["per_stage"][0]["peak"]["predicted_bytes"] == 200);
  CHECK(json["per_pass"][0]["pass"] == "F");
  REQUIRE(json["deviations"].size() == 2);
  CHECK(json["deviations"][0]["task"] == "1F0");
  CHECK(json["deviations"][0]["because"] == "slow");
  CHECK(json["deviations"][1]["waited_for"]["task"] == "1B0");
  CHECK(json["deviations"][1]["behind"]["task"] == "1F0");
  CHECK(json["deviations"][1]["behind"]["delay"] == "length");
}

namespace {

/// Keys of all objects in `json`, at any depth.
void collect_keys(const nlohmann::json& json, std::set<std::string>& keys) {
  for (const auto& [key, value] : json.items()) {
    if (json.is_object()) keys.insert(key);
    if (value.is_structured()) collect_keys(value, keys);
  }
}

/// The JSON of a replay, without the report of its median step.
nlohmann::json replay_part(const Outcome& outcome, const MeasuredRun& run, const ReplayFacts& facts) {
  Timeline step = run.steps[0];
  attribute(outcome.graph, step);
  const RunReport report = run_report(outcome.graph, step, describe(run));
  const Validation validation = validate_run(outcome.graph, outcome.timeline, run, 0.05);
  const auto json =
      nlohmann::json::parse(traces::replay_json(outcome.graph, step, report, run, validation, facts, /*tasks=*/true));
  auto rest = json;
  rest.erase("replay");
  CHECK(rest == nlohmann::json::parse(traces::report_json(outcome.graph, step, report, /*tasks=*/true)));
  return json["replay"];
}

/// A run with every optional part.
MeasuredRun full_run(const Outcome& outcome) {
  MeasuredRun run = measured(outcome, "1F0", 1ms);
  run.proof = Proof{.same_order = true, .bit_equal = true, .losses = {2.5, 1.5}};
  run.clock_error = 1us;
  return run;
}

} // namespace

TEST_CASE("The JSON of a replay is the report of its median step, with the facts of the run") {
  const Outcome outcome = predicted();
  const MeasuredRun run = full_run(outcome);
  const auto json = replay_part(outcome, run, {.warmup = 2, .predicts = true});
  CHECK(json["backend"] == "threads");
  CHECK(json["warmup"] == 2);
  CHECK(json["steps_ns"] == std::vector<int>{10'000'000});
  CHECK(json["step_ns"] == 10'000'000);
  CHECK(json["predicted_step_ns"] == 9'000'000);
  CHECK(json["proof"]["holds"] == true);
  CHECK(json["proof"]["losses"] == std::vector<double>{2.5, 1.5});
  CHECK(json["memory_as_predicted"] == true);
  CHECK(json["memory"][0] ==
        nlohmann::json{{"stage", 0}, {"predicted_peak_bytes", 200}, {"measured_peak_bytes", 200}, {"buffer_bytes", 0}});
  CHECK(replay_part(outcome, run, {.predicts = false})["predicted_step_ns"].is_null());
  MeasuredRun odd = run;
  odd.facts.machine = "a\xff"; // invalid UTF-8
  CHECK(replay_part(outcome, odd, {})["machine"] == "a\xEF\xBF\xBD");
}

TEST_CASE("Every key of a validation, and what a replay adds to its report, is in the documents") {
  const Outcome outcome = predicted();
  const MeasuredRun run = full_run(outcome);
  Validation validation = validate_run(outcome.graph, outcome.timeline, run, 0.05);
  validation.alone = ComparedTime{7ms, 9ms};
  std::set<std::string> keys;
  collect_keys(nlohmann::json::parse(traces::validation_json(outcome.graph, run, validation)), keys);
  collect_keys(replay_part(outcome, run, {}), keys);
  CHECK(keys.size() > 40);
  std::ifstream stream{source_path("docs/run-files.md")};
  const std::string page{std::istreambuf_iterator<char>{stream}, {}};
  const std::string tables = page.substr(page.find("## A run compared with its prediction"));
  for (const std::string& key : keys) {
    CAPTURE(key);
    const bool is_there = tables.find("`" + key + "`") != std::string::npos;
    CHECK(is_there);
  }
}

} // namespace ppsim::test::validation_views_test
