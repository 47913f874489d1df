#include "variation_curves.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <ranges>
#include <utility>

#include "svg_text.hpp"

namespace ppsim::viz {

namespace {

/// The curve of one line, without looks and label.
Curve curve_of_line(const Variation& variation, std::size_t position) {
  Curve curve;
  curve.lines.push_back(position);
  bool fits_somewhere = false;
  for (const std::optional<Sample>& sample : variation.lines[position].samples) {
    std::optional<std::int64_t> time;
    if (sample) time = std::llround(variation.shown_time(*sample));
    curve.times.push_back(time);
    curve.fits.push_back(!sample || sample->fits);
    curve.has_gaps = curve.has_gaps || !sample;
    curve.fits_not_always = curve.fits_not_always || (sample && !sample->fits);
    fits_somewhere = fits_somewhere || (sample && sample->fits);
  }
  curve.never_fits = !fits_somewhere;
  curve.is_best_somewhere = std::ranges::find(variation.best, position, &BestStretch::line) != variation.best.end();
  return curve;
}

std::string label_of(const Variation& variation, std::size_t line) {
  const VariationLine& schedule = variation.lines[line];
  return clean_text(schedule.name) + (schedule.asynchronous ? " (asynchronous)" : "");
}

/// The least time at a point of those that can be the best; nothing where none fits.
std::optional<std::int64_t> best_time(const Variation& variation, const std::vector<Curve>& curves, std::size_t point) {
  std::optional<std::int64_t> best;
  for (const Curve& curve : curves) {
    const bool counts = curve.times[point] && curve.fits[point] && !variation.lines[curve.lines.front()].asynchronous;
    if (counts && (!best || *curve.times[point] < *best)) best = curve.times[point];
  }
  return best;
}

/// How many times as long as the best a curve takes where it is nearest to it; 0 if it is the best somewhere.
double distance_from_best(const Curve& curve, const std::vector<std::optional<std::int64_t>>& best) {
  if (curve.is_best_somewhere) return 0;
  double nearest = std::numeric_limits<double>::max();
  for (std::size_t point = 0; point < best.size(); ++point) {
    if (!curve.times[point] || !curve.fits[point] || !best[point] || *best[point] == 0) continue;
    nearest = std::min(nearest, static_cast<double>(*curve.times[point]) / static_cast<double>(*best[point]));
  }
  return nearest;
}

/// The fastest and the slowest that the best ever is; both 0 where nothing fits.
std::pair<std::int64_t, std::int64_t> bests(const Variation& variation, const std::vector<Curve>& curves) {
  std::vector<std::int64_t> times;
  for (std::size_t point = 0; point < variation.points.size(); ++point)
    if (const std::optional<std::int64_t> best = best_time(variation, curves, point)) times.push_back(*best);
  if (times.empty()) return {0, 0};
  const auto [fastest, slowest] = std::minmax_element(times.begin(), times.end());
  return {*fastest, *slowest};
}

} // namespace

std::vector<Curve> curves_of(const Variation& variation) {
  std::vector<Curve> curves;
  for (std::size_t line = 0; line < variation.lines.size(); ++line) {
    Curve curve = curve_of_line(variation, line);
    if (std::ranges::none_of(curve.times, [](const auto& time) { return time.has_value(); })) continue;
    const bool asynchronous = variation.lines[line].asynchronous;
    const auto same = std::find_if(curves.begin(), curves.end(), [&](const Curve& other) {
      return other.times == curve.times && other.fits == curve.fits &&
             variation.lines[other.lines.front()].asynchronous == asynchronous;
    });
    if (same == curves.end()) {
      curve.label = label_of(variation, line);
      curves.push_back(std::move(curve));
      continue;
    }
    same->lines.push_back(line);
    same->label += ", " + label_of(variation, line);
    same->is_best_somewhere = same->is_best_somewhere || curve.is_best_somewhere;
  }
  return curves;
}

std::vector<Curve> nearest_curves(const Variation& variation, const std::vector<Curve>& curves, std::size_t most) {
  std::vector<std::optional<std::int64_t>> best;
  for (std::size_t point = 0; point < variation.points.size(); ++point)
    best.push_back(best_time(variation, curves, point));
  std::vector<double> distances;
  std::ranges::transform(curves, std::back_inserter(distances),
                         [&best](const Curve& curve) { return distance_from_best(curve, best); });
  std::vector<std::size_t> order(curves.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t curve) { return distances[curve]; });
  order.resize(std::min(order.size(), most));
  std::sort(order.begin(), order.end());
  std::vector<Curve> nearest;
  for (const std::size_t position : order) {
    Curve& curve = nearest.emplace_back(curves[position]);
    curve.number = nearest.size() - 1;
    curve.style = style_of(curve.number);
  }
  return nearest;
}

ShownRange shown_range(const Variation& variation, const std::vector<Curve>& curves) {
  std::vector<std::int64_t> times;
  for (const Curve& curve : curves)
    for (const auto& time : curve.times)
      if (time) times.push_back(*time);
  if (times.empty()) return {};
  std::sort(times.begin(), times.end());
  ShownRange range{.from = 0, .to = times.back()};
  const auto [fastest, slowest] = bests(variation, curves);
  if (slowest > 0) {
    while (times.back() - slowest > slowest / 2) times.pop_back();
    // A few points far above all others would press those together.
    const std::int64_t most_of_them = std::max(times[(times.size() - 1) * 19 / 20], slowest);
    const std::int64_t highest = times.back() / 5 > most_of_them / 4 ? most_of_them : times.back();
    range.is_cut = highest < range.to;
    range.to = highest;
  }
  const std::int64_t least = times.front();
  const std::int64_t span = range.to - least;
  range.logarithmic = least > 1 && fastest > 0 && slowest / 4 >= fastest;
  if (range.logarithmic)
    range.from = least - std::max<std::int64_t>(least / 20, 1);
  else if (span > 0 && least > range.to / 4)
    range.from = std::max<std::int64_t>(least - span / 10, 0);
  range.to += std::max<std::int64_t>((range.to - range.from) / 20, 1);
  return range;
}

std::vector<Px> spread_labels(const std::vector<Px>& wanted, Px pitch, Px top, Px bottom) {
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&wanted](std::size_t label) { return wanted[label]; });
  /// Labels that touch each other, moved as one: the sum of where each wants the first of them to stand.
  struct Block {
    std::int64_t count, sum;
    [[nodiscard]] std::int64_t start() const { return sum / count; }
  };
  std::vector<Block> blocks;
  for (const std::size_t label : order) {
    blocks.push_back({1, wanted[label].hundredths});
    while (blocks.size() > 1) {
      const Block& last = blocks.back();
      Block& before = blocks[blocks.size() - 2];
      if (before.start() + before.count * pitch.hundredths <= last.start()) break;
      before.sum += last.sum - last.count * before.count * pitch.hundredths;
      before.count += last.count;
      blocks.pop_back();
    }
  }
  std::vector<Px> places(wanted.size());
  std::size_t next = 0;
  for (const Block& block : blocks)
    for (std::int64_t i = 0; i < block.count; ++i) places[order[next++]] = Px{block.start()} + pitch * i;
  // Back between the edges: down from the top, then up from the bottom.
  Px least = top;
  for (const std::size_t label : order) {
    places[label] = std::max(places[label], least);
    least = places[label] + pitch;
  }
  Px most = bottom;
  for (const std::size_t label : std::views::reverse(order)) {
    places[label] = std::min(places[label], most);
    most = places[label] - pitch;
  }
  return places;
}

} // namespace ppsim::viz
