#include "curve_style.hpp"

#include <array>

namespace ppsim::viz {
namespace {

// Okabe and Ito's palette without its yellow, which is too light for lines on white, and with a brown instead.
constexpr std::array<Colour, 8> line_colours{{{0x00, 0x72, 0xB2},
                                              {0xD5, 0x5E, 0x00},
                                              {0x00, 0x9E, 0x73},
                                              {0xCC, 0x79, 0xA7},
                                              {0x1A, 0x1A, 0x1A},
                                              {0x56, 0xB4, 0xE9},
                                              {0xE6, 0x9F, 0x00},
                                              {0x7A, 0x4B, 0x1E}}};
constexpr std::array<std::string_view, 5> line_dashes{"", "8 3", "2 2.5", "9 3 2 3", "5 2"};
// Circle, square, triangle, diamond, triangle on its tip, plus, hexagon: seven, so that all three together recur only
// after 280 curves.
constexpr std::array<std::string_view, 7> line_markers{"m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0 -6.4 0z",
                                                       "m-2.9 -2.9h5.8v5.8h-5.8z",
                                                       "m0 -3.9l3.6 6.4h-7.2z",
                                                       "m0 -4l4 4l-4 4l-4 -4z",
                                                       "m0 3.9l3.6 -6.4h-7.2z",
                                                       "m-1.2 -3.8h2.4v2.6h2.6v2.4h-2.6v2.6h-2.4v-2.6h-2.6v-2.4h2.6z",
                                                       "m-3.6 0l1.8 -3.2h3.6l1.8 3.2l-1.8 3.2h-3.6z"};

} // namespace

CurveStyle style_of(std::size_t number) {
  return {line_colours[number % line_colours.size()], line_dashes[number % line_dashes.size()],
          line_markers[number % line_markers.size()]};
}

} // namespace ppsim::viz
