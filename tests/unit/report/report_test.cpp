// Report: the three bubbles, where every nanosecond went, the phases and the critical path, each by hand.

#include "ppsim/study/run_report.hpp"
#include "ppsim/viz/text.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace ppsim::test::report_test {

using namespace std::chrono_literals;

namespace {

const Rows one_f_one_b{"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"};
const Rows gpipe{"0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1"};

/// p = 2, F = 10, B = 20, c = 3.
Outcome run_small(const Rows& rows, std::size_t microbatches = 2) {
  return run(order(rows), uniform_scenario({.stages = 2, .microbatches = microbatches, .vpp = 1}, 10ns, 20ns, 3ns));
}

/// The labels of a stage that are not zero.
std::map<std::string, std::int64_t> time_of(const Outcome& outcome, std::size_t stage) {
  std::map<std::string, std::int64_t> table;
  for (std::size_t label = 0; label < label_count; ++label) {
    const Duration time = outcome.report.stages[stage].time[label];
    if (time != 0ns) table.emplace(to_string(label_at(label)), time.count());
  }
  return table;
}
using Table = std::map<std::string, std::int64_t>;

void check_total(const Outcome& outcome) {
  const auto by_label = outcome.report.time_by_label();
  const Duration total = std::accumulate(by_label.begin(), by_label.end(), 0ns);
  CHECK(total == static_cast<std::int64_t>(outcome.report.stages.size()) * outcome.report.makespan);
}

/// "0F0 none", "send 0F0 none": the steps of the critical path and why each waited.
Rows path_of(const Outcome& outcome) {
  Rows steps;
  for (const PathStep& step : outcome.report.critical_path)
    steps.push_back((step.is_transfer() ? "send " : "") + to_string(outcome.graph.schedule().task(step.task)) + " " +
                    std::string{to_string(step.cause)});
  return steps;
}

/// Three microbatches over a slow link that the second stage does not take in order, under `link`:
///   stage 0        0F0[0,20) 0F1[20,40) 0F2[40,60)                        0B0[184,204) 0B1[219,239) 0B2[254,274)
///   link 0 -> 1             0F0[20,55) 0F1[55,90) 0F2[90,125)
///   stage 1                 1F0[55,57)            1F2[125,127) 1F1[127,129) 1B0 .. 1B1 .. 1B2[169,189)
///   link 1 -> 0                                                1B0[149,184) 1B1[184,219) 1B2[219,254)
Outcome run_contended() {
  Scenario scenario = uniform_scenario({.stages = 2, .microbatches = 3, .vpp = 1}, 20ns, 20ns, 35ns);
  scenario.costs.forward[1] = 2ns;
  scenario.network.model = TransferModel::link;
  return run(order({"0F0 0F1 0F2 0B0 0B1 0B2", "1F0 1F2 1F1 1B0 1B1 1B2"}), scenario);
}

} // namespace

TEST_CASE("1F1B's time by cause: waits for gradients are split into the peer's work and the transfer") {
  //  stage 0  0F0[0,10) 0F1[10,20) |down 20-43|transfer 43-46| 0B0[46,66) |down 66-73|transfer 73-76| 0B1[76,96)
  //  stage 1  |warm-up 0-13| 1F0[13,23) 1B0[23,43) 1F1[43,53) 1B1[53,73) |drain 73-96|
  const Outcome outcome = run_small(one_f_one_b);
  CHECK(time_of(outcome, 0) == Table{{"F", 20}, {"B", 40}, {"downstream", 30}, {"transfer", 6}});
  CHECK(time_of(outcome, 1) == Table{{"F", 20}, {"B", 40}, {"warmup", 13}, {"drain", 23}});
  check_total(outcome);
}

TEST_CASE("GPipe's time by cause: one wait for the first gradient") {
  //  stage 0  0F0[0,10) 0F1[10,20) |down 20-53|transfer 53-56| 0B0[56,76) 0B1[76,96)
  //  stage 1  |warm-up 0-13| 1F0[13,23) 1F1[23,33) 1B0[33,53) 1B1[53,73) |drain 73-96|
  const Outcome outcome = run_small(gpipe);
  CHECK(time_of(outcome, 0) == Table{{"F", 20}, {"B", 40}, {"downstream", 33}, {"transfer", 3}});
  CHECK(time_of(outcome, 1) == Table{{"F", 20}, {"B", 40}, {"warmup", 13}, {"drain", 23}});
  check_total(outcome);
}

