// A varied quantity in all its views: plot, words and tables, Markdown, JSON.

#include "ppsim/study/variation.hpp"
#include "ppsim/traces/json.hpp"
#include "ppsim/viz/variation.hpp"
#include "support/printers.hpp"
#include "support/svg.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <cmath>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "viz/svg/ticks.hpp"
#include "viz/svg/variation_curves.hpp"

namespace ppsim::test::variation_views_test {

using namespace std::chrono_literals;

namespace {

/// Step times in milliseconds, one per point; below zero: does not apply.
VariationLine line(std::string name, const std::vector<int>& times) {
  VariationLine made{.name = std::move(name), .asynchronous = false, .samples = {}};
  for (const int time : times)
    made.samples.push_back(time < 0 ? std::nullopt : std::optional{Sample{.step_time = time * 1ms}});
  return made;
}

/// a: 10, 12, 14, 16, 18 ms and b: always 13 ms, over 0, 10, ..., 40 us: they cross at 15 us.
Variation two() {
  Variation variation;
  variation.axis = {.option = "comm", .unit = Axis::Unit::time, .from = 0, .to = 40'000};
  variation.points = {0, 10'000, 20'000, 30'000, 40'000};
  variation.lines = {line("a", {10, 12, 14, 16, 18}), line("b", {13, 13, 13, 13, 13})};
  variation.precision = 1'000;
  variation.best = {{0, 15'000, 0}, {16'000, 40'000, 1}};
  variation.crossings = {{0, 1, 15'000, 16'000}};
  return variation;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream{text};
  for (std::string one; std::getline(stream, one);) lines.push_back(one);
  return lines;
}

bool has_line(const std::string& text, const std::string& wanted) {
  const std::vector<std::string> lines = lines_of(text);
  return std::find(lines.begin(), lines.end(), wanted) != lines.end();
}

std::multiset<std::string> texts_of(const std::vector<Element>& elements, std::string_view css_class) {
  std::multiset<std::string> texts;
  for (const Element& text : elements_named(elements, "text", css_class)) texts.insert(text.text);
  return texts;
}

/// The numbers in the data of a path.
std::vector<double> numbers_of(const std::string& data) {
  std::vector<double> numbers;
  for (const char* at = data.c_str(); *at != '\0';) {
    char* end = nullptr;
    const double number = std::strtod(at, &end);
    if (end != at) numbers.push_back(number);
    at = end == at ? at + 1 : end;
  }
  return numbers;
}

} // namespace

TEST_CASE("ticks of bytes are round in their unit, or halves of it") {
  const std::int64_t gib = std::int64_t{1} << 30;
  const viz::Ticks wide = viz::choose_ticks(Axis::Unit::bytes, 20 * gib, 80 * gib, 8);
  CHECK(wide.step == 10 * gib);
  CHECK(viz::tick_label(30 * gib, wide) == "30");
  CHECK(wide.unit_name == "GiB");
  const viz::Ticks narrow = viz::choose_ticks(Axis::Unit::bytes, 4 * gib, 5 * gib, 6);
  CHECK(narrow.step == gib / 4);
  CHECK(viz::tick_label(4 * gib + gib / 4, narrow) == "4.25");
}

TEST_CASE("ticks of counts, factors and rates") {
  CHECK(viz::choose_ticks(Axis::Unit::count, 8, 256, 6).step == 50);
  CHECK(viz::choose_ticks(Axis::Unit::count, 1, 3, 10).step == 1);
  const viz::Ticks factor = viz::choose_ticks(Axis::Unit::factor, 700'000, 1'000'000, 6);
  CHECK(factor.step == 50'000);
  CHECK(viz::tick_label(std::int64_t{850'000}, factor) == "0.85");
  const viz::Ticks rate = viz::choose_ticks(Axis::Unit::rate, 25'000'000'000, 100'000'000'000, 4);
  CHECK(viz::tick_label(std::int64_t{40'000'000'000}, rate) == "40");
  CHECK(rate.unit_name == "GB/s");
}

TEST_CASE("logarithms in integers are those of numbers") {
  for (const std::int64_t value : {1L, 2L, 3L, 1'000L, 65'535L, 4'294'967'296L, 900'000'000'000'000'000L})
    CHECK(static_cast<double>(viz::scaled_log2(value)) / 65536 ==
          Approx(std::log2(static_cast<double>(value))).margin(1.0 / 30'000));
  const Axis axis{.option = "comm", .unit = Axis::Unit::time, .from = 3, .to = 300};
  CHECK(viz::logarithmic_ticks(axis, 1) == std::vector<std::int64_t>{5, 10, 20, 50, 100, 200});
  CHECK(viz::logarithmic_ticks(axis, 3) == std::vector<std::int64_t>{10, 100});
  const Axis bytes{.option = "memory-limit", .unit = Axis::Unit::bytes, .from = 3, .to = 300};
  CHECK(viz::logarithmic_ticks(bytes, 1) == std::vector<std::int64_t>{4, 8, 16, 32, 64, 128, 256});
}

// Three labels at 100 with a pitch of 10: 90, 100, 110. A fourth one far away does not move.
TEST_CASE("labels are moved apart no further than necessary") {
  using viz::px;
  const std::vector<viz::Px> wanted{px(100), px(300), px(100), px(100)};
  CHECK(viz::spread_labels(wanted, px(10), px(0), px(400)) == std::vector<viz::Px>{px(90), px(300), px(100), px(110)});
  // Four at 100 reach one at 80: all five move, (80 + 90 + 80 + 70 + 60) / 5 = 76.
  CHECK(viz::spread_labels({px(80), px(100), px(100), px(100), px(100)}, px(10), px(0), px(400)) ==
        std::vector<viz::Px>{px(76), px(86), px(96), px(106), px(116)});
  CHECK(viz::spread_labels({px(0), px(0)}, px(10), px(0), px(400)) == std::vector<viz::Px>{px(0), px(10)});
  CHECK(viz::spread_labels({px(400), px(398)}, px(10), px(0), px(400)) == std::vector<viz::Px>{px(400), px(390)});
}

TEST_CASE("lines that are equal at every point share one curve and label, and no others do") {
  Variation variation = two();
  variation.lines.push_back(line("c", {10, 12, 14, 16, 18}));
  variation.lines.push_back(line("d", {10, 12, 14, 16, -1}));
  variation.lines.push_back(line("e", {10, 12, 14, 16, 18}));
  variation.lines.back().samples[4]->fits = false;
  variation.lines.push_back(line("f", {-1, -1, -1, -1, -1}));
  const std::vector<viz::Curve> curves = viz::curves_of(variation);
  REQUIRE(curves.size() == 4);
  CHECK(curves[0].label == "a, c");
  CHECK(curves[1].label == "b");
  CHECK(curves[2].has_gaps);
  CHECK(curves[3].fits_not_always);
  CHECK_FALSE(curves[3].never_fits);
  const std::vector<Element> elements = parsed(viz::svg_variation(variation));
  CHECK(texts_of(elements, "labels") == std::multiset<std::string>{"a, c", "b", "d", "e"});
}

TEST_CASE("curves are distinguishable without colour") {
  Variation variation = two();
  variation.lines.clear();
  for (int i = 0; i < 40; ++i) variation.lines.push_back(line("s" + std::to_string(i), {10 + i, 11, 12, 13, 14}));
  variation.best = {{0, 40'000, 0}};
  std::set<std::pair<std::string_view, std::string_view>> looks;
  for (const viz::Curve& curve : viz::nearest_curves(variation, viz::curves_of(variation), 40))
    looks.emplace(curve.style.dashes, curve.style.marker);
  CHECK(looks.size() == 35); // five dashes times seven markers, then colours
  CHECK(misplaced_texts(parsed(viz::svg_variation(variation))).empty());
}

// The change is at 16 of 40 us.
TEST_CASE("the plot marks changes of the best, and names it in a strip below") {
  const std::vector<Element> elements = parsed(viz::svg_variation(two()));
  CHECK(texts_of(elements, "strip") == std::multiset<std::string>{"a", "b"});
  CHECK(texts_of(elements, "changes") == std::multiset<std::string>{"16 us"});
  const std::vector<Element> strip = elements_named(elements, "rect", "strip");
  REQUIRE(strip.size() == 2);
  const double left = strip[0].number("x");
  const double width = strip[0].number("width") + strip[1].number("width");
  const std::vector<Element> marks = elements_named(elements, "path", "changes");
  REQUIRE(marks.size() == 1);
  CHECK((numbers_of(marks[0].get("d"))[0] - left) / width == Approx(0.4).margin(1e-3));
  CHECK(elements_named(elements, "path", "best").size() == 2);
}

TEST_CASE("every value at which the best changes is named, however close to the next or to the edge of the plot") {
  Variation variation = two();
  const auto labels = [&] { return texts_of(parsed(viz::svg_variation(variation)), "changes"); };
  variation.best = {{0, 15'000, 0}, {16'000, 16'000, 1}, {17'000, 39'000, 0}, {39'999, 40'000, 1}};
  CHECK(labels() == std::multiset<std::string>{"16 us", "17 us", "39.999 us"});
  CHECK(misplaced_texts(parsed(viz::svg_variation(variation))).empty());
  // Its line is still at the value: it begins at its label and ends at the strip.
  const std::vector<Element> elements = parsed(viz::svg_variation(variation));
  const std::vector<double> line = numbers_of(elements_named(elements, "path", "changes")[0].get("d"));
  const std::vector<Element> strip = elements_named(elements, "rect", "strip");
  REQUIRE(line.size() == 15); // M label L x y V bottom, three times
  for (std::size_t i = 1; i < strip.size(); ++i) CHECK(line[5 * (i - 1) + 2] == Approx(strip[i].number("x")));
  CHECK(line[0] < line[2]); // moved apart
  CHECK(line[5] > line[7]);
}

TEST_CASE("if there is no space for all values, some are omitted, and nothing overlaps") {
  Variation variation = two();
  variation.best.clear();
  for (std::int64_t i = 0; i < 40; ++i)
    variation.best.push_back({i * 1'000, i * 1'000, static_cast<std::size_t>(i % 2)});
  const std::vector<Element> elements = parsed(viz::svg_variation(variation));
  CHECK(misplaced_texts(elements).empty());
  CHECK(texts_of(elements, "changes").size() > 5);
}

TEST_CASE("a line has gaps if its schedule does not apply, and is faint if it does not fit") {
  Variation variation = two();
  variation.lines[0] = line("a", {10, 12, -1, 16, 18});
  variation.lines[1].samples[3]->fits = false;
  variation.lines[1].samples[4]->fits = false;
  const std::vector<Element> elements = parsed(viz::svg_variation(variation));
  const std::vector<Element> lines = elements_named(elements, "path", "line");
  REQUIRE(lines.size() == 2);
  const std::string gapped = lines[0].get("d");
  CHECK(std::count(gapped.begin(), gapped.end(), 'M') == 2);
  const std::vector<Element> faint = elements_named(elements, "path", "faint");
  REQUIRE(faint.size() == 1);
  // From the last point that fits to the end.
  CHECK(numbers_of(faint[0].get("d"))[0] == Approx(numbers_of(lines[1].get("d"))[4]));
}

// 4 to 18 ms begin at zero; 30 to 33 ms would be a band at the top.
TEST_CASE("the time axis begins at zero unless that hides the differences, and then says so") {
  const auto breaks = [](const Variation& variation) {
    const std::string svg = viz::svg_variation(variation);
    CHECK((svg.find("does not begin at zero") != std::string::npos) ==
          !elements_named(parsed(svg), "path", "axis-break").empty());
    return svg.find("does not begin at zero") != std::string::npos;
  };
  Variation variation = two();
  variation.lines[0] = line("a", {4, 12, 14, 16, 18});
  CHECK_FALSE(breaks(variation));
  variation.lines = {line("a", {30, 31, 32, 33, 33}), line("b", {31, 31, 31, 31, 31})};
  CHECK(breaks(variation));
}

// The best lines range from 26 to 39 ms. On an axis from zero to the slowest line, 69 ms, they would have a sixth of
// the height.
TEST_CASE("the best lines use much of the height, so that their crossings are visible") {
  Variation variation = two();
  variation.lines = {line("a", {33, 34, 36, 37, 39}), line("b", {28, 32, 35, 40, 46}), line("c", {26, 34, 45, 57, 69})};
  const viz::ShownRange range = viz::shown_range(variation, viz::curves_of(variation));
  CHECK_FALSE(range.logarithmic);
  CHECK(range.from < 26'000'000);
  CHECK(13'000'000 > (range.to - range.from) / 3);
}

TEST_CASE("the axis of times is logarithmic if the slowest best takes several times as long as the fastest") {
  Variation variation = two();
  variation.lines = {line("a", {8'000, 4'000, 2'000, 1'000, 500}), line("b", {9'000, 5'000, 3'000, 900, 400})};
  variation.best = {{0, 20'000, 0}, {21'000, 40'000, 1}};
  const viz::ShownRange range = viz::shown_range(variation, viz::curves_of(variation));
  CHECK(range.logarithmic);
  CHECK(range.from > 0);
  CHECK(range.from < 400'000'000);
  const std::vector<Element> elements = parsed(viz::svg_variation(variation));
  const std::multiset<std::string> ticks = texts_of(elements, "ticks");
  for (const char* tick : {"0.5", "1", "2", "5"}) CHECK(ticks.contains(tick));
  CHECK(elements_named(elements, "path", "axis-break").empty());
  CHECK(viz::svg_variation(variation).find(">step time (s), logarithmic<") != std::string::npos);
  // Each point of `a` is half of the one before: as far below it as the next.
  const std::vector<double> a = numbers_of(elements_named(elements, "path", "line")[0].get("d"));
  REQUIRE(a.size() == 10);
  for (std::size_t i = 3; i < 9; i += 2) CHECK(a[i] - a[i - 2] == Approx(a[9] - a[7]).margin(0.05));
  CHECK(a[9] - a[7] > 50);
  CHECK(misplaced_texts(elements).empty());
}

TEST_CASE("lines far slower than the best leave the plot at its top and do not compress the others") {
  Variation variation = two();
  variation.lines.push_back(line("slow", {500, 500, 500, 500, 500}));
  const viz::ShownRange range = viz::shown_range(variation, viz::curves_of(variation));
  CHECK(range.is_cut);
  CHECK(range.to < 27'000'000); // slightly above twice the slowest best, 13 ms
  const std::vector<Element> elements = parsed(viz::svg_variation(variation));
  CHECK(texts_of(elements, "labels").count("slow") == 1);
  CHECK(misplaced_texts(elements).empty());
}

TEST_CASE("plots of any size of values are well-formed and nothing overlaps") {
  const auto check = [](const Variation& variation) {
    const std::string svg = viz::svg_variation(variation);
    CHECK(svg.size() < 1'000'000);
    CHECK(misplaced_texts(parsed(svg)).empty());
  };
  check({});
  Variation one = two();
  one.lines = {line("a <&> " + std::string(300, 'W'), {10, 10, 10, 10, 10})};
  one.best = {{0, 40'000, 0}};
  one.title = std::string(900, 'i');
  one.source = "caf\xE9";
  check(one);
  one.lines = {line("a", {0, 0, 0, 0, 0})};
  check(one);
  for (std::int64_t scale = 1; scale < std::int64_t{1} << 55; scale *= 31) {
    for (const Axis::Unit unit :
         {Axis::Unit::time, Axis::Unit::bytes, Axis::Unit::rate, Axis::Unit::count, Axis::Unit::factor}) {
      Variation variation = two();
      variation.axis.unit = unit;
      for (const std::int64_t from : {std::int64_t{0}, scale, 10 * scale}) {
        variation.axis.from = from;
        variation.axis.to = 11 * scale;
        variation.points = {from, from + scale / 2, 11 * scale};
        for (VariationLine& changed : variation.lines) {
          changed.samples.resize(3);
          for (auto& sample : changed.samples) sample->step_time = Duration{scale + sample->step_time.count() % 7};
        }
        variation.best = {{from, from, 0}, {11 * scale, 11 * scale, std::nullopt}};
        CAPTURE(scale, from, static_cast<int>(unit));
        check(variation);
      }
    }
  }
}

TEST_CASE("of many lines, those that are somewhere the best or nearest to it are drawn, and the others named") {
  Variation variation = two();
  // s0 takes 20 ms, s1 21 ms, ...; the last is near the best at one point.
  for (int i = 0; i < 13; ++i) variation.lines.push_back(line("s" + std::to_string(i), std::vector<int>(5, 20 + i)));
  variation.lines.push_back(line("last", {90, 90, 14, 90, 90}));
  const std::string svg = viz::svg_variation(variation);
  const std::multiset<std::string> labels = texts_of(parsed(svg), "labels");
  CHECK(labels.size() == 12);
  for (const char* drawn : {"a", "b", "last", "s8"}) CHECK(labels.count(drawn) == 1);
  CHECK(svg.find("4 more are not drawn: s9") != std::string::npos);
  CHECK(svg.find("s12") != std::string::npos);
  CHECK(misplaced_texts(parsed(svg)).empty());
  CHECK(viz::svg_variation(two()).find("not drawn") == std::string::npos);
}

TEST_CASE("remarks below a plot stay separate after line breaks") {
  Variation variation = two();
  for (int i = 0; i < 30; ++i)
    variation.lines.push_back(line("schedule-" + std::to_string(i), std::vector<int>(5, 20 + i)));
  const std::vector<Element> elements = parsed(viz::svg_variation(variation));
  std::string all;
  std::size_t lines = 0;
  for (const Element& text : elements_named(elements, "text", "notes")) all += (lines++ == 0 ? "" : " ") + text.text;
  CHECK(lines > 1);
  for (int i = 11; i < 30; ++i) CHECK(all.find(" | schedule-" + std::to_string(i)) != std::string::npos);
  CHECK(all.ends_with("| schedule-29"));
  CHECK(misplaced_texts(elements).empty());
}

TEST_CASE("a best without space in the strip is still named there") {
  Variation variation = two();
  variation.best.clear();
  for (int i = 0; i < 20; ++i) {
    variation.lines.push_back(line("s" + std::to_string(i), std::vector<int>(5, 20 + i)));
    variation.best.push_back({i * 2'000, i * 2'000 + 1'000, static_cast<std::size_t>(i) + 2});
  }
  variation.best.back().to = 40'000;
  CHECK(texts_of(parsed(viz::svg_variation(variation)), "strip").count("s19") == 1);
}

TEST_CASE("a line that ends before the plot has a bar there, and its leader begins at the plot's edge") {
  Variation variation = two();
  variation.lines[0] = line("a", {10, 12, 14, -1, -1});
  const std::vector<Element> elements = parsed(viz::svg_variation(variation));
  const std::vector<Element> bars = elements_named(elements, "path", "ends");
  REQUIRE(bars.size() == 1);
  const std::vector<Element> strip = elements_named(elements, "rect", "strip");
  const double left = strip.front().number("x");
  const double right = strip.back().number("x") + strip.back().number("width");
  CHECK(numbers_of(bars[0].get("d"))[0] == Approx((left + right) / 2).margin(0.1)); // 20 of 40 us
  for (const Element& leader : elements_named(elements, "path", "leaders"))
    CHECK(numbers_of(leader.get("d"))[0] > right);
  CHECK(elements_named(parsed(viz::svg_variation(two())), "path", "ends").empty());
}

TEST_CASE("the headline has the quantities, stages, microbatches and the source of costs") {
  Variation variation = two();
  variation.stages = 4;
  variation.microbatches = 8;
  variation.source = "guessed";
  std::string svg = viz::svg_variation(variation);
  CHECK(svg.find(">Step time over transfer time (--comm)<") != std::string::npos);
  CHECK(svg.find("| 4 stages | 8 microbatches |") != std::string::npos);
  CHECK(svg.find(">costs: guessed<") != std::string::npos);
  CHECK(svg.find(">transfer time (--comm), in us<") != std::string::npos);
  variation.axis.option = "memory-limit";
  variation.per_microbatch = true;
  variation.microbatches = 0;
  svg = viz::svg_variation(variation);
  CHECK(svg.find(">Step time per microbatch over memory limit (--memory-limit)<") != std::string::npos);
  CHECK(svg.find("microbatches") == std::string::npos);
  variation.title = "mine";
  CHECK(viz::svg_variation(variation).find(">Step time per microbatch: mine<") != std::string::npos);
}

TEST_CASE("if counts are skipped, the words say what that may hide") {
  Variation variation = two();
  variation.axis = {.option = "mb", .unit = Axis::Unit::count, .from = 0, .to = 40'000};
  const std::string note = "points are up to 10000 apart: changes between two of them that cancel out are not found";
  CHECK(has_line(viz::variation_text(variation, {.width = 120, .colour = false}), "  " + note));
  CHECK(has_line(viz::variation_markdown(variation), note));
  CHECK(viz::svg_variation(variation).find("cancel out") != std::string::npos);
  variation.precision = 10'000;
  CHECK(viz::variation_text(variation, {.width = 120, .colour = false}).find("cancel out") == std::string::npos);
}

TEST_CASE("an interval without a best has a reason in every view") {
  Variation variation = two();
  variation.best[0] = {0, 15'000, std::nullopt, NoneBecause::none_applies};
  CHECK(
      has_line(viz::variation_text(variation, {.width = 100, .colour = false}), "  up to 15 us    none that applies"));
  CHECK(texts_of(parsed(viz::svg_variation(variation)), "strip").count("none that applies") == 1);
  CHECK(traces::variation_json(variation).find("\"none_because\": \"none applies\"") != std::string::npos);
  variation.best[0].none_because = NoneBecause::none_fits;
  CHECK(traces::variation_json(variation).find("\"none_because\": \"none fits\"") != std::string::npos);
}

TEST_CASE("a plot of thousands of points stays small") {
  Variation variation = two();
  variation.points.clear();
  variation.lines = {line("a", {})};
  for (std::int64_t i = 0; i < 20'000; ++i) {
    variation.points.push_back(i * 2);
    variation.lines[0].samples.push_back(Sample{.step_time = Duration{1'000'000 + i * i % 1'000}});
  }
  variation.axis.to = variation.points.back();
  variation.best = {{0, variation.axis.to, 0}};
  CHECK(viz::svg_variation(variation).size() < 100'000);
}

TEST_CASE("the words give the interval of each best schedule") {
  const std::string text = viz::variation_text(two(), {.width = 100, .colour = false});
  CHECK(lines_of(text).front() == "2 schedules over --comm from 0 ns to 40 us: 5 points, changes found to within 1 us");
  CHECK(has_line(text, "  up to 15 us    a"));
  CHECK(has_line(text, "  from 16 us on  b"));
  CHECK(has_line(text, "  step time, at   0 ns  10 us  20 us  30 us  40 us"));
  CHECK(has_line(text, "  a              10 ms  12 ms  14 ms  16 ms  18 ms"));
  CHECK(has_line(text, "  a is no slower than b up to 15 us, and slower from 16 us on"));
  Variation unchanged = two();
  unchanged.best = {{0, 40'000, std::nullopt}};
  CHECK(has_line(viz::variation_text(unchanged, {.width = 100, .colour = false}),
                 "  from 0 ns to 40 us  none that fits"));
}

TEST_CASE(
    "the table marks schedules that do not apply or fit, and shows times per microbatch if their number changes") {
  Variation variation = two();
  variation.lines[0] = line("a", {10, 12, -1, 16, 18});
  variation.lines[1].samples[0]->fits = false;
  variation.per_microbatch = true;
  variation.lines[1].samples[4]->microbatches = 4;
  const std::string text = viz::variation_text(variation, {.width = 100, .colour = false});
  CHECK(has_line(text, "  a                     10 ms  12 ms      -  16 ms    18 ms"));
  CHECK(has_line(text, "  b                   13 ms !  13 ms  13 ms  13 ms  3.25 ms"));
  CHECK(has_line(text, "  !: does not fit the memory limit there"));
}

TEST_CASE("of many crossings those of the best are named, and the others counted") {
  Variation variation = two();
  variation.lines.push_back(line("c", {20, 21, 22, 23, 24}));
  variation.lines.push_back(line("d", {24, 23, 22, 21, 20}));
  for (std::int64_t i = 0; i < 20; ++i) variation.crossings.push_back({2, 3, i * 100, i * 100 + 100});
  const std::string text = viz::variation_text(variation, {.width = 100, .colour = false});
  CHECK(text.find("a is no slower than b") != std::string::npos);
  CHECK(has_line(text, "  and 13 more; --json has them all"));
  const std::string json = traces::variation_json(variation);
  std::size_t count = 0;
  for (std::size_t at = json.find("slower_from"); at != std::string::npos; at = json.find("slower_from", at + 1))
    ++count;
  CHECK(count == 21);
}

TEST_CASE("a variation as Markdown and JSON") {
  Variation variation = two();
  variation.lines[1].samples[2].reset();
  const std::string markdown = viz::variation_markdown(variation);
  CHECK(has_line(markdown, "| up to 15 us | a |"));
  CHECK(has_line(markdown, "| b | 13 ms | 13 ms | - | 13 ms | 13 ms |"));
  const std::string json = traces::variation_json(variation);
  CHECK(json.find("\"option\": \"comm\"") != std::string::npos);
  CHECK(json.find("\"unit\": \"ns\"") != std::string::npos);
  CHECK(json.find("\"to_flag\": \"40000ns\"") != std::string::npos);
  CHECK(json.find("null") != std::string::npos);
  CHECK(json.find("\"step_time_ns\": 18000000") != std::string::npos);
  CHECK(json.find("\"no_slower_until\": 15000") != std::string::npos);
}

} // namespace ppsim::test::variation_views_test
