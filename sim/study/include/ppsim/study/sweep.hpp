#pragma once
// Sweep: runs at each point of a grid, the product of the values of several options; one row of figures each.

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
  std::string said;       ///< the option's argument: "500us", "zb-v"
  std::string shown;      ///< in a table: "500000", "zb-v"
  bool is_number = false; ///< `shown` is a number, in the unit of Axis
  bool operator==(const SweepValue&) const = default;
};

/// An option and its values, in order.
struct SweepAxis {
  std::string option;
  std::vector<SweepValue> values;
};

/// Points are counted like an odometer: the first axis changes slowest.
struct SweepGrid {
  std::vector<SweepAxis> axes;

  /// The number of points, at most the largest std::size_t.
  [[nodiscard]] std::size_t points() const;
  /// The value of each axis at a point.
  [[nodiscard]] std::vector<const SweepValue*> at(std::size_t point) const;
};

/// A limit of run time (days) and table size.
inline constexpr std::size_t most_sweep_points = 10'000'000;

/// The result of the run at one point.
struct SweepRow {
  struct Figures {
    std::string schedule;
    Duration step_time{0};
    double bubble_ratio = 0;
    std::optional<Bytes> peak; ///< of the stage that needs most; none if sizes are unknown
    std::optional<bool> fits;  ///< none without a limit
  };
  std::optional<Figures> figures;
  std::string error; ///< why there are no figures
};

/// The row of a run. Refusals by `make` or by the run, and deadlocks, also become rows.
[[nodiscard]] SweepRow sweep_row(const std::function<RunSpec()>& make);

/// The run at a point; an exception becomes that point's error. Called from several threads at the same time.
using SpecAt = std::function<RunSpec(std::size_t point)>;
/// Takes rows of consecutive points in order, from one thread at a time; false ends the sweep.
using TakeRows = std::function<bool(std::size_t first, std::span<const SweepRow> rows)>;

/// Makes the rows of the points from `first` up to `end`. Keeps a bounded number of them; rows do not depend on the
/// number of threads. An exception of `take` ends the sweep and is rethrown.
void sweep(std::size_t first, std::size_t end, std::size_t threads, const SpecAt& spec_at, const TakeRows& take);

} // namespace ppsim
