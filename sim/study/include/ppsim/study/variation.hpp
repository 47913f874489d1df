#pragma once
// Variation: several schedules simulated over a range of one quantity, and the values at which the best one changes.

#include "ppsim/base/units.hpp"
#include "ppsim/study/step_figure.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ppsim {

/// The varied quantity: an option, in whole units.
struct Axis {
  /// The unit of values: nanoseconds, bytes, bytes per second, items, or millionths.
  enum class Unit : std::uint8_t { time, bytes, rate, count, factor };
  std::string option; ///< one of run_fields()
  Unit unit = Unit::time;
  std::int64_t from = 0;
  std::int64_t to = 0; ///< above `from`
  /// The only values to simulate: ascending, `from` and `to` included. Empty: a range.
  std::vector<std::int64_t> values = {};
  /// Whether points are spaced by a ratio: if the range spans two decades or more and does not begin at zero.
  [[nodiscard]] bool logarithmic() const { return from > 0 && to / 100 >= from; }
  /// `value` as the option's argument, exact: "1500000ns", "64", "0.85".
  [[nodiscard]] std::string flag_value(std::int64_t value) const;
  /// `value` for users, with all its digits: "1.3752 ms"; see format_closely().
  [[nodiscard]] std::string format(std::int64_t value) const;
};

/// One schedule at one value.
struct Sample {
  Duration step_time{0}; ///< Variation::figure
  std::size_t microbatches = 1;
  Bytes peak_bytes{}; ///< of the stage that needs most
  bool fits = true;
  bool asynchronous = false; ///< as VariationLine::asynchronous
  bool operator==(const Sample&) const = default;
};

/// One schedule over the range.
struct VariationLine {
  std::string name;                           ///< as Contender::name
  bool asynchronous = false;                  ///< never called the best, because it changes the training
  std::vector<std::optional<Sample>> samples; ///< by point; none if the schedule refuses the inputs
};

/// Why no line is the best at a value: no schedule applies there, or some do but none fits.
enum class NoneBecause : std::uint8_t { none_applies, none_fits };

/// A part of the range with one best schedule. It was simulated at both ends.
struct BestStretch {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::optional<std::size_t> line;                   ///< none: no schedule applies and fits
  NoneBecause none_because = NoneBecause::none_fits; ///< if there is no line
  bool operator==(const BestStretch&) const = default;
};

/// A change of order between two schedules: `until` still has the first order, `from` has the second. Two that are
/// equal at the start of the range cross at the end of that equality; equality at the end of the range is not a
/// crossing.
struct Crossing {
  std::size_t first = 0;  ///< line that is not slower up to `until`
  std::size_t second = 0; ///< line that is faster from `from` on
  std::int64_t until = 0;
  std::int64_t from =
      0; ///< at most Variation::precision after `until`, unless one of the lines refuses the values between
  bool operator==(const Crossing&) const = default;
};

/// The result over the range.
struct Variation {
  Axis axis;
  std::string title;
  std::string source;
  std::size_t stages = 0;           ///< 0: varies
  std::size_t microbatches = 0;     ///< as above
  std::vector<std::int64_t> points; ///< ascending, both ends included
  std::vector<VariationLine> lines; ///< with at least one sample, in the order of generators()
  std::int64_t precision = 1;       ///< of the bisection
  StepFigure figure = StepFigure::step_time;
  bool per_microbatch = false;   ///< step times are shown per microbatch, because their number changes
  std::vector<BestStretch> best; ///< from the first point to the last; by the least step time per microbatch
  std::vector<Crossing>
      crossings; ///< of pairs of lines, ascending; does not contain changes between neighbouring points that cancel out
  /// For a range of counts: the largest distance between neighbouring points, if values at the precision are between
  /// them. 0 if all values were tried, and for other axes, which always have values between points.
  [[nodiscard]] std::int64_t skipped_distance() const;
  /// The plotted value: the step time, or its share per microbatch, in nanoseconds.
  [[nodiscard]] double shown_time(const Sample& sample) const {
    const auto time = static_cast<double>(sample.step_time.count());
    return per_microbatch ? time / static_cast<double>(sample.microbatches) : time;
  }
};

/// Simulates a line at a value; none if the line refuses it. Called from several threads at the same time.
using Sampler = std::function<std::optional<Sample>(std::size_t line, std::int64_t value)>;

/// The resolution of a variation.
struct VaryOptions {
  std::size_t points = 0;     ///< at least 2, fewer if the range has fewer values; 0: default_points()
  std::int64_t precision = 0; ///< least distance between tried values; 0: default_precision()
  std::size_t threads = 1;    ///< the result does not depend on it
};

/// A ten-thousandth of the range, on a logarithmic axis at most a hundredth of its first value, rounded down to a round
/// number of units; 1 for counts.
[[nodiscard]] std::int64_t default_precision(const Axis& axis);

/// 100. For counts, whose neighbouring values can behave differently: all values at distance `precision`, if there are
/// at most 256.
[[nodiscard]] std::size_t default_points(const Axis& axis, std::int64_t precision);

/// Up to `points` values from one end of the range to the other, evenly spaced, or by a ratio on a logarithmic axis.
/// All but the last are rounded to multiples of `precision` above the first; without duplicates.
[[nodiscard]] std::vector<std::int64_t> spread_points(const Axis& axis, std::size_t points, std::int64_t precision = 1);

/// The points at which vary() samples all lines: Axis::values, or spread_points().
[[nodiscard]] std::vector<std::int64_t> points_of(const Axis& axis, const VaryOptions& options);

/// Samples the lines `names` over the axis, each at most once per value. The best at a value is the fastest of those
/// that apply, fit and are synchronous; of equals the best at the previous neighbour, otherwise the first. If the best
/// line, or the order of two lines, changes between neighbouring values, the interval is bisected down to multiples of
/// `precision` from the first value. Rethrows exceptions of `sample`.
[[nodiscard]] Variation vary(const Axis& axis, const std::vector<std::string>& names, const Sampler& sample,
                             const VaryOptions& options = {});

} // namespace ppsim
