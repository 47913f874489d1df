#pragma once
// What is plotted of a variation: lines that are equal become one curve, each with its own looks, over a range of times
// that shows where they compete.

#include "ppsim/study/variation.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "svg_canvas.hpp"
#include "svg_palette.hpp"

namespace ppsim::viz {

/// One or more lines that have the same value at every point.
struct Curve {
  std::vector<std::size_t> lines; ///< positions in Variation::lines
  std::size_t number = 0;         ///< position among those that are drawn; nearest_curves() sets it, and the looks
  std::string label;              ///< their names
  CurveStyle style;
  std::vector<std::optional<std::int64_t>> times; ///< by point, in nanoseconds; nothing where it does not apply
  std::vector<bool> fits;                         ///< by point
  bool never_fits = false;
  bool fits_not_always = false;
  bool has_gaps = false;
  bool is_best_somewhere = false;
};

/// The curves, in the order of their first lines. A schedule that never applies has none.
[[nodiscard]] std::vector<Curve> curves_of(const Variation& variation);

/// The `most` curves that are the best somewhere or come nearest to it, in their order; one is near where its time is
/// few times that of the best at the same point. Their looks differ as much as they can.
[[nodiscard]] std::vector<Curve> nearest_curves(const Variation& variation, const std::vector<Curve>& curves,
                                                std::size_t most);

/// The times that the plot shows, in nanoseconds; `to` is above `from`.
struct ShownRange {
  std::int64_t from = 0;
  std::int64_t to = 1;
  bool is_cut = false;      ///< something lies above `to`
  bool logarithmic = false; ///< `from` is above zero then
};
/// Where the bests compete: from close below the least (from zero where that is near) up to half more than the slowest
/// best. Logarithmic where the slowest best takes several times what the fastest takes: a crossing among the fast ones
/// would be flat on an axis for the slow ones.
[[nodiscard]] ShownRange shown_range(const Variation& variation, const std::vector<Curve>& curves);

/// Places for labels of height `pitch` between `top` and `bottom` (of their middles), in the order of `wanted` from
/// above, none on another, and each as near to where it is wanted as that allows. By position in `wanted`.
[[nodiscard]] std::vector<Px> spread_labels(const std::vector<Px>& wanted, Px pitch, Px top, Px bottom);

} // namespace ppsim::viz