TEST_CASE("A forward that waits for the chunk before waits upstream") {
  //  F = 10 then 4, B = 20 on both, c = 3, GPipe:
  //  stage 0  0F0[0,10) 0F1[10,20)
  //  stage 1  |warm-up 0-13| 1F0[13,17) |up 17-20|transfer 20-23| 1F1[23,27) 1B0[27,47) 1B1[47,67) |drain 67-90|
  //  stage 0 again: 0B0[50,70) 0B1[70,90)
  Scenario scenario = uniform_scenario({.stages = 2, .microbatches = 2, .vpp = 1}, 10ns, 20ns, 3ns);
  scenario.costs.forward[1] = 4ns;
  const Outcome outcome = run(order(gpipe), scenario);
  CHECK(time_of(outcome, 1) ==
        Table{{"F", 8}, {"B", 40}, {"warmup", 13}, {"upstream", 3}, {"transfer", 3}, {"drain", 23}});
  CHECK(time_of(outcome, 0) == Table{{"F", 20}, {"B", 40}, {"downstream", 27}, {"transfer", 3}});
  check_total(outcome);
}

TEST_CASE("Time that a transfer waits for its link has the label link") {
  //  stage 1 waits for 1F2 from 57 to 125: until 60 for 0F2 to end, until 90 for the link, then for the transfer
  const Outcome outcome = run_contended();
  CHECK(outcome.report.makespan == 274ns);
  CHECK(time_of(outcome, 0) == Table{{"F", 60}, {"B", 60}, {"downstream", 89}, {"transfer", 65}});
  CHECK(time_of(outcome, 1) ==
        Table{{"F", 6}, {"B", 60}, {"warmup", 55}, {"upstream", 3}, {"link", 30}, {"transfer", 35}, {"drain", 85}});
  check_total(outcome);
}

TEST_CASE("A pair has one label, and its wait is named after the half that was waited for") {
  //  F = 10, B = 20, c = 3; the pair waits for 0B0's gradient
  //  stage 0  0F0[0,10) |down 10-43|transfer 43-46| (0F1;0B0)[46,76) |down 76-109|transfer 109-112| 0B1[112,132)
  //  stage 1  |warm-up 0-13| 1F0[13,23) 1B0[23,43) |up 43-76|transfer 76-79| 1F1[79,89) 1B1[89,109) |drain 109-132|
  const Outcome outcome = run_small({"0F0 (0F1;0B0) 0B1", "1F0 1B0 1F1 1B1"});
  CHECK(time_of(outcome, 0) == Table{{"F", 10}, {"overlap", 30}, {"B", 20}, {"downstream", 66}, {"transfer", 6}});
  CHECK(time_of(outcome, 1) ==
        Table{{"F", 20}, {"B", 40}, {"warmup", 13}, {"upstream", 33}, {"transfer", 3}, {"drain", 23}});
  check_total(outcome);
}

TEST_CASE("I and W have their own labels") {
  //  F = 10, I = 10, W = 10, c = 3: the order of simulate_test, makespan 86
  const Outcome outcome = run_small({"0F0 0F1 0I0 0W0 0I1 0W1", "1F0 1I0 1F1 1W0 1I1 1W1"});
  CHECK(time_of(outcome, 0) == Table{{"F", 20}, {"I", 20}, {"W", 20}, {"downstream", 20}, {"transfer", 6}});
  CHECK(time_of(outcome, 1) == Table{{"F", 20}, {"I", 20}, {"W", 20}, {"warmup", 13}, {"drain", 13}});
  check_total(outcome);
}

TEST_CASE("A stage without tasks waits from the beginning to the end") {
  const Outcome outcome =
      run(order({"0F0 1F0 1B0 0B0", ""}), uniform_scenario({.stages = 2, .microbatches = 1, .vpp = 1}, 10ns, 20ns));
  CHECK(outcome.report.stages[1].busy == 0ns);
  CHECK(time_of(outcome, 1) == Table{{"warmup", outcome.report.makespan.count()}});
}

