// Variation with made-up step times: where the best changes, where two change places.

#include "ppsim/base/error.hpp"
#include "ppsim/study/variation.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>

namespace ppsim::test::variation_test {
namespace {

using Values = std::vector<std::int64_t>;

Sample takes(std::int64_t nanoseconds) {
  return {.step_time = Duration{nanoseconds}};
}

/// Lines by what they take at a value.
using Line = std::function<std::optional<Sample>(std::int64_t)>;

Variation vary_lines(const Axis& axis, const std::vector<Line>& lines, const VaryOptions& options) {
  std::vector<std::string> names;
  for (std::size_t line = 0; line < lines.size(); ++line)
    names.push_back(std::string(1, static_cast<char>('a' + line)));
  return vary(
      axis, names, [&](std::size_t line, std::int64_t value) { return lines[line](value); }, options);
}

/// "a 0..3, b 4..10": stretches as text.
std::string best_of(const Variation& variation) {
  std::string text;
  for (const BestStretch& stretch : variation.best)
    text += (text.empty() ? "" : ", ") + (stretch.line ? variation.lines.at(*stretch.line).name : "none") + " " +
            std::to_string(stretch.from) + ".." + std::to_string(stretch.to);
  return text;
}

/// "a to 3, b from 4".
std::string crossings_of(const Variation& variation) {
  std::string text;
  for (const Crossing& crossing : variation.crossings)
    text += (text.empty() ? "" : "; ") + variation.lines.at(crossing.first).name + " to " +
            std::to_string(crossing.until) + ", " + variation.lines.at(crossing.second).name + " from " +
            std::to_string(crossing.from);
  return text;
}

Axis times(std::int64_t from, std::int64_t to) {
  return {.option = "comm", .unit = Axis::Unit::time, .from = from, .to = to};
}
Axis counts(std::int64_t from, std::int64_t to) {
  return {.option = "mb", .unit = Axis::Unit::count, .from = from, .to = to};
}

const Line rising = [](std::int64_t x) { return takes(100 + 2 * x); };
const Line flat = [](std::int64_t) { return takes(777); };
const Line refusing = [](std::int64_t) { return std::nullopt; };

TEST_CASE("Points are spread evenly from one end to the other, without duplicates") {
  CHECK(spread_points(times(0, 10), 5) == Values{0, 3, 5, 8, 10}); // 2.5 and 7.5 round up
  CHECK(spread_points(counts(8, 11), 100) == Values{8, 9, 10, 11});
  CHECK(spread_points(times(5, 6), 2) == Values{5, 6});
  CHECK(spread_points(counts(8, 40), 100, 8) == Values{8, 16, 24, 32, 40});
  CHECK(spread_points(counts(8, 42), 100, 8) == Values{8, 16, 24, 32, 40, 42});
  CHECK(spread_points(counts(8, 40), 3, 9) == Values{8, 26, 40});
  CHECK(spread_points(counts(8, 40), 9, 100) == Values{8, 40});
  const Values many = spread_points(times(0, 2'000'000), 100);
  CHECK(many.size() == 100);
  CHECK(many[1] == 20'202); // 2'000'000 / 99
}

TEST_CASE("Up to 256 counts are all tried unless a number of points is given, and skipping them shows") {
  CHECK(default_points(counts(4, 128), 1) == 125);
  CHECK(default_points(counts(1, 256), 1) == 256);
  CHECK(default_points(counts(1, 257), 1) == 100);
  CHECK(default_points(counts(8, 2048), 8) == 256);
  CHECK(default_points(times(0, 50), 1) == 100);
  // Better than flat at 16 alone, which lies between two of few points.
  const Line dips = [](std::int64_t x) { return takes(x == 16 ? 1 : 900); };
  const Variation all = vary_lines(counts(4, 128), {dips, flat}, {});
  CHECK(best_of(all) == "b 4..15, a 16..16, b 17..128");
  CHECK(all.skipped_distance() == 0);
  const Variation few = vary_lines(counts(4, 128), {dips, flat}, {.points = 32});
  CHECK(few.points[1] == 8);
  CHECK(few.skipped_distance() == 4);
  CHECK(vary_lines(counts(8, 40), {flat}, {.precision = 8}).skipped_distance() == 0);
  CHECK(vary_lines(times(0, 1000), {flat}, {.points = 3}).skipped_distance() == 0);
}

TEST_CASE("Without a best, the reason (none applies, or none fits) is located as exactly as other changes") {
  // Applies from 300 on, fits from 700 on; the asynchronous one always does, and is never the best.
  const Line late = [](std::int64_t x) -> std::optional<Sample> {
    if (x < 300) return std::nullopt;
    return Sample{.step_time = Duration{5}, .fits = x >= 700};
  };
  const Line other = [](std::int64_t) { return Sample{.step_time = Duration{1}, .asynchronous = true}; };
  const Variation variation = vary_lines(times(0, 1000), {late, other}, {.points = 3, .precision = 1});
  REQUIRE(variation.best.size() == 3);
  CHECK(variation.best[0] == BestStretch{0, 299, std::nullopt, NoneBecause::none_applies});
  CHECK(variation.best[1] == BestStretch{300, 699, std::nullopt, NoneBecause::none_fits});
  CHECK(variation.best[2] == BestStretch{700, 1000, 0});
}

TEST_CASE("Over two decades and more, points are spaced by a ratio") {
  CHECK(spread_points(times(1, 10'000), 5) == Values{1, 10, 100, 1000, 10'000});
  CHECK(spread_points(times(3, 300), 3) == Values{3, 30, 300});
  CHECK_FALSE(times(0, 1000).logarithmic()); // zero has no place on such an axis
  CHECK_FALSE(times(10, 999).logarithmic());
  CHECK(times(10, 1000).logarithmic());
  const Values largest = spread_points(times(1, 900'000'000'000'000'000), 100);
  CHECK(std::ranges::is_sorted(largest));
  CHECK(std::set(largest.begin(), largest.end()).size() == largest.size());
  CHECK(largest.back() == 900'000'000'000'000'000);
}

TEST_CASE("Changes are bisected to a round ten-thousandth of the range") {
  CHECK(default_precision(times(0, 2'000'000)) == 200);
  CHECK(default_precision(times(0, 4'999'999)) == 200);
  CHECK(default_precision(times(0, 9'999)) == 1);
  CHECK(default_precision(times(1000, 10'000'000)) == 10); // logarithmic: a hundredth of 1000
  CHECK(default_precision(counts(8, 1'000'000)) == 1);
  CHECK(default_precision({.option = "memory-limit", .unit = Axis::Unit::bytes, .from = 0, .to = 30'000'000}) == 2048);
}

TEST_CASE("A change of the best is found to the stated precision, at multiples of it") {
  // 100 + 2x against 777: equal at 338.5
  const Variation one = vary_lines(times(0, 1000), {rising, flat}, {.points = 5, .precision = 1});
  CHECK(one.points == Values{0, 250, 500, 750, 1000});
  CHECK(best_of(one) == "a 0..338, b 339..1000");
  CHECK(crossings_of(one) == "a to 338, b from 339");
  const Variation ten = vary_lines(times(0, 1000), {rising, flat}, {.points = 5, .precision = 10});
  CHECK(ten.points == Values{0, 250, 500, 750, 1000});
  CHECK(best_of(ten) == "a 0..330, b 340..1000");
  CHECK(ten.precision == 10);
}

TEST_CASE("On a tie the best stays, and the next begins where it is faster") {
  const Line plateau = [](std::int64_t x) { return takes(x < 300 ? 500 : x > 700 ? 100 : 200); };
  const Line level = [](std::int64_t) { return takes(200); };
  const Variation level_first = vary_lines(times(0, 1000), {plateau, level}, {.points = 11, .precision = 1});
  CHECK(best_of(level_first) == "b 0..700, a 701..1000");
  CHECK(crossings_of(level_first) == "b to 700, a from 701");
  const Variation twins = vary_lines(times(0, 1000), {level, level}, {.points = 11});
  CHECK(best_of(twins) == "a 0..1000"); // the first of them, throughout
  CHECK(twins.crossings.empty());
}

TEST_CASE("Two that are equal at the start of the range cross at the end of the tie") {
  const Line slower_later = [](std::int64_t x) { return takes(1000 + std::max<std::int64_t>(0, x - 420)); };
  const Line level = [](std::int64_t) { return takes(1000); };
  const Variation start = vary_lines(times(0, 1000), {slower_later, level}, {.points = 3, .precision = 1});
  CHECK(best_of(start) == "a 0..420, b 421..1000");
  CHECK(crossings_of(start) == "a to 420, b from 421");
  const Line slower_before = [](std::int64_t x) { return takes(1000 + std::max<std::int64_t>(0, 420 - x)); };
  const Variation end = vary_lines(times(0, 1000), {slower_before, level}, {.points = 3, .precision = 1});
  CHECK(best_of(end) == "b 0..1000");
  CHECK(end.crossings.empty());
}

TEST_CASE("All changes inside one interval that bisection meets are found") {
  const Line middle = [](std::int64_t) { return takes(500); };
  const Line falling = [](std::int64_t x) { return takes(2 * (1000 - x)); };
  const Line climbing = [](std::int64_t x) { return takes(2 * x); };
  const Variation variation = vary_lines(times(0, 1000), {falling, middle, climbing}, {.points = 2, .precision = 1});
  CHECK(best_of(variation) == "c 0..250, b 251..750, a 751..1000"); // the middle line is best at neither point
  CHECK(crossings_of(variation) == "c to 250, b from 251; c to 500, a from 501; b to 750, a from 751");
}

TEST_CASE("A refusal leaves a gap, and a schedule is the best only where it applies") {
  const Line fours = [](std::int64_t x) -> std::optional<Sample> {
    if (x % 4 != 0) return std::nullopt;
    return takes(10);
  };
  const Line always = [](std::int64_t) { return takes(20); };
  const Variation variation = vary_lines(counts(3, 9), {fours, always, refusing}, {.points = 100});
  CHECK(variation.lines.size() == 2); // the third never applies
  CHECK(best_of(variation) == "b 3..3, a 4..4, b 5..7, a 8..8, b 9..9");
  CHECK_FALSE(variation.lines[0].samples[0].has_value());
  CHECK(variation.lines[0].samples[1].has_value());
  CHECK(variation.crossings.empty());
}

TEST_CASE("Two may cross within a gap") {
  const Line fours = [](std::int64_t x) -> std::optional<Sample> {
    if (x % 4 != 0) return std::nullopt;
    return takes(10 + x);
  };
  const Line always = [](std::int64_t) { return takes(20); };
  CHECK(crossings_of(vary_lines(counts(1, 20), {fours, always}, {.points = 100})) == "a to 8, b from 12");
  CHECK(crossings_of(vary_lines(counts(1, 20), {fours, always}, {.points = 2})).empty()); // at no two points
}

TEST_CASE("Schedules that do not fit or are asynchronous are never the best, and there may be no best") {
  const Line large = [](std::int64_t x) { return Sample{.step_time = Duration{5}, .fits = x >= 600}; };
  const Line small = [](std::int64_t x) { return Sample{.step_time = Duration{9}, .fits = x >= 200}; };
  const Line other = [](std::int64_t) { return Sample{.step_time = Duration{1}, .asynchronous = true}; };
  const Variation variation = vary_lines(times(0, 1000), {large, small, other}, {.points = 6, .precision = 1});
  CHECK(best_of(variation) == "none 0..199, b 200..599, a 600..1000");
  CHECK(variation.lines[2].asynchronous);
  CHECK(variation.crossings.empty()); // these are of step times alone
  const Variation never = vary_lines(times(0, 1000), {other}, {.points = 6});
  CHECK(best_of(never) == "none 0..1000");
  const Variation nothing = vary_lines(times(0, 1000), {refusing}, {.points = 6});
  CHECK(nothing.lines.empty());
  CHECK(best_of(nothing) == "none 0..1000");
}

TEST_CASE("If the number of microbatches varies, step times are compared and shown per microbatch") {
  const Line one = [](std::int64_t m) {
    return Sample{.step_time = Duration{100 * m}, .microbatches = static_cast<std::size_t>(m)};
  };
  const Line other = [](std::int64_t m) { // 90 m + 70
    return Sample{.step_time = Duration{90 * m + 70}, .microbatches = static_cast<std::size_t>(m)};
  };
  const Variation variation = vary_lines(counts(1, 50), {one, other}, {.points = 4});
  CHECK(variation.per_microbatch);
  CHECK(best_of(variation) == "a 1..7, b 8..50"); // equal at 7
  CHECK(variation.shown_time(*variation.lines[0].samples[2]) == 100);
  const Line two_in_150 = [](std::int64_t) { return Sample{.step_time = Duration{150}, .microbatches = 2}; };
  const Line one_in_100 = [](std::int64_t) { return Sample{.step_time = Duration{100}, .microbatches = 1}; };
  CHECK(best_of(vary_lines(counts(1, 2), {one_in_100, two_in_150}, {})) == "b 1..2");
  CHECK_FALSE(vary_lines(times(0, 10), {flat}, {.points = 4}).per_microbatch);
}

TEST_CASE("Each line is sampled at a value at most once") {
  std::mutex mutex;
  std::map<std::pair<std::size_t, std::int64_t>, int> calls;
  const Sampler sample = [&](std::size_t line, std::int64_t value) {
    const std::scoped_lock lock{mutex};
    ++calls[{line, value}];
    return (line == 0 ? rising : line == 1 ? flat : Line{[](std::int64_t x) { return takes(1000 - x); }})(value);
  };
  const Variation variation =
      vary(times(0, 1000), {"a", "b", "c"}, sample, {.points = 20, .precision = 1, .threads = 4});
  CHECK(variation.best.size() == 2); // a, then c from 301
  CHECK(std::ranges::all_of(calls, [](const auto& call) { return call.second == 1; }));
  CHECK(calls.size() < 3 * 20 + 3 * 3 * 10); // 20 points each, and three changes of at most 6 steps
}

TEST_CASE("A crossing of straight lines needs two more values; kinks need a few") {
  const auto values_tried = [](const Line& other, const std::string& expected) {
    std::set<std::int64_t> tried;
    const Line counted = [&](std::int64_t x) {
      tried.insert(x);
      return rising(x);
    };
    const auto variation =
        vary_lines(times(0, 1'000'000), {counted, other}, {.points = 2, .precision = 1, .threads = 1});
    CHECK(crossings_of(variation) == expected);
    return tried.size();
  };
  CHECK(values_tried([](std::int64_t) { return takes(700'101); }, "a to 350000, b from 350001") == 4);
  const Line kink = [](std::int64_t x) { return takes(std::max<std::int64_t>(700'101, x * 3 / 2)); };
  CHECK(values_tried(kink, "a to 350000, b from 350001") <= 10); // halving takes 20
}

TEST_CASE("Exceptions of a sample are rethrown") {
  const Sampler sample = [](std::size_t, std::int64_t value) -> std::optional<Sample> {
    if (value == 10) throw std::runtime_error{"ten"};
    return takes(1);
  };
  CHECK_THROWS_WITH(vary(times(0, 10), {"a"}, sample, {.points = 3, .threads = 2}), "ten");
}

TEST_CASE("A value of an axis is formatted for users, and exactly as its option's argument") {
  const Axis rate{.option = "bandwidth", .unit = Axis::Unit::rate, .from = 1, .to = 2};
  const Axis factor{.option = "pair", .unit = Axis::Unit::factor, .from = 1, .to = 2};
  const Axis bytes{.option = "memory-limit", .unit = Axis::Unit::bytes, .from = 1, .to = 2};
  CHECK(times(0, 1).flag_value(1'500'000) == "1500000ns");
  CHECK(times(0, 1).format(1'500'000) == "1.5 ms");
  CHECK(times(0, 1).format(1'375'002) == "1.375002 ms");
  CHECK(bytes.format((std::int64_t{20} << 30) + (4 << 20)) == "20.0039 GiB"); // 4 MiB are 0.00390625 GiB
  CHECK(bytes.format(0) == "0 B");
  CHECK(bytes.flag_value(3 << 20) == "3145728B");
  CHECK(bytes.format(3 << 20) == "3 MiB");
  CHECK(rate.flag_value(50'000'000'000) == "50000000000B/s");
  CHECK(rate.format(50'000'000'000) == "50 GB/s");
  CHECK(factor.flag_value(850'000) == "0.85");
  CHECK(factor.flag_value(1'000'000) == "1");
  CHECK(factor.format(70'001) == "0.070001");
  CHECK(counts(1, 2).flag_value(64) == "64");
  CHECK(counts(1, 2).format(64) == "64");
}

} // namespace
} // namespace ppsim::test::variation_test
