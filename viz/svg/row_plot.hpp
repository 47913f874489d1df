#pragma once
// Plots of errors: a row per group of runs, a marker per run, names at the left and figures at the right.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "svg_draw.hpp"

namespace ppsim::viz {

inline constexpr Px figure_column_width = px(60);
inline constexpr Px lane_height = px(5); ///< markers of a row stand in lanes, so that equal ones do not hide each other

/// Positions of the rows.
struct RowPlot {
  Box box;
  Px row_height;
  [[nodiscard]] Px row_top(std::size_t row) const { return box.y + row_height * static_cast<std::int64_t>(row); }
  /// Middle of a lane in a row with `lanes` lanes.
  [[nodiscard]] Px lane_at(std::size_t row, std::size_t lane, std::size_t lanes) const {
    return row_top(row) + row_height * (static_cast<std::int64_t>(lane) + 1) / (static_cast<std::int64_t>(lanes) + 1);
  }
};
/// Rows with these names below `top`, each with space for `lanes`.
[[nodiscard]] RowPlot row_plot(const std::vector<std::string>& names, std::size_t lanes, Px top);

/// Lines between the rows.
[[nodiscard]] std::string draw_rows(const RowPlot& plot);
/// The same, over a tolerance band from `left` to `right`, and a line at `zero`.
[[nodiscard]] std::string draw_row_ground(const RowPlot& plot, Px left, Px right, Px zero);
/// Labels of the two sides of `zero`, above the rows.
[[nodiscard]] std::string draw_sides(const RowPlot& plot, Px zero);
/// A tick and its label.
struct RowTick {
  Px x;
  std::string label;
};
/// The axis below the rows, with its title.
[[nodiscard]] std::string draw_row_axis(const RowPlot& plot, const std::vector<RowTick>& ticks, std::string_view title);
/// The figures of a row.
struct RowFigures {
  std::string median, worst;
};
/// Names at the left, figures at the right, and the headings drawn by `heads`.
[[nodiscard]] std::string draw_row_names(const RowPlot& plot, const std::vector<std::string>& names,
                                         const std::vector<RowFigures>& figures, std::string_view heads);

/// The marker of a run, with an optional tooltip.
void add_marker(std::string& out, const CurveStyle& style, Px x, Px y, std::string_view tooltip, bool hollow = false);
/// Legend of the numbered markers, in as many lines as needed.
[[nodiscard]] Part draw_marker_keys(const RowPlot& plot, const std::vector<std::string>& names, Px top);

} // namespace ppsim::viz