TEST_CASE("The account of a stage is a sequence without gaps") {
  const Outcome outcome = run_small(one_f_one_b);
  const auto spans = account(outcome.graph, outcome.timeline, StageId{0}, SimTime{96ns});
  using L = Label;
  const std::vector<std::pair<L, Span>> expected{{L::forward, between(0, 10)},     {L::forward, between(10, 20)},
                                                 {L::downstream, between(20, 43)}, {L::transfer, between(43, 46)},
                                                 {L::backward, between(46, 66)},   {L::downstream, between(66, 73)},
                                                 {L::transfer, between(73, 76)},   {L::backward, between(76, 96)}};
  REQUIRE(spans.size() == expected.size());
  for (std::size_t i = 0; i < spans.size(); ++i) {
    CHECK(spans[i].label == expected[i].first);
    CHECK(spans[i].span == expected[i].second);
  }
  CHECK(spans[2].task == outcome.id("0B0"));
}

TEST_CASE("Bubble ratio, bubble overhead and stage span bubble differ") {
  //  F = 10, 20; B = 20, 40; no transfers; 1F1B
  //  stage 0  0F0[0,10) 0F1[10,20)             0B0[70,90)              0B1[130,150)   60 of work
  //  stage 1            1F0[10,30) 1B0[30,70)  1F1[70,90) 1B1[90,130)                120 of work
  Scenario scenario = uniform_scenario({.stages = 2, .microbatches = 2, .vpp = 1}, 10ns, 20ns);
  scenario.costs = {.forward = {10ns, 20ns}, .input_grad = {10ns, 20ns}, .weight_grad = {10ns, 20ns}, .overhead = 0ns};
  const RunReport report = run(order(one_f_one_b), scenario).report;
  CHECK(report.makespan == 150ns);
  CHECK(report.step_time == 150ns);
  CHECK(report.ideal == 120ns);                   // the busiest stage
  CHECK(report.bubble_ratio == Approx(0.4));      // (2 * 150 - 180) / 300
  CHECK(report.bubble_overhead == Approx(0.25));  // (150 - 120) / 120
  CHECK(report.stage_span_bubble == Approx(0.6)); // stage 0 spans 150, works 60
  CHECK(report.stages[0].extent == between(0, 150));
  CHECK(report.stages[1].extent == between(10, 130));
  CHECK(report.stages[0].busy == 60ns);
  CHECK(report.stages[1].idle == 30ns);
}

TEST_CASE("1F1B with equal stages loses (p-1)/(m+p-1) of the device time, (p-1)/m of the ideal") {
  const Shape shape{.stages = 4, .microbatches = 8, .vpp = 1};
  const RunReport report = run(generate("1f1b", shape), uniform_scenario(shape, 1ms, 2ms)).report;
  CHECK(report.bubble_ratio == Approx(3.0 / 11.0));
  CHECK(report.bubble_overhead == Approx(3.0 / 8.0));
  CHECK(report.stage_span_bubble == Approx(3.0 / 11.0));
}

TEST_CASE("A run that takes no time has no bubble") {
  const RunReport report =
      run(order(one_f_one_b), uniform_scenario({.stages = 2, .microbatches = 2, .vpp = 1}, 0ns, 0ns)).report;
  CHECK(report.makespan == 0ns);
  CHECK(report.bubble_ratio == 0.0);
  CHECK(report.bubble_overhead == 0.0);
  CHECK(report.stage_span_bubble == 0.0);
}

TEST_CASE("1F1B's critical path follows what released each task") {
  // 10 + 3 + 10 + 20 + 10 + 20 + 3 + 20 = 96
  CHECK(path_of(run_small(one_f_one_b)) == Rows{"0F0 none", "send 0F0 none", "1F0 activation", "1B0 order", "1F1 order",
                                                "1B1 order", "send 1B1 none", "0B1 gradient"});
}

TEST_CASE("GPipe's critical path turns at the last stage") {
  // 10 + 3 + 10 + 10 + 20 + 3 + 20 + 20 = 96; of 0F1's transfer and 1F0, both at 23, the task before on the stage is on
  // the path
  CHECK(path_of(run_small(gpipe)) == Rows{"0F0 none", "send 0F0 none", "1F0 activation", "1F1 order", "1B0 order",
                                          "send 1B0 none", "0B0 gradient", "0B1 order"});
}

TEST_CASE("The critical path goes through every transfer that held the link") {
  // 20 + 3 * 35 + 2 + 2 + 20 + 3 * 35 + 20 = 274
  CHECK(path_of(run_contended()) == Rows{"0F0 none", "send 0F0 none", "send 0F1 order", "send 0F2 order",
                                         "1F2 activation", "1F1 order", "1B0 order", "send 1B0 none", "send 1B1 order",
                                         "send 1B2 order", "0B2 gradient"});
}

