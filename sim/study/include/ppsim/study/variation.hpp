#pragma once
// Variation: one quantity runs over a range, and several schedules are simulated at each of its values; where the best
// of them changes.

#include "ppsim/base/units.hpp"
#include "ppsim/study/step_figure.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ppsim {

/// The quantity that is varied: an option, in whole units.
struct Axis {
  /// What its integers count: nanoseconds, bytes, bytes per second, things, or millionths.
  enum class Unit : std::uint8_t { time, bytes, rate, count, factor };
  std::string option; ///< one of run_fields()
  Unit unit = Unit::time;
  std::int64_t from = 0;
  std::int64_t to = 0; ///< above `from`
  /// Where only these are tried, and nothing between them: ascending, `from` and `to` included. Empty: a range.
  std::vector<std::int64_t> values = {};
  /// Whether points are spaced by a ratio: where the range spans two decades or more, and does not begin at zero.
  [[nodiscard]] bool logarithmic() const { return from > 0 && to / 100 >= from; }
  /// `value` as the option takes it, exact: "1500000ns", "64", "0.85".
  [[nodiscard]] std::string flag_value(std::int64_t value) const;
  /// `value` for people, with all its digits: "1.3752 ms"; see format_closely().
  [[nodiscard]] std::string format(std::int64_t value) const;
};

/// One schedule at one value.
struct Sample {
  Duration step_time{0}; ///< Variation::figure
  std::size_t microbatches = 1;
  Bytes peak_bytes{}; ///< of the stage that needs most
  bool fits = true;
  bool asynchronous = false; ///< see VariationLine
  bool operator==(const Sample&) const = default;
};

/// One schedule over the range.
struct VariationLine {
  std::string name;                           ///< as Contender::name
  bool asynchronous = false;                  ///< never called the best: it trains something else
  std::vector<std::optional<Sample>> samples; ///< by point; nothing where the schedule refuses the inputs
};

/// Why no line is the best at a value: no schedule that could be applies there, or some do and none of them fits.
enum class NoneBecause : std::uint8_t { none_applies, none_fits };

/// A part of the range in which one schedule is the best. Both ends are values at which that was simulated.
struct BestStretch {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::optional<std::size_t> line;                   ///< none: nothing applies and fits
  NoneBecause none_because = NoneBecause::none_fits; ///< where there is no line
  bool operator==(const BestStretch&) const = default;
};

/// Where two schedules change places: at `until` the one order still holds, at `from` the other does. Two that are
/// equal where the range begins change places where that ends; that they are equal at its end is not a crossing.
struct Crossing {
  std::size_t first = 0;  ///< line that is no slower up to `until`
  std::size_t second = 0; ///< line that is faster from `from` on
  std::int64_t until = 0;
  std::int64_t from = 0; ///< at most Variation::precision after `until`, unless one of them refuses what lies between
  bool operator==(const Crossing&) const = default;
};

/// What became of the range.
struct Variation {
  Axis axis;
  std::string title;
  std::string source;
  std::size_t stages = 0;           ///< 0: not said, as it is varied
  std::size_t microbatches = 0;     ///< as above
  std::vector<std::int64_t> points; ///< ascending, both ends included
  std::vector<VariationLine> lines; ///< those with a sample, in the order of generators()
  std::int64_t precision = 1;       ///< to which changes were bisected
  StepFigure figure = StepFigure::step_time;
  bool per_microbatch = false;   ///< step times are shown per microbatch, since their number changes
  std::vector<BestStretch> best; ///< from the first point to the last; the least step time per microbatch
  std::vector<Crossing>
      crossings; ///< of pairs of lines, ascending; changes between neighbouring points that cancel out are not seen
  /// Of a range of counts the largest distance between neighbouring points, if whole steps of the precision lie between
  /// them; 0 where everything was tried, and for other axes, where there always are values between.
  [[nodiscard]] std::int64_t skipped_distance() const;
  /// What is plotted: the step time, or its share per microbatch, in nanoseconds.
  [[nodiscard]] double shown_time(const Sample& sample) const {
    const auto time = static_cast<double>(sample.step_time.count());
    return per_microbatch ? time / static_cast<double>(sample.microbatches) : time;
  }
};

/// Simulates a line at a value; nothing where it refuses. Called from several threads at once.
using Sampler = std::function<std::optional<Sample>(std::size_t line, std::int64_t value)>;

/// How closely to look.
struct VaryOptions {
  std::size_t points = 0;     ///< at least 2, fewer are made where the range has fewer values; 0: default_points()
  std::int64_t precision = 0; ///< how far apart tried values are at least; 0: default_precision()
  std::size_t threads = 1;    ///< the result does not depend on it
};

/// A ten-thousandth of the range, on a logarithmic axis at most a hundredth of its first value, rounded down to a round
/// number of units; 1 for counts.
[[nodiscard]] std::int64_t default_precision(const Axis& axis);

/// 100; for counts, where what holds for one need not hold for its neighbours, all values that are `precision` apart if
/// they are at most 256.
[[nodiscard]] std::size_t default_points(const Axis& axis, std::int64_t precision);

/// Up to `points` values from one end of the range to the other, evenly spaced, or by a ratio where the axis is
/// logarithmic. But for the last they are rounded to multiples of `precision` above the first; each is there once.
[[nodiscard]] std::vector<std::int64_t> spread_points(const Axis& axis, std::size_t points, std::int64_t precision = 1);

/// The points at which vary() samples all lines: the values of the axis, or spread_points().
[[nodiscard]] std::vector<std::int64_t> points_of(const Axis& axis, const VaryOptions& options);

/// Samples the lines called `names` over the axis, each at a value at most once. The best at a value is the fastest of
/// those that apply, fit and are synchronous; of equals the one that was best at the neighbour before, else the first.
/// Where the best, or which of two is the faster, changes between neighbouring values, the values between are halved;
/// they stand `precision` apart, counted from the first. What `sample` throws is thrown.
[[nodiscard]] Variation vary(const Axis& axis, const std::vector<std::string>& names, const Sampler& sample,
                             const VaryOptions& options = {});

} // namespace ppsim
