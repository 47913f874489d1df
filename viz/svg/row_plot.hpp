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

/// Where the rows stand.
struct RowPlot {
  Box box;
  Px row_height;
  [[nodiscard]] Px row_top(std::size_t row) const { return box.y + row_height * static_cast<std::int64_t>(row); }
  /// The middle of a lane of a row that has so many.
  [[nodiscard]] Px lane_at(std::size_t row, std::size_t lane, std::size_t lanes) const {
    return row_top(row) + row_height * (static_cast<std::int64_t>(lane) + 1) / (static_cast<std::int64_t>(lanes) + 1);
  }
};
/// Rows with these names below `top`, each with room for `lanes`.
[[nodiscard]] RowPlot row_plot(const std::vector<std::string>& names, std::size_t lanes, Px top);

/// Lines between the rows.
[[nodiscard]] std::string draw_rows(const RowPlot& plot);
/// The same, over a band that is tolerated, from `left` to `right`; and a line at `zero`.
[[nodiscard]] std::string draw_row_ground(const RowPlot& plot, Px left, Px right, Px zero);
/// What the two sides of `zero` mean, above the rows.
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
/// Names at the left, figures at the right, and what `heads` draws above.
[[nodiscard]] std::string draw_row_names(const RowPlot& plot, const std::vector<std::string>& names,
                                         const std::vector<RowFigures>& figures, std::string_view heads);

/// The marker of a run, with a tooltip where there is one.
void add_marker(std::string& out, const CurveStyle& style, Px x, Px y, std::string_view tooltip, bool hollow = false);
/// The markers with what each stands for, by number, in as many lines as they need.
[[nodiscard]] Part draw_marker_keys(const RowPlot& plot, const std::vector<std::string>& names, Px top);

} // namespace ppsim::viz