TEST_CASE("1F1B's stage s has p-1-s warm-up forwards, as many cool-down backwards, and pairs between") {
  const Shape shape{.stages = 4, .microbatches = 8, .vpp = 1};
  const RunReport report = run(generate("1f1b", shape), uniform_scenario(shape, 1ms, 2ms)).report;
  for (std::size_t stage = 0; stage < 4; ++stage) {
    CAPTURE(stage);
    CHECK(report.stages[stage].warmup_forwards == 3 - stage);
    CHECK(report.stages[stage].steady_pairs == 5 + stage);
    CHECK(report.stages[stage].cooldown_backwards == 3 - stage);
  }
}

TEST_CASE("With few microbatches, 1F1B's warm-up is min(m, p-1-s), although the order alone does not show it") {
  for (const std::size_t microbatches : std::vector<std::size_t>{1, 3, 4, 5}) {
    const Shape shape{.stages = 5, .microbatches = microbatches, .vpp = 1};
    const RunReport report = run(generate("1f1b", shape), uniform_scenario(shape, 1ms, 2ms)).report;
    for (std::size_t stage = 0; stage < 5; ++stage) {
      CAPTURE(microbatches, stage);
      CHECK(report.stages[stage].warmup_forwards == std::min(microbatches, 4 - stage));
      CHECK(report.stages[stage].steady_pairs == microbatches - std::min(microbatches, 4 - stage));
    }
  }
}

TEST_CASE("An order from elsewhere has its phases counted") {
  const RunReport one_pair_later = run_small({"0F0 0F1 0B0 0F2 0B1 0B2", "1F0 1B0 1F1 1B1 1F2 1B2"}, 3).report;
  CHECK(one_pair_later.stages[0].warmup_forwards == 1);
  CHECK(one_pair_later.stages[1].warmup_forwards == 0);
  const RunReport no_pair = run_small({"0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1"}, 2).report;
  CHECK(no_pair.stages[0].warmup_forwards == 2);
  CHECK(no_pair.stages[0].steady_pairs == 0);
  CHECK(no_pair.stages[0].cooldown_backwards == 2);
}

TEST_CASE("Interleaved stage s has 2(p-1-s) + (v-1)g warm-up forwards") {
  const Shape shape{.stages = 4, .microbatches = 8, .vpp = 2};
  const RunReport report = run(generate("interleaved", shape), uniform_scenario(shape, 1ms, 2ms)).report;
  for (std::size_t stage = 0; stage < 4; ++stage) {
    CAPTURE(stage);
    CHECK(report.stages[stage].warmup_forwards == 2 * (3 - stage) + 4);
    CHECK(report.stages[stage].steady_pairs == 16 - (2 * (3 - stage) + 4));
    CHECK(report.stages[stage].cooldown_backwards == 2 * (3 - stage) + 4);
  }
}

TEST_CASE("GPipe's stages have no pairs: all forwards warm up, all backwards cool down") {
  const Shape shape{.stages = 4, .microbatches = 8, .vpp = 1};
  const RunReport report = run(generate("gpipe", shape), uniform_scenario(shape, 1ms, 2ms)).report;
  for (const StageReport& stage : report.stages) {
    CHECK(stage.warmup_forwards == 8);
    CHECK(stage.steady_pairs == 0);
    CHECK(stage.cooldown_backwards == 8);
  }
}

TEST_CASE("A split backward counts once, with its I") {
  const RunReport report =
      run_small({"0F0 0F1 0I0 0F2 0W0 0I1 0W1 0I2 0W2", "1F0 1I0 1F1 1W0 1I1 1F2 1W1 1I2 1W2"}, 3).report;
  CHECK(report.stages[0].warmup_forwards == 1);
  CHECK(report.stages[0].steady_pairs == 2);
  CHECK(report.stages[0].cooldown_backwards == 1);
  CHECK(report.stages[1].warmup_forwards == 0);
  CHECK(report.stages[1].steady_pairs == 3);
  CHECK(report.stages[1].cooldown_backwards == 0);
}

