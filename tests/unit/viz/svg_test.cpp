// The SVG chart, parsed: well-formed, complete, and without text wider than its place.

#include "ppsim/engine/simulate.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/run_report.hpp"
#include "ppsim/viz/svg.hpp"
#include "support/printers.hpp"
#include "support/svg.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "viz/svg/svg_text.hpp"
#include "viz/svg/ticks.hpp"

namespace ppsim::test::svg_test {

using namespace std::chrono_literals;

namespace {

/// For an axis of times from zero.
viz::Ticks choose_ticks(Duration span, std::size_t most) {
  return viz::choose_ticks(Axis::Unit::time, 0, span.count(), most);
}
std::string tick_label(Duration at, const viz::Ticks& ticks) {
  return viz::tick_label(at.count(), ticks);
}

/// A chart with its inputs.
struct Drawing {
  TaskGraph graph;
  Timeline timeline;
  RunReport report;
  std::string svg;
  std::vector<Element> elements;

  [[nodiscard]] std::vector<Element> all(std::string_view name, std::string_view css_class = {}) const {
    return elements_named(elements, name, css_class);
  }
};

Drawing draw(Schedule schedule, Scenario scenario) {
  TaskGraph graph = lower(std::move(schedule), std::move(scenario));
  Timeline timeline = simulate(graph);
  RunReport report = run_report(graph, timeline);
  std::string svg = viz::svg_gantt(graph, timeline, report);
  std::vector<Element> elements = parsed(svg);
  return {std::move(graph), std::move(timeline), std::move(report), std::move(svg), std::move(elements)};
}

Schedule generated(std::string_view name, const Shape& shape) {
  return make_schedule(find_generator(name), {.shape = shape, .group_size = {}, .descending_backward = {}});
}

Drawing draw(std::string_view name, const Shape& shape, Duration comm = 0ns) {
  return draw(generated(name, shape), uniform_scenario(shape, 1ms, 2ms, comm));
}

/// One stage: a forward, three overlapped pairs, then a split backward.
Schedule pairs() {
  const Shape shape{1, 4, 1};
  ScheduleBuilder builder{"pairs", shape};
  builder.add(Pass::forward, 0, 0);
  for (std::size_t k = 0; k < 3; ++k) {
    Task first = make_task(Pass::forward, 0, k + 1);
    Task second = make_task(Pass::backward, 0, k);
    first.pairing = Pairing::first;
    second.pairing = Pairing::second;
    builder.add(first);
    builder.add(second);
  }
  builder.add(Pass::input_grad, 0, 3);
  builder.add(Pass::weight_grad, 0, 3);
  builder.end_stage();
  return builder.build();
}

constexpr Bytes GiB(double count) {
  return Bytes{static_cast<std::int64_t>(count * (std::int64_t{1} << 30))};
}

/// F = 1 ms and B = 2 ms, with these sizes of each chunk.
Scenario with_sizes(const Shape& shape, Bytes activation, Bytes parameters, std::optional<Bytes> limit) {
  Scenario scenario = uniform_scenario(shape, 1ms, 2ms);
  scenario.memory.activation.assign(shape.chunks(), activation);
  scenario.memory.parameters.assign(shape.chunks(), parameters);
  scenario.memory.limit = limit;
  return scenario;
}

Drawing draw_memory(Schedule schedule, Scenario scenario) {
  Drawing drawing = draw(std::move(schedule), std::move(scenario));
  drawing.svg = viz::svg_gantt(drawing.graph, drawing.timeline, drawing.report, viz::MemoryLanes::shown);
  drawing.elements = parsed(drawing.svg);
  return drawing;
}

std::vector<std::string> texts_of(const Drawing& drawing, std::string_view css_class) {
  std::vector<std::string> texts;
  for (const Element& text : drawing.all("text", css_class)) texts.push_back(text.text);
  return texts;
}

/// The height of a curve above its floor, where its data begins and ends.
double height_of(const std::string& data) {
  const double floor = std::strtod(data.c_str() + data.find(' '), nullptr);
  double highest = floor;
  for (std::size_t at = data.find('V'); at != std::string::npos; at = data.find('V', at + 1))
    highest = std::min(highest, std::strtod(data.c_str() + at + 1, nullptr));
  return floor - highest;
}

std::vector<std::string> misplaced_texts(const Drawing& drawing) {
  return misplaced_texts(drawing.elements);
}

/// Area of the rectangles "Mx yhWvHHXz" in the data of a path.
double area(const std::string& data) {
  double sum = 0;
  for (std::size_t at = data.find('h'); at != std::string::npos; at = data.find('h', at + 1)) {
    char* end = nullptr;
    const double width = std::strtod(data.c_str() + at + 1, &end);
    REQUIRE(*end == 'v');
    sum += width * std::strtod(end + 1, nullptr);
  }
  return sum;
}

/// The lightness of "#rrggbb" in grey, 0 to 255.
int lightness(const std::string& colour) {
  const auto part = [&colour](std::size_t at) { return std::stoi(colour.substr(at, 2), nullptr, 16); };
  return (299 * part(1) + 587 * part(3) + 114 * part(5)) / 1000;
}

} // namespace

// The step is the smallest of 1, 2, 5 x 10^k with span / step <= most. 33 ms in 11 parts: 3 ms, so 5 ms. 100 ms in 10
// parts is 10 ms exactly, which an exclusive comparison would miss.
TEST_CASE("The tests refuse pictures that are not well-formed") {
  CHECK(xml_fault("<svg a=\"&lt;\"><g>a &amp; b</g>\n</svg>\n").empty());
  for (const char* const document :
       {"", "<svg>", "<svg></g></svg>", "<svg a=b/>", "<svg a=\"1\" a=\"2\"/>", "<svg>a & b</svg>",
        "<svg a=\"&nbsp;\"/>", "<svg>\x01</svg>", "<svg/>text", "<svg/><svg/>"}) {
    CAPTURE(document);
    CHECK(!xml_fault(document).empty());
  }
}

TEST_CASE("ticks are the finest round steps that leave room for their labels") {
  struct Example {
    Duration span;
    std::size_t most;
    Duration step;
    std::string_view unit;
    int decimals;
  };
  const auto example = GENERATE(values<Example>({
      {33ms, 11, 5ms, "ms", 0},
      {100ms, 10, 10ms, "ms", 0},
      {101ms, 10, 20ms, "ms", 0},
      {1250us, 10, 200us, "ms", 1},
      {999us, 2, 500us, "us", 0},
      {1500ms, 3, 500ms, "s", 1},
      {1500ms, 20, 100ms, "s", 1},
      {1001ms, 40, 50ms, "s", 2},
      {20ns, 10, 2ns, "ns", 0},
      {0ns, 10, 1ns, "ns", 0},
      {20h, 10, 10000s, "s", 0},
  }));
  const viz::Ticks ticks = choose_ticks(example.span, example.most);
  CHECK(Duration{ticks.step} == example.step);
  CHECK(ticks.unit_name == example.unit);
  CHECK(ticks.decimals == example.decimals);
}

TEST_CASE("tick labels have the digits that their step needs") {
  CHECK(tick_label(15ms, choose_ticks(33ms, 11)) == "15");
  CHECK(tick_label(600us, choose_ticks(1250us, 10)) == "0.6");
  CHECK(tick_label(1s, choose_ticks(1500ms, 3)) == "1.0");
  CHECK(tick_label(1050ms, choose_ticks(1001ms, 40)) == "1.05");
  CHECK(tick_label(0ns, choose_ticks(0ns, 10)) == "0");
}

// Signed overflow while the step is searched; the sanitizer build would see it.
TEST_CASE("ticks of the longest possible span do not overflow") {
  const viz::Ticks ticks = choose_ticks(Duration::max(), 1);
  CHECK(Duration{ticks.step} >= Duration::max() / 2);
  CHECK(ticks.unit_name == "s");
}

TEST_CASE("text is cut and broken to fit") {
  const viz::Px size = viz::px(10);
  CHECK(viz::text_width("0000", size) == viz::Px{2560}); // four digits of 0.64 em
  CHECK(viz::fit_text("0000", size, viz::Px{2560}) == "0000");
  CHECK(viz::fit_text("0000", size, viz::Px{2559}) == "00\xE2\x80\xA6"); // the ellipsis takes 1 em
  // The cut must not fall into the middle of a character.
  CHECK(viz::fit_text("\xC3\xA9\xC3\xA9\xC3\xA9", size, viz::px(25)) == "\xC3\xA9\xE2\x80\xA6");
  CHECK(viz::wrap_text("00 00 00", size, viz::px(30), 2) == std::vector<std::string>{"00 00", "00"});
  CHECK(viz::wrap_text("00 00 00 00 00", size, viz::px(30), 2) == std::vector<std::string>{"00 00", "00\xE2\x80\xA6"});
  CHECK(viz::wrap_text("", size, viz::px(30), 2).empty());
}

// A latin-1 title would make a document that no XML parser opens.
TEST_CASE("broken UTF-8 and control characters do not reach the document") {
  CHECK(viz::clean_text("caf\xE9") == "caf\xEF\xBF\xBD");
  CHECK(viz::clean_text("a\x01\tb\x7F") == "a  b ");
  CHECK(viz::clean_text("\xC3\xA9\xF0\x9F\x98\x80") == "\xC3\xA9\xF0\x9F\x98\x80");
  CHECK(viz::clean_text("\xED\xA0\x80") == "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"); // a surrogate
  CHECK(viz::clean_text("\xC0\xAF") == "\xEF\xBF\xBD\xEF\xBF\xBD");                 // overlong
  CHECK(viz::clean_text("\xEF\xBF\xBF") == "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"); // U+FFFF, which XML forbids
}

TEST_CASE("the user's title and source are shown as they are") {
  const Shape shape{2, 2, 1};
  Scenario scenario = uniform_scenario(shape, 1ms, 2ms);
  scenario.title = R"(a < b && "c" </svg>)";
  scenario.source = "<!-- & -->";
  const Drawing drawing = draw(generated("gpipe", shape), std::move(scenario));
  std::set<std::string> texts;
  for (const Element& text : drawing.all("text")) texts.insert(text.text);
  CHECK(texts.count(R"(a < b && "c" </svg>)") == 1);
  CHECK(texts.count("costs: <!-- & -->") == 1);
}

TEST_CASE("every task of a small chart has its cell and tooltip") {
  const Drawing drawing = draw("1f1b", {4, 8, 1}, 100us);
  const Schedule& schedule = drawing.graph.schedule();
  std::multiset<std::string> tooltips;
  for (const Element& title : drawing.all("title", "cells"))
    tooltips.insert(title.text.substr(0, title.text.find(':')));
  CHECK(tooltips.size() == 64);
  for (std::size_t id = 0; id < schedule.size(); ++id) {
    const StageId stage = schedule.stage_of(make_id<TaskId>(id));
    CHECK(tooltips.count(fmt::format("{} on stage {}", to_string(schedule.tasks()[id]), index(stage))) == 1);
  }
  CHECK(drawing.all("rect", "cells").size() == 64);
  CHECK(drawing.all("text", "numbers").size() == 64);
}

// F = 1 ms, B = 2 ms, one microbatch on two stages: 1F0 is released by the activation from 0F0.
TEST_CASE("a tooltip says when a task ran and what released it") {
  const Drawing drawing = draw("1f1b", {2, 1, 1});
  std::vector<std::string> tooltips;
  for (const Element& title : drawing.all("title", "cells")) tooltips.push_back(title.text);
  REQUIRE(tooltips.size() == 4);
  CHECK(tooltips[0] ==
        "0F0 on stage 0: forward of microbatch 0, chunk 0\n0 ns to 1 ms (1 ms)\ncould start at time zero");
  CHECK(tooltips[1] ==
        "1F0 on stage 1: forward of microbatch 0, chunk 1\n1 ms to 2 ms (1 ms)\nreleased by the activation from 0F0");
}

// A missing pattern would leave idle time black; an unused one would be an irrelevant legend entry.
TEST_CASE("hatches are defined for the causes that occur and no others") {
  const auto check = [](const Drawing& drawing) {
    std::set<std::string> expected;
    const auto time = drawing.report.time_by_label();
    for (std::size_t label = first_idle_label; label < label_count; ++label)
      if (time[label] > 0ns) expected.insert("idle-" + std::string{to_string(label_at(label))});
    std::set<std::string> defined;
    for (const Element& pattern : drawing.all("pattern")) defined.insert(pattern.get("id"));
    CHECK(defined == expected);
    std::set<std::string> used;
    for (const Element& element : drawing.elements)
      if (element.get("fill").starts_with("url(#"))
        used.insert(element.get("fill").substr(5, element.get("fill").size() - 6));
    CHECK(used == expected);
  };
  check(draw("1f1b", {1, 4, 1}));        // no hatches
  check(draw("1f1b", {4, 8, 1}));        // warm-up, downstream, drain
  check(draw("1f1b", {4, 8, 1}, 100us)); // in addition transfer, upstream
  check(draw("1f1b", {64, 512, 1}));     // as shares
}

// Cells of equal width must agree, so a number never appears in a cell that is too narrow for it or for its neighbours'
// numbers.
TEST_CASE("numbers stay within their cells") {
  const auto check = [](const Drawing& drawing) {
    std::map<long, std::vector<Element>> cells; // by middle, in whole pixels
    for (const Element& cell : drawing.all("rect", "cells"))
      cells[std::lround(cell.number("x") + cell.number("width") / 2)].push_back(cell);
    for (const Element& text : drawing.all("text", "numbers")) {
      const auto [left, right] = extent(text);
      const double top = text.number("y") - 0.73 * text.number("font-size");
      bool inside = false;
      for (const long shift : {-1, 0, 1})
        for (const Element& cell : cells[std::lround(text.number("x")) + shift])
          inside = inside || (cell.number("x") <= left && right <= cell.number("x") + cell.number("width") &&
                              cell.number("y") <= top && text.number("y") <= cell.number("y") + cell.number("height"));
      INFO(text.text << " at " << text.get("x") << ", " << text.get("y") << " of " << drawing.graph.schedule().name());
      CHECK(inside);
    }
  };
  check(draw("1f1b", {4, 8, 1}));
  check(draw("1f1b", {8, 64, 1}));
  check(draw("1f1b", {16, 32, 1}, 100us));
  check(draw("1f1b", {64, 4, 1}));
  check(draw("interleaved", {8, 64, 4}));
  check(draw("interleaved", {4, 200, 2}));
  check(draw(pairs(), uniform_scenario({1, 4, 1}, 1ms, 2ms)));
}

TEST_CASE("no text overlaps another or leaves the picture") {
  CHECK(misplaced_texts(draw("1f1b", {1, 1, 1})).empty());
  CHECK(misplaced_texts(draw("1f1b", {4, 8, 1}, 100us)).empty());
  CHECK(misplaced_texts(draw("interleaved", {4, 8, 2})).empty());
  CHECK(misplaced_texts(draw("interleaved", {2, 4, 40})).empty());
  CHECK(misplaced_texts(draw("1f1b", {64, 512, 1})).empty());
  CHECK(misplaced_texts(draw("1f1b", {1000, 1, 1})).empty());
}

TEST_CASE("long titles are wrapped and cut") {
  const Shape shape{2, 2, 1};
  Scenario scenario = uniform_scenario(shape, 1ms, 2ms);
  scenario.title = GENERATE(std::string(5000, 'W'), std::string(5000, 'i'), [] {
    std::string words;
    for (int i = 0; i < 500; ++i) words += "word ";
    return words;
  }());
  scenario.source = scenario.title;
  CHECK(misplaced_texts(draw(generated("1f1b", shape), std::move(scenario))).empty());
}

// Labels grow with the number of decimals and digits: they must not touch for any time span.
TEST_CASE("tick labels keep apart at every scale") {
  const Shape shape{2, 3, 1};
  for (std::int64_t forward = 1; forward < 100'000'000'000; forward = forward * 7 / 2 + 1) {
    const Drawing drawing =
        draw(generated("1f1b", shape), uniform_scenario(shape, Duration{forward}, Duration{forward}));
    CHECK(misplaced_texts(drawing).empty());
    CHECK(drawing.all("text", "ticks").size() >= 3); // including the axis title
  }
}

// Path of one microbatch over two stages: F on stage 0, F and B on stage 1 in one outline, B on stage 0.
TEST_CASE("the critical path is outlined, adjacent cells together") {
  const Drawing drawing = draw("1f1b", {2, 1, 1});
  const std::vector<Element> paths = drawing.all("path", "critical-path");
  REQUIRE_FALSE(paths.empty());
  const std::string outlines = paths.back().get("d");
  CHECK(std::count(outlines.begin(), outlines.end(), 'z') == 3);
  const std::string links = paths.front().get("d");
  CHECK(std::count(links.begin(), links.end(), 'L') == 2); // down to stage 1, and back
}

TEST_CASE("transfers are drawn if they take time and are few") {
  CHECK(draw("gpipe", {4, 8, 1}).all("path", "transfers").empty());
  const std::vector<Element> paths = draw("gpipe", {4, 8, 1}, 300us).all("path", "transfers");
  REQUIRE(paths.size() == 2); // lines and heads
  const std::string lines = paths.front().get("d");
  CHECK(std::count(lines.begin(), lines.end(), 'M') == 48); // 3 boundaries x 8 microbatches x 2 directions
  CHECK(draw("gpipe", {16, 64, 1}, 300us).all("path", "transfers").empty());
}

// In grey, a forward of the last chunk must not look like a backward of the first.
TEST_CASE("each pass and chunk has its own fill, and forwards are darker than backwards") {
  const Drawing drawing = draw("interleaved", {2, 4, 4});
  std::map<char, std::set<std::string>> fills;
  for (const Element& title : drawing.all("title", "cells")) {
    const std::size_t letter = title.text.find_first_of("FB");
    REQUIRE(letter != std::string::npos);
    fills[title.text[letter]].insert(title.get("fill"));
  }
  CHECK(fills['F'].size() == 4);
  CHECK(fills['B'].size() == 4);
  for (const std::string& forward : fills['F'])
    for (const std::string& backward : fills['B']) CHECK(lightness(forward) + 10 < lightness(backward));
}

TEST_CASE("an overlapped pair is a cell of two halves, the forward above") {
  const Drawing drawing = draw(pairs(), uniform_scenario({1, 4, 1}, 1ms, 2ms));
  std::map<std::string, Element> cells;
  for (const Element& cell : drawing.all("rect", "cells")) cells[cell.get("x") + " " + cell.get("y")] = cell;
  CHECK(cells.size() == 9);
  std::map<std::string, std::vector<Element>> by_x;
  for (const auto& [place, cell] : cells) by_x[cell.get("x")].push_back(cell);
  std::size_t halves = 0;
  for (const auto& [x, found] : by_x) {
    if (found.size() != 2) continue;
    ++halves;
    CHECK(found[0].get("width") == found[1].get("width"));
    CHECK(found[0].number("y") + found[0].number("height") == Approx(found[1].number("y")));
    CHECK(lightness(found[0].get("fill")) < lightness(found[1].get("fill"))); // blue above orange
  }
  CHECK(halves == 3);
  CHECK(drawing.svg.find("overlapped pair") != std::string::npos);
}

// Shares of time: F and B take 1 : 2 of the area, and all of them together 1 - bubble ratio; otherwise some time was
// dropped or drawn twice.
TEST_CASE("a chart of columns keeps areas true to time, and small") {
  const Drawing drawing = draw("1f1b", {64, 512, 1});
  CHECK(drawing.svg.size() < 3'000'000);
  CHECK(drawing.all("rect", "cells").empty());
  const std::vector<Element> cells = drawing.all("path", "cells");
  REQUIRE(cells.size() == 2);
  const double forward = area(cells[0].get("d"));
  const double backward = area(cells[1].get("d"));
  double idle = 0;
  for (const Element& path : drawing.all("path", "idle")) idle += area(path.get("d"));
  CHECK(backward / forward == Approx(2).epsilon(0.01));
  CHECK(idle / (forward + backward + idle) == Approx(drawing.report.bubble_ratio).epsilon(0.01));
}

TEST_CASE("documents stay below 3 MB whatever the shape") {
  CHECK(draw("1f1b", {4096, 2, 1}).svg.size() < 3'000'000);
  CHECK(draw("interleaved", {64, 128, 4}, 130us).svg.size() < 3'000'000);
  CHECK(draw("gpipe", {16, 380, 1}, 70us).svg.size() < 3'000'000); // 12160 tasks, just below the limit for cells
  CHECK(draw("1f1b", {1, 4096, 1}).svg.size() < 3'000'000);
}

// GPipe, one stage, two microbatches: F at 0 and 1 ms, B from 2 to 4 and from 4 to 6 ms. 2 GiB are static, an
// activation takes 1 GiB: 3 from the start, 4 from 1 ms, 3 from 4 ms. The plot is 880 px for 6 ms, its lane 62 px for 4
// GiB, the top of the scale: 146.66 px per ms and 15.50 px per GiB.
TEST_CASE("memory over time has its points at the tasks' times, above the static memory") {
  const Drawing drawing = draw_memory(generated("gpipe", {1, 2, 1}), with_sizes({1, 2, 1}, GiB(1), GiB(2), {}));
  const std::vector<Element> curves = drawing.all("path", "memory");
  REQUIRE(curves.size() == 1);
  const std::vector<Element> axis = drawing.all("path", "memory-grid");
  REQUIRE(axis.size() == 1);
  const std::vector<Element> fixed = drawing.all("rect", "static");
  REQUIRE(fixed.size() == 1);
  const double left = fixed[0].number("x");
  const double floor = fixed[0].number("y") + fixed[0].number("height");
  CHECK(fixed[0].number("width") == Approx(880));
  CHECK(fixed[0].number("height") == Approx(31)); // 2 of 4 GiB
  const auto curve =
      fmt::format("M{:.2f} {:.2f}V{:.2f}H{:.2f}V{:.2f}H{:.2f}V{:.2f}H{:.2f}V{:.2f}z", left, floor, floor - 46.5,
                  left + 146.66, floor - 62, left + 586.66, floor - 46.5, left + 880, floor);
  CHECK(curves[0].get("d") == curve);
  CHECK(drawing.all("path", "limit").empty());
  CHECK(drawing.all("path", "over-limit").empty());
}

TEST_CASE("the peak is marked where it is first reached, with its time") {
  const Drawing drawing = draw_memory(generated("gpipe", {1, 2, 1}), with_sizes({1, 2, 1}, GiB(1), GiB(2), {}));
  const std::vector<Element> dots = drawing.all("circle", "peak");
  REQUIRE(dots.size() == 1);
  const Element fixed = drawing.all("rect", "static").front();
  CHECK(dots[0].number("cx") == Approx(fixed.number("x") + 146.66));                      // 1 of 6 ms
  CHECK(dots[0].number("cy") == Approx(fixed.number("y") + fixed.number("height") - 62)); // 4 of 4 GiB
  CHECK(texts_of(drawing, "peak") == std::vector<std::string>{"4 GiB", "at 1 ms"});
}

// As above with a limit of 3.5 GiB: exceeded from 1 ms to 4 ms, by 0.5 of 4 GiB or 7.75 px.
TEST_CASE("only memory above the limit is hatched") {
  const Drawing drawing = draw_memory(generated("gpipe", {1, 2, 1}), with_sizes({1, 2, 1}, GiB(1), GiB(2), GiB(3.5)));
  const std::vector<Element> over = drawing.all("path", "over-limit");
  REQUIRE(over.size() == 1);
  const Element fixed = drawing.all("rect", "static").front();
  const double left = fixed.number("x");
  const double limit = fixed.number("y") + fixed.number("height") - 54.25;
  CHECK(over[0].get("d") ==
        fmt::format("M{:.2f} {:.2f}V{:.2f}H{:.2f}V{:.2f}z", left + 146.66, limit, limit - 7.75, left + 586.66, limit));
  CHECK(over[0].get("fill") == "url(#over-limit)");
  CHECK(drawing.all("pattern").back().get("id") == "over-limit");
  CHECK(drawing.all("path", "limit").front().get("d") == fmt::format("M{:.2f} {:.2f}H{:.2f}", left, limit, left + 880));
  CHECK(drawing.svg.find("limit 3.5 GiB: exceeded on stage 0") != std::string::npos);
}

TEST_CASE("a limit far above the memory is named and not drawn") {
  const Drawing drawing = draw_memory(generated("gpipe", {1, 2, 1}), with_sizes({1, 2, 1}, GiB(1), GiB(2), GiB(80)));
  CHECK(drawing.all("path", "limit").empty());
  CHECK(drawing.svg.find("limit 80 GiB: never exceeded, beyond the scale") != std::string::npos);
  CHECK(drawing.all("rect", "static").front().number("height") == Approx(31)); // as without a limit
}

// Heights of lanes compare: 1F1B holds p - s activations on stage s, and all lanes have one scale.
TEST_CASE("without sizes live activations are counted, all stages on one scale") {
  const Drawing drawing = draw_memory(generated("1f1b", {4, 8, 1}), uniform_scenario({4, 8, 1}, 1ms, 2ms));
  CHECK(texts_of(drawing, "peak") ==
        std::vector<std::string>{"4", "at 3 ms", "3", "at 3 ms", "2", "at 3 ms", "1", "at 3 ms"});
  std::vector<double> heights;
  for (const Element& curve : drawing.all("path", "memory")) heights.push_back(height_of(curve.get("d")));
  CHECK(heights == std::vector<double>{62, 46.5, 31, 15.5});
  CHECK(drawing.all("rect", "static").empty());
}

TEST_CASE("of many stages only a few have lanes, including the one with the highest peak") {
  Scenario scenario = with_sizes({64, 8, 1}, GiB(1), GiB(2), GiB(12));
  scenario.memory.parameters[37] = GiB(40);
  const Drawing drawing = draw_memory(generated("1f1b", {64, 8, 1}), std::move(scenario));
  const std::vector<Element> lanes = drawing.all("g", "memory-lane");
  CHECK(lanes.size() == 16);
  CHECK(drawing.svg.find("16 of 64 stages, among them stage 37 with the highest peak") != std::string::npos);
  CHECK(std::ranges::count(texts_of(drawing, "peak"), "48 GiB") == 1); // 40 and 8 activations
  CHECK(misplaced_texts(drawing).empty());
}

TEST_CASE("charts with memory stay below 3 MB, and no text overlaps another") {
  const auto check = [](std::string_view name, const Shape& shape) {
    const Drawing drawing = draw_memory(generated(name, shape), with_sizes(shape, GiB(1), GiB(2), GiB(4)));
    CHECK(drawing.svg.size() < 3'000'000);
    CHECK(misplaced_texts(drawing).empty());
  };
  check("1f1b", {64, 512, 1});
  check("gpipe", {16, 380, 1});
  check("interleaved", {16, 64, 8});
  check("1f1b", {1, 4096, 1});
  check("1f1b", {1000, 1, 1});
}

// One microbatch after the other: stage 1 holds an activation in every second 3 ms, and a column of two pixels covers
// 13.5 ms, or five changes. Its curve is one area, because every column has an activation.
TEST_CASE("no peak is lost if changes are closer than pixels") {
  const Shape shape{2, 1800, 1};
  const Drawing drawing = draw_memory(generated("sequential", shape), with_sizes(shape, GiB(1), {}, {}));
  const std::vector<Element> curves = drawing.all("path", "memory");
  REQUIRE(curves.size() == 2);
  const std::string curve = curves[1].get("d");
  CHECK(std::count(curve.begin(), curve.end(), 'M') == 1);
  CHECK(height_of(curve) == Approx(62));
}

TEST_CASE("tasks that take no time can be drawn") {
  const auto free = [](const Shape& shape) {
    return draw(generated("1f1b", shape), uniform_scenario(shape, 0ns, 0ns));
  };
  CHECK(free({4, 8, 1}).all("rect", "cells").size() == 64);
  CHECK(free({1, 1, 1}).all("rect", "cells").size() == 2);
  CHECK(free({64, 512, 1}).svg.find("every task takes no time") != std::string::npos);
  // Tasks of zero length among others: each is still visible.
  const Drawing mixed = draw(generated("1f1b", {4, 8, 1}), uniform_scenario({4, 8, 1}, 0ns, 1ms));
  for (const Element& cell : mixed.all("rect", "cells")) CHECK(cell.number("width") > 0.5);
}

TEST_CASE("the same inputs give the same bytes") {
  const Drawing drawing = draw("interleaved", {4, 8, 2}, 50us);
  CHECK(viz::svg_gantt(drawing.graph, drawing.timeline, drawing.report) == drawing.svg);
}

} // namespace ppsim::test::svg_test
