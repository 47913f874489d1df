#pragma once
// Sweep: a run at each point of a grid, which is the product of the values of several options; a row of figures each.

#include "ppsim/study/run_spec.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ppsim {

/// One value of an option.
struct SweepValue {
  std::string said;       ///< as the option takes it: "500us", "zb-v"
  std::string shown;      ///< in a table: "500000", "zb-v"
  bool is_number = false; ///< whether that is a number, in the unit of Axis
  bool operator==(const SweepValue&) const = default;
};

/// An option and the values that it runs over, in their order.
struct SweepAxis {
  std::string option;
  std::vector<SweepValue> values;
};

/// The points are counted as an odometer does: the first axis changes slowest.
struct SweepGrid {
  std::vector<SweepAxis> axes;

  /// Their number; the largest that there is where it is more than that.
  [[nodiscard]] std::size_t points() const;
  /// The value of each axis at a point.
  [[nodiscard]] std::vector<const SweepValue*> at(std::size_t point) const;
};

/// Rows that take days, and a table that no one reads.
inline constexpr std::size_t most_sweep_points = 10'000'000;

/// What became of the run at one point.
struct SweepRow {
  struct Figures {
    std::string schedule;
    Duration step_time{0};
    double bubble_ratio = 0;
    std::optional<Bytes> peak; ///< of the stage that needs most; none where no size is known
    std::optional<bool> fits;  ///< none without a limit
  };
  std::optional<Figures> figures;
  std::string error; ///< why there are none
};

/// The row of a run. A spec that is refused, by `make` or by the run, and an order that deadlocks are rows as well.
[[nodiscard]] SweepRow sweep_row(const std::function<RunSpec()>& make);

/// The run at a point; what it throws is that point's error. Called from several threads at once.
using SpecAt = std::function<RunSpec(std::size_t point)>;
/// Gets rows of consecutive points in their order, from one thread at a time; false ends the sweep.
using TakeRows = std::function<bool(std::size_t first, std::span<const SweepRow> rows)>;

/// Makes the rows of the points from `first` up to `end`. A bounded number of them is kept, and no row depends on the
/// number of threads. What `take` throws ends the sweep and is thrown.
void sweep(std::size_t first, std::size_t end, std::size_t threads, const SpecAt& spec_at, const TakeRows& take);

} // namespace ppsim