TEST_CASE("The report counts transfers and their bytes") {
  const Shape shape{.stages = 2, .microbatches = 3, .vpp = 2};
  Scenario scenario = uniform_scenario(shape, 1ms, 2ms);
  scenario.network.boundary_bytes = {Bytes{1}, Bytes{10}, Bytes{100}};
  const RunReport report = run(generate("sequential", shape), scenario).report;
  CHECK(report.transfers == 3 * 3 * 2);
  CHECK(report.transfer_volume == Bytes{111 * 3 * 2});
}

TEST_CASE("Every metric has a tag, a formula and one kind of value") {
  const RunReport report = run_small(one_f_one_b).report;
  std::vector<std::string> tags;
  for (const Metric& metric : metrics()) {
    tags.emplace_back(metric.tag);
    CHECK((metric.time != nullptr) + (metric.ratio != nullptr) + (metric.rate != nullptr) == 1);
    CHECK(!metric.name.empty());
    CHECK(!metric.formula.empty());
    CHECK(!metric.description.empty());
    CHECK(!metric.unit().empty());
    CHECK(metric.value(report).has_value() == (metric.rate == nullptr)); // no rate where no work is known
  }
  CHECK(tags == Rows{"makespan_ns", "step_time_ns", "ideal_ns", "bubble_ratio", "bubble_overhead", "stage_span_bubble",
                     "gap", "step_time_mean_ns", "step_time_p50_ns", "step_time_p95_ns", "step_time_p99_ns", "mfu",
                     "hfu", "tflops_per_device", "tflops", "tokens_per_second_per_device", "tokens_per_second"});
  CHECK(metrics()[0].unit() == "ns");
  CHECK(metrics()[3].unit() == "ratio");
  CHECK(metrics()[0].time(report) == 96ns);
  CHECK(metrics()[3].ratio(report) == Approx(72.0 / 192.0));
}

TEST_CASE("Colours do not change the line breaks of a report") {
  const Shape shape{.stages = 17, .microbatches = 8, .vpp = 1}; // too many for a chart, which draws '-' as colour
  Scenario scenario = uniform_scenario(shape, 1ms, 2ms, 20us);
  scenario.memory.activation.assign(shape.chunks(), Bytes{1 << 20});
  for (const std::int64_t limit : {6, 8}) { // exceeded, and not
    scenario.memory.limit = Bytes{limit << 20};
    const Outcome outcome = run(generate("1f1b", shape), scenario);
    CHECK(outcome.report.overflow.has_value() == (limit == 6));
    for (std::size_t width = 60; width <= 120; ++width) {
      const std::string coloured = viz::text_report(outcome.graph, outcome.timeline, outcome.report, {width, true});
      const std::string plain = viz::text_report(outcome.graph, outcome.timeline, outcome.report, {width, false});
      CAPTURE(width, limit);
      CHECK(coloured.size() > plain.size());
      CHECK(std::regex_replace(coloured, std::regex{"\033\\[[0-9;]*m"}, "") == plain);
    }
  }
}

TEST_CASE("The table of stages names every cause of idle time, in lines as wide as the terminal") {
  const Shape shape{.stages = 16, .microbatches = 32, .vpp = 4};
  Scenario scenario = uniform_scenario(shape, 1ms, 2ms, 130us);
  scenario.network.model = TransferModel::link;
  const Outcome outcome = run(generate("interleaved", shape), scenario);
  for (const std::size_t width : {80U, 100U, 120U}) {
    const std::string text = viz::text_report(outcome.graph, outcome.timeline, outcome.report, {width, false});
    std::istringstream stream{text};
    std::vector<std::string> rows; // of the stages, each with its further lines
    bool table = false;
    for (std::string line; std::getline(stream, line);) {
      CHECK(std::ranges::count_if(line, [](char byte) { return (byte & 0xC0) != 0x80; }) <=
            static_cast<std::ptrdiff_t>(width));
      if (line.find("phases: ") != std::string::npos) table = false;
      if (table && line.find("░") != std::string::npos) rows.emplace_back();
      if (table) rows.back() += line + " ";
      if (line.starts_with("  stage")) table = true;
    }
    CAPTURE(width, text);
    REQUIRE(rows.size() == shape.stages);
    for (std::size_t stage = 0; stage < rows.size(); ++stage)
      for (const auto& [name, time] : time_of(outcome, stage))
        if (name.size() > 1) // F and B are no idle time
          CHECK(rows[stage].find(" " + name + " " + format_duration(Duration{time})) != std::string::npos);
  }
}

} // namespace ppsim::test::report_test
