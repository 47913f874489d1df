// A comparison in all its views: table, Markdown, JSON, and charts on one axis.

#include "ppsim/base/words.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/comparison.hpp"
#include "ppsim/study/run_report.hpp"
#include "ppsim/traces/json.hpp"
#include "ppsim/viz/comparison.hpp"
#include "ppsim/viz/svg.hpp"
#include "support/runs.hpp"
#include "support/svg.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <cmath>
#include <deque>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "viz/text/text_blocks.hpp"

namespace ppsim::test::comparison_views_test {

using namespace std::chrono_literals;

namespace {

/// A contender of one stage with nothing but what a table shows.
Contender contender(std::string name, Duration step_time, std::int64_t gib) {
  Contender made{
      .name = std::move(name), .fields = "--schedule x", .shape = {1, 8, 1}, .demands = {}, .layout = {}, .report = {}};
  made.report.step_time = step_time;
  made.report.makespan = step_time;
  made.report.ideal = step_time;
  made.report.stages.resize(1);
  made.report.stages[0].peak_activation_bytes = Bytes{gib << 30};
  made.report.stages[0].peak_live_activations = 4;
  return made;
}

/// fast (20 ms, 50 GiB) does not fit in 40 GiB; good (25 ms, 30 GiB) is recommended; plain takes 30 ms and 10 GiB.
Comparison three() {
  Comparison comparison;
  comparison.title = "three of them";
  comparison.source = "a | b";
  comparison.stages = 4;
  comparison.microbatches = 8;
  comparison.memory_limit = Bytes{std::int64_t{40} << 30};
  comparison.knows_memory = true;
  comparison.contenders = {contender("fast", 20ms, 50), contender("good", 25ms, 30), contender("plain", 30ms, 10)};
  comparison.contenders[0].report.overflow =
      Overflow{.stage = StageId{0}, .task = no_task, .at = SimTime{3ms}, .needed = Bytes{std::int64_t{50} << 30}};
  comparison.contenders[1].demands = {.chunks_per_stage = 2, .splits_backward = true, .folds = true};
  comparison.contenders[1].report.bubble_ratio = 0.25;
  comparison.contenders[1].report.bubble_overhead = 1.0 / 3;
  comparison.contenders[1].report.stage_span_bubble = 0.125;
  comparison.not_applicable = {{"a", "too few"}, {"b", "too many"}, {"c", "too few"}};
  comparison.recommendation = Recommendation{.best = 1, .runner_up = 2, .simpler = std::nullopt};
  return comparison;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream{text};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string line_with(const std::string& text, std::string_view part) {
  for (const std::string& line : lines_of(text))
    if (line.find(part) != std::string::npos) return line;
  return {};
}

/// Runs of the same costs under several schedules, as a command compares them.
struct Runs {
  Comparison comparison;
  std::deque<Outcome> outcomes;
  std::vector<viz::Panel> panels;

  Runs(const std::vector<std::string>& names, std::size_t stages, std::size_t microbatches, std::size_t best = 0) {
    comparison.stages = stages;
    comparison.microbatches = microbatches;
    for (const std::string& name : names) {
      const Shape shape{stages, microbatches, find_generator(name).vpp.standard};
      outcomes.push_back(run(generate(name, shape), uniform_scenario(shape, 1ms, 2ms, 50us)));
    }
    for (std::size_t i = 0; i < names.size(); ++i)
      panels.push_back({outcomes[i].graph, outcomes[i].timeline, outcomes[i].report, names[i], i == best});
  }
  [[nodiscard]] std::string svg() const { return viz::svg_comparison(comparison, panels); }
};

std::set<std::string> texts_of(const std::vector<Element>& elements) {
  std::set<std::string> texts;
  for (const Element& text : elements_named(elements, "text")) texts.insert(text.text);
  return texts;
}

/// The rightmost edge of the cells between two heights.
double right_edge(const std::vector<Element>& elements, double top, double bottom) {
  double right = 0;
  for (const Element& cell : elements_named(elements, "rect", "cells"))
    if (cell.number("y") > top && cell.number("y") < bottom)
      right = std::max(right, cell.number("x") + cell.number("width"));
  return right;
}

double line_at(const Element& path) {
  return std::strtod(path.get("d").c_str() + 1, nullptr);
}

} // namespace

// 20 ms is 20 % less than 25 ms and 30 ms is 20 % more; 40 - 30 GiB are free.
TEST_CASE("the table measures times against the recommended schedule and says what fits") {
  const std::string text = viz::comparison_text(three(), "take good: it is.", {.width = 140, .colour = false});
  CHECK(lines_of(text).front() == "3 schedules: 4 stages, 8 microbatches, transfers: latency, limit 40 GiB");
  CHECK(line_with(text, "fast") ==
        "  fast          20 ms  -20.0 %   0.0 %   0.0 %   0.0 %  50 GiB      no          0       "
        "1  -");
  CHECK(line_with(text, "> good") ==
        "> good          25 ms           25.0 %  33.3 %  12.5 %  30 GiB  10 GiB          0  "
        "     1  V, split");
  CHECK(line_with(text, "plain").find("+20.0 %") != std::string::npos);
  CHECK(line_with(text, "take good") == "take good: it is.");
}

TEST_CASE("schedules that do not apply for the same reason share one line") {
  const std::string text = viz::comparison_text(three(), "", {.width = 100, .colour = false});
  CHECK(line_with(text, "too few") == "  a, c: too few");
  CHECK(line_with(text, "too many") == "  b: too many");
}

TEST_CASE("a narrow terminal omits the least informative columns first, and the table names them") {
  Comparison comparison = three();
  comparison.contenders.push_back(contender("a-schedule-with-a-long-name v=16", 40ms, 10));
  const auto head = [&comparison](std::size_t width) {
    const std::string text = viz::comparison_text(comparison, "", {.width = width, .colour = false});
    for (const std::string& line : lines_of(text)) {
      CAPTURE(line);
      CHECK(line.size() <= width);
    }
    return line_with(text, "step time");
  };
  CHECK(head(240).find("transfers") != std::string::npos);
  CHECK(head(100).find("transfers") == std::string::npos);
  CHECK(head(100).find("bubble") != std::string::npos);
  CHECK(head(73).find("bubble") == std::string::npos);
  for (std::size_t width = 66; width <= 240; ++width) CHECK(head(width).find("free") != std::string::npos);
  CHECK(viz::comparison_text(comparison, "", {.width = 73, .colour = false}).find("in --json: bubble, over") !=
        std::string::npos);
}

// An asynchronous schedule's step is shorter than the time that one step takes by itself.
TEST_CASE("the makespan is shown only if one differs from its step time") {
  Comparison comparison = three();
  CHECK(viz::comparison_text(comparison, "", {.width = 200, .colour = false}).find("makespan") == std::string::npos);
  comparison.contenders[0].report.makespan = 22ms;
  const std::string text = viz::comparison_text(comparison, "", {.width = 200, .colour = false});
  CHECK(line_with(text, "fast").find("22 ms") != std::string::npos);
  CHECK(line_with(text, "plain").find("30 ms") == line_with(text, "plain").rfind("30 ms"));
}

TEST_CASE("without sizes the table counts activations of a whole stage") {
  Comparison comparison = three();
  comparison.knows_memory = false;
  comparison.contenders[1].shape.vpp = 2; // 4 of its chunks are 2 stages
  const std::string text = viz::comparison_text(comparison, "", {.width = 100, .colour = false});
  CHECK(text.find("GiB  ") == std::string::npos);
  CHECK(line_with(text, "step time").find("live") != std::string::npos);
  CHECK(line_with(text, "> good").find("     2  ") != std::string::npos);
}

TEST_CASE("a comparison of nothing, and one that recommends nothing, can be shown") {
  Comparison comparison = three();
  comparison.recommendation.reset();
  const std::string text = viz::comparison_text(comparison, "nothing fits", {.width = 100, .colour = false});
  CHECK(line_with(text, "plain").find("+50.0 %") != std::string::npos); // than the first
  comparison.contenders.clear();
  CHECK(viz::comparison_text(comparison, "nothing applies", {.width = 100, .colour = true}).find("nothing applies") !=
        std::string::npos);
  CHECK(viz::comparison_markdown(comparison, "nothing applies").find("nothing applies") != std::string::npos);
}

TEST_CASE("the Markdown table has all columns in every row, and escapes markup") {
  Comparison comparison = three();
  comparison.contenders[0].name = "a|b_c";
  const std::string text = viz::comparison_markdown(comparison, "take *good*");
  std::set<std::ptrdiff_t> bars;
  for (const std::string& line : lines_of(text)) {
    std::string plain = line;
    for (std::size_t at = plain.find("\\|"); at != std::string::npos; at = plain.find("\\|")) plain.erase(at, 2);
    if (plain.starts_with("|")) bars.insert(std::count(plain.begin(), plain.end(), '|'));
  }
  CHECK(bars.size() == 1);
  CHECK(line_with(text, "| schedule") ==
        "| schedule | step time | slower | bubble | over | span | memory | free | transfers | copies | asks |");
  CHECK(line_with(text, "20 ms").starts_with("| a\\|b\\_c |"));
  CHECK(text.find("good (recommended)") != std::string::npos);
  CHECK(text.find("take \\*good\\*") != std::string::npos);
}

// Between `least` and `most`, all times equally often.
StepSpread even_spread(Duration least, Duration most) {
  StepSpread spread{.of = {.ppm = 50'000}};
  for (std::size_t i = 0; i <= StepSpread::quantile_count; ++i)
    spread.quantiles.push_back(least + (most - least) * static_cast<std::int64_t>(i) /
                                           static_cast<std::int64_t>(StepSpread::quantile_count));
  spread.mean = spread.p50 = spread.quantiles[StepSpread::quantile_count / 2];
  spread.p95 = spread.p99 = spread.quantiles[StepSpread::quantile_count * 95 / 100];
  return spread;
}

TEST_CASE("The plot of steps has a row for each schedule that was sampled, on one axis, and names the others") {
  Comparison comparison = three();
  comparison.title = "a <b> & c";
  comparison.contenders.push_back(contender("slow & <steady>", 60ms, 10));
  comparison.contenders[0].report.spread = even_spread(21ms, 31ms);
  comparison.contenders[1].report.spread = even_spread(26ms, 28ms);
  comparison.contenders[3].report.spread = even_spread(61ms, 62ms);
  const std::string svg = viz::svg_step_spread(comparison);
  CHECK(xml_fault(svg).empty());
  const std::vector<Element> elements = parsed(svg);
  CHECK(misplaced_texts(elements).empty());
  CHECK(elements_named(elements, "path", "shape").size() == 2);
  CHECK(svg.find("plain is not sampled") != std::string::npos);
  CHECK(svg.find("slow &amp; &lt;steady&gt; is not drawn: median 61.5 ms") != std::string::npos);
  CHECK(svg.find("dashed line: step time of good") != std::string::npos);
  const auto x_of = [&](std::string_view css_class, std::size_t row) {
    return std::strtod(elements_named(elements, "path", css_class)[row].get("d").c_str() + 1, nullptr);
  };
  const double ms = x_of("without", 1) - x_of("without", 0); // 5 of them
  CHECK(x_of("median", 0) - x_of("without", 0) == Approx(6 * ms / 5).margin(0.02));
  CHECK(x_of("mean", 1) - x_of("without", 1) == Approx(2 * ms / 5).margin(0.02));
  CHECK(x_of("reference", 0) == x_of("without", 1));
  comparison.ranked_by = StepFigure::p95;
  CHECK(viz::svg_step_spread(comparison).find("dashed line: p95 of good") != std::string::npos);
}

TEST_CASE("lines are broken at spaces and indented") {
  CHECK(wrapped_lines("one two three", 8, 2) == "one two\n  three\n");
  CHECK(wrapped_lines("one two three", 13, 2) == "one two three\n");
  CHECK(wrapped_lines("incomprehensible two", 8, 2) == "incomprehensible\n  two\n");
  CHECK(wrapped_lines("", 8, 2) == "\n");
  CHECK(wrapped_lines("one two", 8, 4, 4) == "one\n    two\n");
}

TEST_CASE("the JSON names every metric by its tag, memory by stage, and the recommendation") {
  const std::string json = traces::comparison_json(three(), "take good: it is.");
  for (const Metric& metric : metrics()) // rates only where work is known
    CHECK((json.find('"' + std::string{metric.tag} + "\": ") != std::string::npos) == (metric.rate == nullptr));
  CHECK(json.find("\"step_time_ns\": 25000000") != std::string::npos);
  CHECK(json.find("\"peak_bytes\": 53687091200") != std::string::npos); // 50 GiB
  CHECK(json.find("\"at_ns\": 3000000") != std::string::npos);
  CHECK(json.find("\"memory_limit_bytes\": 42949672960") != std::string::npos);
  const std::string tail = json.substr(json.find("\"recommendation\""));
  CHECK(tail.find("\"best\": \"good\"") != std::string::npos);
  CHECK(tail.find("\"runner_up\": \"plain\"") != std::string::npos);
  CHECK(tail.find("\"simpler\": null") != std::string::npos);
  CHECK(tail.find("\"text\": \"take good: it is.\"") != std::string::npos);
}

TEST_CASE("without sizes or a limit the JSON has no bytes and no fits") {
  Comparison comparison = three();
  comparison.knows_memory = false;
  comparison.memory_limit.reset();
  const std::string json = traces::comparison_json(comparison, "");
  CHECK(json.find("\"fits\": true") == std::string::npos);
  CHECK(json.find("\"fits\": null") != std::string::npos);
  CHECK(json.find("\"peak_bytes\": null") != std::string::npos);
}

// 1F1B of 4 stages and 8 microbatches takes longer than zb-h1, so the reference line stands left of its last cell by
// the ratio of the two makespans.
TEST_CASE("stacked charts share their axis, and a line shows where the recommended run ends") {
  const Runs runs{{"zb-h1", "1f1b"}, 4, 8};
  const std::vector<Element> elements = parsed(runs.svg());
  const std::vector<Element> lines = elements_named(elements, "path", "reference");
  REQUIRE(lines.size() == 2); // on a white ground
  std::vector<double> heads;
  for (const Element& name : elements_named(elements, "text", "panel"))
    if (name.get("font-weight") == "bold") heads.push_back(name.number("y"));
  REQUIRE(heads.size() == 2);
  const double left = elements_named(elements, "text", "panel").front().number("x");
  const double first = right_edge(elements, heads[0], heads[1]);
  const double second = right_edge(elements, heads[1], 1e9);
  CHECK(line_at(lines[0]) == Approx(first).margin(0.02));
  const auto time = [&runs](std::size_t i) { return static_cast<double>(runs.outcomes[i].report.makespan.count()); };
  CHECK((first - left) / (second - left) == Approx(time(0) / time(1)).epsilon(1e-4));
  CHECK(texts_of(elements).count("recommended") == 1);
}

// Sequential takes four times as long as the others together: they would be a quarter of the width.
TEST_CASE("a run of more than twice the reference is cut off and marked") {
  const Runs runs{{"zb-h1", "1f1b", "sequential"}, 4, 8};
  const std::vector<Element> elements = parsed(runs.svg());
  CHECK(elements_named(elements, "path", "cut").size() == 2);
  std::size_t cut = 0;
  for (const std::string& text : texts_of(elements)) cut += text.find("cut off") != std::string::npos ? 1 : 0;
  CHECK(cut == 1);
  const double width = elements.front().number("width");
  for (const Element& cell : elements_named(elements, "rect", "cells"))
    CHECK(cell.number("x") + cell.number("width") <= width - 33.9);
  const Runs without{{"zb-h1", "1f1b"}, 4, 8};
  CHECK(right_edge(parsed(without.svg()), 0, 1e9) == Approx(right_edge(elements, 0, 1e9)).margin(1));
}

TEST_CASE("one legend explains the content of all charts, and hatches are defined for it") {
  const Runs runs{{"1f1b", "zb-v", "dualpipe"}, 4, 8};
  const std::vector<Element> elements = parsed(runs.svg());
  const std::set<std::string> texts = texts_of(elements);
  for (const char* entry : {"F: forward", "B: backward", "W: weight gradient", "drain: after the last task"})
    CHECK(texts.count(entry) == 1);
  std::set<std::string> defined;
  for (const Element& pattern : elements_named(elements, "pattern")) defined.insert(pattern.get("id"));
  std::set<std::string> used;
  for (const Element& element : elements)
    if (element.get("fill").starts_with("url(#"))
      used.insert(element.get("fill").substr(5, element.get("fill").size() - 6));
  CHECK(used == defined);
}

// Columns that are spread over the whole plot would show the shorter run as long as the other.
TEST_CASE("columns of shares also end with their run") {
  const Runs runs{{"zb-h1", "1f1b"}, 64, 256};
  const std::vector<Element> elements = parsed(runs.svg());
  CHECK(texts_of(elements).count("each column shows from top to bottom how its time is shared") == 1);
  const double left = elements_named(elements, "text", "panel").front().number("x");
  const double width = elements.front().number("width") - left - 34;
  std::set<std::int64_t> ends; // of the columns that end right of the others, in pixels
  for (const Element& path : elements_named(elements, "path", "idle")) {
    const std::string data = path.get("d");
    double right = 0;
    for (std::size_t at = data.find('M'); at != std::string::npos; at = data.find('M', at + 1)) {
      const double x = std::strtod(data.c_str() + at + 1, nullptr);
      const std::size_t h = data.find('h', at);
      right = std::max(right, x + std::strtod(data.c_str() + h + 1, nullptr));
    }
    if (path.get("fill") == "url(#idle-drain)") ends.insert(std::lround(right - left));
  }
  const auto time = [&runs](std::size_t i) { return static_cast<double>(runs.outcomes[i].report.makespan.count()); };
  CHECK(ends.count(std::lround(width)) + ends.count(std::lround(width * time(0) / time(1))) == 2);
}

TEST_CASE("stacked charts stay below 3 MB, and no text overlaps another, whatever their number") {
  std::vector<std::string> all;
  for (const Generator* generator : generators()) all.emplace_back(generator->name);
  std::erase_if(all, [](const std::string& name) { return find_generator(name).searches(); });
  const auto check = [](const Runs& runs) {
    const std::string svg = runs.svg();
    CHECK(svg.size() < 3'000'000);
    CHECK(misplaced_texts(parsed(svg)).empty());
  };
  check(Runs{{"1f1b"}, 1, 1});
  check(Runs{{"1f1b", "gpipe"}, 64, 8, 1});
  check(Runs{all, 4, 8});
  check(Runs{all, 8, 64});
  check(Runs{{"zb-v", "dualpipe-v", "hanayo", "1f1b", "gpipe", "zb-h1"}, 64, 128});
}

TEST_CASE("names and titles of any kind and length leave a comparison's picture well-formed") {
  Runs runs{{"1f1b", "gpipe"}, 2, 4};
  const std::string name = "a <b> & " + std::string(500, 'W');
  for (viz::Panel& panel : runs.panels) {
    viz::Panel renamed{panel.graph, panel.timeline, panel.report, name, panel.recommended};
    std::destroy_at(&panel);
    std::construct_at(&panel, renamed);
  }
  runs.comparison.title = "caf\xE9 <&>" + std::string(500, 'i');
  runs.comparison.source = runs.comparison.title;
  CHECK(misplaced_texts(parsed(runs.svg())).empty());
}

TEST_CASE("runs without length, and no runs, can be drawn side by side") {
  CHECK_NOTHROW(parsed(viz::svg_comparison({}, {})));
  const Shape shape{2, 2, 1};
  const Outcome outcome = run(generate("1f1b", shape), uniform_scenario(shape, 0ns, 0ns));
  const std::vector<viz::Panel> panels{{outcome.graph, outcome.timeline, outcome.report, "1f1b", true},
                                       {outcome.graph, outcome.timeline, outcome.report, "again", false}};
  CHECK(misplaced_texts(parsed(viz::svg_comparison({}, panels))).empty());
}

} // namespace ppsim::test::comparison_views_test
