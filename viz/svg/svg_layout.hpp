#pragma once
// Positions in the chart, and the detail allowed by its size.

#include "ppsim/graph/timeline.hpp"
#include "ppsim/study/run_report.hpp"

#include <optional>
#include <vector>

#include "svg_canvas.hpp"
#include "svg_palette.hpp"

namespace ppsim::viz {

/// Drawing mode of tasks: one cell each, or, if cells would be too many or narrower than about a pixel, shares of time
/// per column.
enum class Detail : std::uint8_t { cells, shares };
/// Drawing mode of the critical path: outlines around cells, or one line if cells are too small.
enum class PathStyle : std::uint8_t { outline, line };

/// Content and scale of a chart. Charts above each other share it, so they can be compared by eye.
struct ChartFrame {
  Duration axis{0}; ///< what the width of the plot stands for; what ends later is cut off
  Px plot_width;
  Px pitch; ///< from one row to the next
  Detail detail = Detail::cells;
  std::size_t stages_per_row = 1;     ///< more than one only with Detail::shares
  std::size_t most_columns = 20'000;  ///< of all rows together with Detail::shares; bounds the size of the document
  bool tooltips = false;              ///< few enough cells for a tooltip each
  bool numbers = false;               ///< of microbatches, in cells that hold them
  bool transfers = false;             ///< few and long enough to be told apart
  bool compact = false;               ///< cells that share a fill are one path
  std::optional<PathStyle> path = {}; ///< none: the critical path is not drawn
  /// Distributes stages over at most `most` rows.
  void share_rows(std::size_t stages, std::size_t most) { stages_per_row = (stages + most - 1) / most; }
  [[nodiscard]] std::size_t rows_of(std::size_t stages) const { return (stages + stages_per_row - 1) / stages_per_row; }
};
/// Options of a single chart.
[[nodiscard]] ChartFrame own_frame(const TaskGraph& graph, const Timeline& timeline, const RunReport& report);

/// Inputs of a chart and values derived only from them.
struct Chart : ChartFrame {
  Chart(const TaskGraph& graph, const Timeline& timeline, const RunReport& report, const ChartFrame& frame);

  const TaskGraph& graph;
  const Timeline& timeline;
  const RunReport& report;
  std::vector<std::uint16_t> local_chunk; ///< by global id: its index on its stage
  Palette palette;

  std::size_t rows = 1;
  Px width;     ///< of the whole picture
  Box plot;     ///< time from left to right, rows from top to bottom; who draws it says how far down
  Px mean_cell; ///< width of a task of mean length
  Px bar;       ///< height of a row's cells

  [[nodiscard]] std::size_t stages() const { return graph.schedule().shape().stages; }
  [[nodiscard]] SimTime end() const { return SimTime{report.makespan}; }
  /// End of the chart: the end of its run, or of the axis if that is earlier.
  [[nodiscard]] SimTime shown_end() const { return SimTime{std::min(report.makespan, axis)}; }
  /// Position of a time; times after the axis end are at the plot's right edge.
  [[nodiscard]] Px x_at(SimTime at) const {
    return plot.x + share_of(std::min(at, SimTime{axis}).time_since_epoch().count(), axis.count(), plot.width);
  }
  [[nodiscard]] std::size_t row_of(StageId stage) const { return index(stage) / stages_per_row; }
  /// The bar of a row between two moments.
  [[nodiscard]] Box bar_box(std::size_t row, const Span& span) const;
  /// The cell of a task: its bar, or half of it if it shares its time with the other half of an overlapped pair.
  [[nodiscard]] Box cell_box(TaskId id, StageId stage) const;
  /// The recomputing part of the cell; zero width if there is none.
  [[nodiscard]] Box recompute_box(TaskId id, StageId stage) const;
  [[nodiscard]] bool shares_its_time(TaskId id) const;
  [[nodiscard]] std::size_t shade_of(const Task& task) const {
    return palette.shade_of(local_chunk[index(task.chunk())]);
  }
};

/// Plot width that gives cells a readable width, limited by screen and page.
[[nodiscard]] Px wanted_plot_width(const RunReport& report, std::size_t tasks, Duration axis);
/// Width of a task of mean length.
[[nodiscard]] Px mean_cell_width(const RunReport& report, std::size_t tasks, Duration axis, Px plot_width);
/// Minimum mean width of cells.
inline constexpr Px least_mean_cell{150};

/// Memory elements drawn.
struct MemoryLegendItems {
  bool is_drawn = false;
  bool counts = false; ///< live activations
  bool has_static = false;
  bool has_limit = false;
  bool has_overflow = false;
};

/// Elements drawn, so the legend explains exactly these.
struct LegendItems {
  LabelSet labels; ///< busy labels stand for their pass; overlap for a cell of two halves
  bool numbers = false;
  bool transfers = false;
  bool reductions = false;
  bool critical_path = false;
  bool palettes_differ = false; ///< charts with different numbers of chunks per stage
  bool two_rows = false;        ///< a stage's prediction above its measured row, with a line where each run ends
  bool slow_tasks = false;      ///< marked
  bool late_tasks = false;      ///< the waits before them marked
  MemoryLegendItems memory;
};

} // namespace ppsim::viz
