#pragma once
// Where things stand in the plot of a variation: its curves, the marks of its axes, and where the best changes.

#include "ppsim/study/variation.hpp"

#include <optional>
#include <string>
#include <vector>

#include "svg_canvas.hpp"
#include "ticks.hpp"
#include "variation_curves.hpp"

namespace ppsim::viz {

/// Where the best changes, and where the label that says so is above it, or beside that.
struct ChangeMark {
  Px x, label_x;
  std::string label;
};

/// The inputs of a plot and where things stand in it.
struct VariationPlot {
  static constexpr Px label_pitch = px(16); ///< from one key at the right to the next
  static constexpr Px key_width = px(26);
  explicit VariationPlot(const Variation& the_variation);

  const Variation& variation;
  std::vector<Curve> all_curves;
  std::vector<Curve> curves; ///< that are drawn
  ShownRange range;
  std::vector<AxisMark> y_marks;
  std::string y_title;
  std::vector<AxisMark> x_marks;
  std::string x_title;
  std::vector<ChangeMark> changes;
  Px change_leaders; ///< height of the leaders from their labels; 0: all stand above their lines
  Box box;
  Px labels_left; ///< of the keys at the right

  void choose_y_marks();
  void choose_x_marks();
  void place_changes();
  [[nodiscard]] bool has_room(const std::vector<AxisMark>& marks) const;
  [[nodiscard]] Px x_at(std::int64_t value) const {
    const Axis& axis = variation.axis;
    if (axis.to <= axis.from) return box.middle_x();
    if (!axis.logarithmic()) return box.x + share_of(value - axis.from, axis.to - axis.from, box.width);
    const std::int64_t first = scaled_log2(axis.from);
    return box.x + share_of(scaled_log2(value) - first, scaled_log2(axis.to) - first, box.width);
  }
  /// May lie above the plot.
  [[nodiscard]] Px y_at(std::int64_t time) const {
    if (range.logarithmic) {
      const std::int64_t first = scaled_log2(range.from);
      return box.bottom() - share_of(scaled_log2(time) - first, scaled_log2(range.to) - first, box.height);
    }
    // Five plots above the edge is as good as any distance, and keeps the product in range.
    const std::int64_t height = std::min(time - range.from, (range.to - range.from) * 5);
    return box.bottom() - share_of(height, range.to - range.from, box.height);
  }
  [[nodiscard]] bool is_inside(const Point& point) const { return point.y >= box.y && point.y <= box.bottom(); }
  [[nodiscard]] std::optional<Point> point_of(const Curve& curve, std::size_t at) const {
    if (!curve.times[at]) return std::nullopt;
    return Point{x_at(variation.points[at]), y_at(*curve.times[at])};
  }
  [[nodiscard]] const Curve* curve_of(std::size_t line) const {
    for (const Curve& curve : curves)
      if (std::find(curve.lines.begin(), curve.lines.end(), line) != curve.lines.end()) return &curve;
    return nullptr;
  }
};

/// "transfer time (--comm)"
[[nodiscard]] std::string axis_name(const Axis& axis);

} // namespace ppsim::viz
