#pragma once
// Looks of what is told apart in plots, in colour and without.

#include <cstddef>
#include <string_view>

#include "svg_palette.hpp"

namespace ppsim::viz {

/// What tells a curve from the others, in colour and without.
struct CurveStyle {
  Colour colour;
  std::string_view dashes; ///< value of stroke-dasharray; empty: solid
  std::string_view marker; ///< path data, relative to the marker's place
};

/// Looks that differ from those of other numbers in as much as they can; they recur after 280.
[[nodiscard]] CurveStyle style_of(std::size_t number);

} // namespace ppsim::viz
