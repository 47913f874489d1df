#include "ppsim/study/variation.hpp"

#include "ppsim/base/detail/wide.hpp"
#include "ppsim/base/error.hpp"
#include "ppsim/base/parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace ppsim {
namespace {

constexpr std::int64_t millionths = 1'000'000;

/// A factor in millionths as a decimal, without trailing zeros.
std::string factor_text(std::int64_t value) {
  std::string text = fmt::format("{}.{:06}", value / millionths, value % millionths);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

/// The largest of 1, 2, 5, 10, 20, ... that is at most `value`, for bytes of 1, 2, 4, 8, ...; at least 1.
std::int64_t round_number(std::int64_t value, bool binary) {
  std::int64_t power = 1;
  const std::int64_t base = binary ? 2 : 10;
  while (power <= value / base) power *= base;
  if (binary) return power;
  return value / power >= 5 ? 5 * power : value / power >= 2 ? 2 * power : power;
}

/// The n-th root of `value` >= 1 by bisection, only with multiplications: they give equal bits on every machine, unlike
/// pow().
double root(double value, std::size_t n) {
  double low = 1;
  double high = value;
  for (double middle = (low + high) / 2; low < middle && middle < high; middle = (low + high) / 2) {
    double power = 1;
    for (std::size_t i = 0; i < n && power <= value; ++i) power *= middle;
    (power <= value ? low : high) = middle;
  }
  return low;
}

/// The compared quantity: how much longer `a` takes per microbatch, exactly, times the microbatches of both.
Int128 difference(const Sample& a, const Sample& b) {
  return Int128{a.step_time.count()} * static_cast<std::int64_t>(b.microbatches) -
         Int128{b.step_time.count()} * static_cast<std::int64_t>(a.microbatches);
}
std::strong_ordering compare_times(const Sample& a, const Sample& b) {
  return difference(a, b) <=> 0;
}

/// One line at one value, once known.
struct Cell {
  bool known = false;
  std::optional<Sample> sample;
};
using Row = std::vector<Cell>; // by line

/// The lines that none beats at a value, sorted by memory.
std::vector<std::size_t> best_lines(const Row& row) {
  std::vector<std::size_t> best;
  for (std::size_t line = 0; line < row.size(); ++line) {
    const auto& sample = row[line].sample;
    if (!sample || !sample->fits || sample->asynchronous) continue;
    const auto order = best.empty() ? std::strong_ordering::less : compare_times(*sample, *row[best.front()].sample);
    if (order == std::strong_ordering::less) best.clear();
    if (order != std::strong_ordering::greater) best.push_back(line);
  }
  std::ranges::stable_sort(best, {}, [&](std::size_t line) { return row[line].sample->peak_bytes; });
  return best;
}

/// The best at one value: the first of the lines that none beats.
BestStretch stretch_at(std::int64_t value, const std::vector<std::size_t>& best, bool applies) {
  if (!best.empty()) return {.from = value, .to = value, .line = best.front()};
  return {.from = value,
          .to = value,
          .line = std::nullopt,
          .none_because = applies ? NoneBecause::none_fits : NoneBecause::none_applies};
}

/// Whether the best of `before` continues where `here` begins; `best` are the best lines.
bool goes_on(const BestStretch& before, const BestStretch& here, const std::vector<std::size_t>& best) {
  if (before.line) return std::ranges::find(best, *before.line) != best.end();
  return !here.line && here.none_because == before.none_because;
}

/// The known cells, and those to sample next.
class RangeSearch {
public:
  RangeSearch(const Axis& axis, std::size_t lines, std::int64_t precision, const Sampler& sample, std::size_t threads)
      : axis_{axis}, lines_{lines}, precision_{precision}, sample_{sample}, threads_{threads} {}

  /// Samples the points, and then values between them until no question is left. Returns the lines with a sample.
  std::vector<std::size_t> run(const std::vector<std::int64_t>& points) {
    std::vector<std::size_t> all(lines_);
    for (std::size_t line = 0; line < lines_; ++line) all[line] = line;
    want(points, all);
    answer();
    for (const std::size_t line : all)
      if (std::ranges::any_of(rows_, [&](const auto& row) { return row.second[line].sample.has_value(); }))
        applying_.push_back(line);
    std::ranges::copy_if(applying_, std::back_inserter(rivals_), [&](std::size_t line) {
      return std::ranges::none_of(
          rows_, [&](const auto& row) { return row.second[line].sample && row.second[line].sample->asynchronous; });
    });
    do {
      best_ = best_stretches();
      crossings_ = all_crossings();
      halves_ = !halves_;
    } while (answer());
    return applying_;
  }

  [[nodiscard]] const std::optional<Sample>& sample(std::int64_t value, std::size_t line) const {
    return rows_.at(value)[line].sample;
  }
  [[nodiscard]] const std::vector<BestStretch>& best() const { return best_; }
  [[nodiscard]] const std::vector<Crossing>& crossings() const { return crossings_; }

private:
  /// The values to try between two multiples of `precision`: the middle, or alternating with it the two around the
  /// crossing of two straight lines. Empty if there is no value between.
  [[nodiscard]] std::vector<std::int64_t> between(std::int64_t low, std::int64_t high,
                                                  std::optional<double> crossing) const {
    const std::int64_t first = (low - axis_.from) / precision_ + 1;
    const std::int64_t last = (high - axis_.from - 1) / precision_;
    if (first > last || !axis_.values.empty()) return {};
    const auto value = [&](std::int64_t step) { return axis_.from + step * precision_; };
    if (!crossing || halves_) return {value(first + (last - first) / 2)};
    const auto at = low + static_cast<std::int64_t>(*crossing * static_cast<double>(high - low));
    const std::int64_t step = std::clamp((at - axis_.from) / precision_, first, last);
    if (step == last) return {value(step)};
    return {value(step), value(step + 1)};
  }

  /// The relative position between two values at which two straight lines cross.
  [[nodiscard]] static std::optional<double> crossing_of(const Row& from, const Row& to, std::size_t a, std::size_t b) {
    if (!can_run(from[a]) || !can_run(from[b]) || !can_run(to[a]) || !can_run(to[b])) return std::nullopt;
    const double before = std::abs(static_cast<double>(difference(*from[a].sample, *from[b].sample)));
    const double behind = std::abs(static_cast<double>(difference(*to[a].sample, *to[b].sample)));
    return before + behind > 0 ? std::optional{before / (before + behind)} : std::nullopt;
  }

  void want(const std::vector<std::int64_t>& values, const std::vector<std::size_t>& lines) {
    for (const std::int64_t value : values)
      for (const std::size_t line : lines) wanted_.emplace(value, line);
  }

  /// Samples the requested unknown cells. False if there are none.
  bool answer() {
    std::vector<std::pair<std::size_t, std::int64_t>> questions;
    std::vector<Cell*> cells;
    for (const auto& [value, line] : wanted_) {
      Row& row = rows_.try_emplace(value, lines_).first->second;
      if (row[line].known) continue;
      questions.emplace_back(line, value);
      cells.push_back(&row[line]); // a map does not move rows
    }
    wanted_.clear();
    for_each_index(questions.size(), threads_, [&](std::size_t i) {
      *cells[i] = {true, sample_(questions[i].first, questions[i].second)};
    });
    return !questions.empty();
  }

  /// The best from value to value; requests values where it changes.
  std::vector<BestStretch> best_stretches() {
    std::vector<BestStretch> stretches;
    for (const auto& [value, row] : rows_) {
      if (!std::ranges::all_of(rivals_, [&](std::size_t line) { return row[line].known; })) continue;
      const std::vector<std::size_t> best = best_lines(row);
      bool applies = false;
      for (const std::size_t line : rivals_) applies = applies || row[line].sample.has_value();
      const BestStretch here = stretch_at(value, best, applies);
      if (!stretches.empty() && goes_on(stretches.back(), here, best)) {
        stretches.back().to = value;
        continue;
      }
      if (!stretches.empty()) {
        const BestStretch& last = stretches.back();
        const auto crossing =
            last.line && here.line ? crossing_of(rows_.at(last.to), row, *last.line, *here.line) : std::nullopt;
        want(between(last.to, value, crossing), rivals_);
      }
      stretches.push_back(here);
    }
    return stretches;
  }

  std::vector<Crossing> all_crossings() {
    std::vector<Crossing> crossings;
    for (std::size_t i = 0; i < applying_.size(); ++i)
      for (std::size_t j = i + 1; j < applying_.size(); ++j) add_crossings(applying_[i], applying_[j], crossings);
    std::ranges::sort(crossings, {}, [](const Crossing& crossing) {
      return std::tuple{crossing.from, crossing.first, crossing.second};
    });
    return crossings;
  }

  /// Whether it applies and fits.
  static bool can_run(const Cell& cell) { return cell.sample && cell.sample->fits; }

  static std::optional<std::size_t> faster_of(const Row& row, std::size_t a, std::size_t b) {
    const auto order = compare_times(*row[a].sample, *row[b].sample);
    if (order == std::strong_ordering::equal) return std::nullopt;
    return order == std::strong_ordering::less ? a : b;
  }

  /// Appends the crossings of these two; requests values between.
  void add_crossings(std::size_t a, std::size_t b, std::vector<Crossing>& crossings) {
    std::optional<std::int64_t> before; // the last value at which both can run
    std::optional<std::size_t> ahead;   // the faster one when they last differed
    bool gap = false;                   // one of them could not run since `before`
    for (const auto& [value, row] : rows_) {
      if (!row[a].known || !row[b].known) continue;
      if (!can_run(row[a]) || !can_run(row[b])) {
        gap = true;
        continue;
      }
      const std::optional<std::size_t> faster = faster_of(row, a, b);
      if (faster && before && ahead != faster) {
        crossings.push_back({a + b - *faster, *faster, *before, value});
        if (!gap) want(between(*before, value, crossing_of(rows_.at(*before), row, a, b)), {a, b});
      }
      if (faster) ahead = faster;
      before = value;
      gap = false;
    }
  }

  const Axis& axis_;
  std::size_t lines_;
  std::int64_t precision_;
  const Sampler& sample_;
  std::size_t threads_;
  std::map<std::int64_t, Row> rows_; // by value
  std::set<std::pair<std::int64_t, std::size_t>> wanted_;
  bool halves_ = false; // in this turn
  std::vector<std::size_t> applying_;
  std::vector<std::size_t> rivals_; // lines that can be the best
  std::vector<BestStretch> best_;
  std::vector<Crossing> crossings_;
};

std::int64_t precision_of(const Axis& axis, const VaryOptions& options) {
  return options.precision > 0 ? options.precision : default_precision(axis);
}

bool has_several_microbatch_counts(const std::vector<VariationLine>& lines) {
  std::set<std::size_t> counts;
  for (const VariationLine& line : lines)
    for (const auto& sample : line.samples)
      if (sample) counts.insert(sample->microbatches);
  return counts.size() > 1;
}

} // namespace

std::string Axis::flag_value(std::int64_t value) const {
  switch (unit) {
  case Unit::time:
    return fmt::format("{}ns", value);
  case Unit::bytes:
    return fmt::format("{}B", value);
  case Unit::rate:
    return fmt::format("{}B/s", value);
  case Unit::count:
    break;
  case Unit::factor:
    return factor_text(value);
  }
  return fmt::format("{}", value);
}

std::string Axis::format(std::int64_t value) const {
  switch (unit) {
  case Unit::time:
    return format_closely(Duration{value});
  case Unit::bytes:
    return format_closely(Bytes{value});
  case Unit::rate:
    return format_closely(Bandwidth{value});
  case Unit::count:
  case Unit::factor:
    break;
  }
  return flag_value(value);
}

std::int64_t Variation::skipped_distance() const {
  std::int64_t largest = 0;
  if (axis.unit == Axis::Unit::count && axis.values.empty())
    for (std::size_t i = 1; i < points.size(); ++i) largest = std::max(largest, points[i] - points[i - 1]);
  return largest > precision ? largest : 0;
}

std::int64_t default_precision(const Axis& axis) {
  if (axis.unit == Axis::Unit::count) return 1;
  std::int64_t finest = (axis.to - axis.from) / 10'000;
  if (axis.logarithmic()) finest = std::min(finest, axis.from / 100);
  return round_number(finest, axis.unit == Axis::Unit::bytes);
}

std::size_t default_points(const Axis& axis, std::int64_t precision) {
  constexpr std::size_t smooth = 100;
  constexpr std::int64_t most_counts = 256;
  PPSIM_ASSERT(axis.from < axis.to && precision > 0);
  const std::int64_t values = (axis.to - axis.from - 1) / precision + 2; // both ends included
  return axis.unit == Axis::Unit::count && values <= most_counts ? static_cast<std::size_t>(values) : smooth;
}

std::vector<std::int64_t> spread_points(const Axis& axis, std::size_t points, std::int64_t precision) {
  PPSIM_ASSERT(axis.from < axis.to && points >= 2 && precision > 0);
  const std::int64_t span = axis.to - axis.from;
  const std::int64_t multiples = (span - 1) / precision; // multiples of the precision between the ends
  std::vector<std::int64_t> values{axis.from};
  if (multiples + 1 < static_cast<std::int64_t>(points)) {
    for (std::int64_t multiple = 1; multiple <= multiples; ++multiple)
      values.push_back(axis.from + multiple * precision);
    values.push_back(axis.to);
    return values;
  }
  const auto steps = static_cast<std::int64_t>(points) - 1;
  const double range_ratio = static_cast<double>(axis.to) / static_cast<double>(axis.from);
  const double ratio = axis.logarithmic() ? root(range_ratio, static_cast<std::size_t>(steps)) : 1;
  auto scaled = static_cast<double>(axis.from);
  for (std::int64_t step = 1; step < steps; ++step) {
    scaled *= ratio;
    const std::int64_t exact = axis.logarithmic() ? std::llround(scaled) - axis.from : scale_rounded(span, step, steps);
    const std::int64_t value = axis.from + scale_rounded(exact, 1, precision) * precision;
    if (value > values.back() && value < axis.to) values.push_back(value);
  }
  values.push_back(axis.to);
  return values;
}

std::vector<std::int64_t> points_of(const Axis& axis, const VaryOptions& options) {
  if (!axis.values.empty()) return axis.values;
  const std::int64_t precision = precision_of(axis, options);
  return spread_points(axis, options.points > 0 ? options.points : default_points(axis, precision), precision);
}

Variation vary(const Axis& axis, const std::vector<std::string>& names, const Sampler& sample,
               const VaryOptions& options) {
  Variation variation;
  variation.axis = axis;
  variation.precision = precision_of(axis, options);
  variation.points = points_of(axis, options);
  RangeSearch search{axis, names.size(), variation.precision, sample, options.threads};
  std::vector<std::size_t> position(names.size()); // of a line among those that apply
  for (const std::size_t line : search.run(variation.points)) {
    position[line] = variation.lines.size();
    VariationLine& made = variation.lines.emplace_back();
    made.name = names[line];
    for (const std::int64_t point : variation.points) {
      made.samples.push_back(search.sample(point, line));
      if (made.samples.back()) made.asynchronous = made.samples.back()->asynchronous;
    }
  }
  variation.per_microbatch = has_several_microbatch_counts(variation.lines);
  variation.best = search.best();
  for (BestStretch& stretch : variation.best)
    if (stretch.line) stretch.line = position[*stretch.line];
  variation.crossings = search.crossings();
  for (Crossing& crossing : variation.crossings) {
    crossing.first = position[crossing.first];
    crossing.second = position[crossing.second];
  }
  return variation;
}

} // namespace ppsim
