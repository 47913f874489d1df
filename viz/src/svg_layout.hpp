#pragma once
// Where things stand in the chart, and how much detail its size allows.

#include "ppsim/sim/report.hpp"
#include "ppsim/sim/timeline.hpp"

#include <vector>

#include "svg_canvas.hpp"
#include "svg_palette.hpp"

namespace ppsim::viz {

/// How tasks are drawn: one cell each, or, when cells would be narrower than about a pixel or too many, as shares of
/// time per column.
enum class Detail : std::uint8_t { cells, shares };
/// How the critical path is drawn: outlines around its cells, or one line where cells are too small for that.
enum class PathStyle : std::uint8_t { outline, line };

/// The inputs of a chart and all that follows from them alone.
struct Chart {
  Chart(const TaskGraph& graph, const Timeline& timeline, const Report& report);

  const TaskGraph& graph;
  const Timeline& timeline;
  const Report& report;
  std::vector<std::uint16_t> local_chunk; ///< by global id: its index on its stage
  Palette palette;

  Detail detail = Detail::cells;
  PathStyle path_style = PathStyle::outline;
  bool tooltips = false;  ///< few enough cells for a tooltip each
  bool transfers = false; ///< few and long enough to be told apart
  std::size_t rows = 1;
  std::size_t stages_per_row = 1; ///< more than one only with Detail::shares
  Px width;                       ///< of the whole picture
  Box plot;                       ///< time from left to right, rows from top to bottom; placed by place_plot()
  Px pitch;                       ///< from one row to the next
  Px mean_cell;                   ///< width of a task of mean length
  Px bar;                         ///< height of a row's cells

  /// Moves the plot below a head of this height.
  void place_plot(Px head_height) { plot.y = head_height; }
  [[nodiscard]] std::size_t stages() const { return graph.schedule().shape().stages; }
  [[nodiscard]] SimTime end() const { return SimTime{report.makespan}; }
  [[nodiscard]] Px x_at(SimTime at) const {
    return plot.x + share_of(at.time_since_epoch().count(), report.makespan.count(), plot.width);
  }
  [[nodiscard]] std::size_t row_of(StageId stage) const { return index(stage) / stages_per_row; }
  /// The bar of a row between two moments.
  [[nodiscard]] Box bar_box(std::size_t row, const Span& span) const;
  /// The cell of a task: its bar, or half of that when it shares its time with the other half of an overlapped pair.
  [[nodiscard]] Box cell_box(TaskId id, StageId stage) const;
  /// The part of that in which the task recomputes; without width where it does not.
  [[nodiscard]] Box recompute_box(TaskId id, StageId stage) const;
  [[nodiscard]] bool shares_its_time(TaskId id) const;
  [[nodiscard]] std::size_t shade_of(const Task& task) const {
    return palette.shade_of(local_chunk[index(task.chunk())]);
  }
};

/// What was drawn, so that the legend explains this and nothing else.
struct Drawn {
  LabelSet labels; ///< busy labels stand for their pass; overlap for a cell of two halves
  bool numbers = false;
  bool transfers = false;
  bool reductions = false;
  bool critical_path = false;
};

} // namespace ppsim::viz
