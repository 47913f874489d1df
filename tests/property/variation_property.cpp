// Variations of random step times: the results hold at all sampled values.

#include "ppsim/study/variation.hpp"
#include "property/drawn_inputs.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include <map>
#include <mutex>

#include <rapidcheck.h>

namespace ppsim::test::variation_property {

namespace {

/// A line with two slopes and steps, which refuses some values and fits from some value on.
struct RandomLine {
  std::int64_t start = number(draw(0, 60));
  std::int64_t slope = number(draw(0, 6)) - 3;
  std::int64_t bend = number(draw(0, 400));
  std::int64_t later_slope = number(draw(0, 6)) - 3;
  std::int64_t step = number(draw(1, 30)); ///< constant over this many values
  std::int64_t refuses = one_in(3) ? number(draw(2, 9)) : 1'000'000;
  std::int64_t fits_from = one_in(3) ? number(draw(0, 400)) : 0;
  bool asynchronous = one_in(8);

  [[nodiscard]] std::optional<Sample> at(std::int64_t value) const {
    if (value % refuses == 1) return std::nullopt;
    const std::int64_t x = value - value % step;
    const std::int64_t time =
        2000 + start + slope * std::min(x, bend) + later_slope * std::max<std::int64_t>(0, x - bend);
    return Sample{.step_time = Duration{time}, .fits = value >= fits_from, .asynchronous = asynchronous};
  }
};

struct VariationInput {
  std::vector<RandomLine> lines{draw(1, 5)};
  Axis axis;
  VaryOptions options;
  std::vector<std::string> names;
  VariationInput() {
    axis.from = number(draw(0, 100));
    axis.to = axis.from + number(draw(1, 400));
    axis.unit = one_in(2) ? Axis::Unit::count : Axis::Unit::time;
    options.points = draw(2, 40);
    options.precision = one_in(2) ? number(draw(1, 20)) : 0;
    for (std::size_t line = 0; line < lines.size(); ++line) names.push_back(std::to_string(line));
  }
  [[nodiscard]] const RandomLine& line(const Variation& variation, std::size_t position) const {
    return lines[std::stoul(variation.lines[position].name)];
  }
};

/// The least valid step time at a value; none if there is none.
std::optional<Duration> least(const VariationInput& drawn, const Variation& variation, std::int64_t value) {
  std::optional<Duration> least;
  for (std::size_t i = 0; i < variation.lines.size(); ++i) {
    const auto sample = drawn.line(variation, i).at(value);
    if (!sample || !sample->fits || sample->asynchronous) continue;
    if (!least || sample->step_time < *least) least = sample->step_time;
  }
  return least;
}

void check_best_at(const VariationInput& drawn, const Variation& variation, const BestStretch& stretch,
                   std::int64_t value) {
  const auto time = least(drawn, variation, value);
  RC_ASSERT(time.has_value() == stretch.line.has_value());
  if (!stretch.line) return;
  const auto sample = drawn.line(variation, *stretch.line).at(value);
  RC_ASSERT(sample && sample->fits && !sample->asynchronous && sample->step_time == *time);
}

} // namespace

TEST_CASE("Intervals cover the range, and their line is the best at their ends and at every point within") {
  rc::prop("for any lines", [] {
    const VariationInput drawn;
    const Sampler sample = [&](std::size_t line, std::int64_t value) { return drawn.lines[line].at(value); };
    const Variation variation = vary(drawn.axis, drawn.names, sample, drawn.options);
    RC_ASSERT(variation.best.front().from == drawn.axis.from);
    RC_ASSERT(variation.best.back().to == drawn.axis.to);
    for (std::size_t i = 0; i < variation.best.size(); ++i) {
      const BestStretch& stretch = variation.best[i];
      check_best_at(drawn, variation, stretch, stretch.from);
      check_best_at(drawn, variation, stretch, stretch.to);
      for (const std::int64_t point : variation.points)
        if (point >= stretch.from && point <= stretch.to) check_best_at(drawn, variation, stretch, point);
      if (i == 0) continue;
      const std::int64_t distance = stretch.from - variation.best[i - 1].to;
      RC_ASSERT(distance > 0 && distance <= variation.precision);
    }
  });
}

TEST_CASE(
    "At a crossing the first line is not slower before and the second is faster after, a precision or a gap apart") {
  rc::prop("for any lines", [] {
    const VariationInput drawn;
    const Sampler sample = [&](std::size_t line, std::int64_t value) { return drawn.lines[line].at(value); };
    const Variation variation = vary(drawn.axis, drawn.names, sample, drawn.options);
    for (const Crossing& crossing : variation.crossings) {
      const RandomLine& first = drawn.line(variation, crossing.first);
      const RandomLine& second = drawn.line(variation, crossing.second);
      RC_ASSERT(first.at(crossing.until)->step_time <= second.at(crossing.until)->step_time);
      RC_ASSERT(second.at(crossing.from)->step_time < first.at(crossing.from)->step_time);
      bool gap = false;
      for (std::int64_t value = crossing.until + 1; value < crossing.from; ++value)
        gap |= !first.at(value) || !second.at(value);
      RC_ASSERT(crossing.from - crossing.until <= variation.precision || gap);
    }
  });
}

TEST_CASE("A variation does not depend on the number of threads, and samples nothing twice") {
  rc::prop("for any lines", [] {
    const VariationInput drawn;
    std::vector<Variation> variations;
    for (const std::size_t threads : {1U, 3U}) {
      std::mutex mutex;
      std::map<std::pair<std::size_t, std::int64_t>, int> calls;
      const Sampler sample = [&](std::size_t line, std::int64_t value) {
        const std::scoped_lock lock{mutex};
        ++calls[{line, value}];
        return drawn.lines[line].at(value);
      };
      VaryOptions options = drawn.options;
      options.threads = threads;
      variations.push_back(vary(drawn.axis, drawn.names, sample, options));
      for (const auto& [question, times] : calls) RC_ASSERT(times == 1);
    }
    RC_ASSERT(variations[0].best == variations[1].best);
    RC_ASSERT(variations[0].crossings == variations[1].crossings);
  });
}

} // namespace ppsim::test::variation_property
