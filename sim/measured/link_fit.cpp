#include "ppsim/measured/link_fit.hpp"

#include "ppsim/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ppsim {
namespace {

double nanoseconds(const LinkSample& sample) {
  return std::max(static_cast<double>(sample.time.count()), 1.0);
}

/// A straight line: latency in nanoseconds, slope in nanoseconds per byte.
struct Line {
  double latency = 0;
  double slope = 0;
  [[nodiscard]] double at(const LinkSample& sample) const {
    return latency + slope * static_cast<double>(sample.bytes.count());
  }
};

/// The line a + b x that minimises the sum of ((a + b x - t) / t)^2, with a and b not negative.
Line fit_line(std::span<const LinkSample> samples) {
  double w = 0;
  double wx = 0;
  double wxx = 0;
  double wt = 0;
  double wxt = 0;
  for (const LinkSample& sample : samples) {
    const double time = nanoseconds(sample);
    const auto bytes = static_cast<double>(sample.bytes.count());
    const double weight = 1 / (time * time);
    w += weight;
    wx += weight * bytes;
    wxx += weight * bytes * bytes;
    wt += weight * time;
    wxt += weight * bytes * time;
  }
  const double determinant = w * wxx - wx * wx;
  const double slope = determinant > 1e-9 * w * wxx ? (w * wxt - wx * wt) / determinant : 0;
  if (slope < 0) return {wt / w, 0}; // time does not grow with size
  const double latency = (wt - slope * wx) / w;
  if (latency < 0) return {0, wxt / wxx};
  return {latency, slope};
}

} // namespace

LinkFit fit_link(std::span<const LinkSample> samples) {
  PPSIM_ASSERT(!samples.empty());
  const Line line = fit_line(samples);
  LinkFit fit{.latency = Duration{std::llround(line.latency)}, .bandwidth = std::nullopt};
  constexpr double least_slope = 1e-9; // ns per byte: bandwidths above that exceed the range of integers
  constexpr double ns_per_s = 1e9;
  if (line.slope > least_slope)
    fit.bandwidth = Bandwidth{std::max<std::int64_t>(std::llround(ns_per_s / line.slope), 1)};
  for (const LinkSample& sample : samples) {
    const double measured = nanoseconds(sample);
    fit.largest_residual = std::max(fit.largest_residual, std::abs(line.at(sample) - measured) / measured);
  }
  return fit;
}

} // namespace ppsim
