#pragma once
// Drawing primitives: lengths, points, rectangles and SVG elements. Attributes are passed as SVG text.

#include "ppsim/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace ppsim::viz {

/// A length or place in hundredths of a pixel, so that every coordinate is exact and prints the same everywhere.
struct Px {
  std::int64_t hundredths = 0;
  constexpr auto operator<=>(const Px&) const = default;
  friend constexpr Px operator+(Px a, Px b) { return {a.hundredths + b.hundredths}; }
  friend constexpr Px operator-(Px a, Px b) { return {a.hundredths - b.hundredths}; }
  friend constexpr Px operator*(Px a, std::int64_t factor) { return {a.hundredths * factor}; }
  friend constexpr Px operator/(Px a, std::int64_t divisor) { return {a.hundredths / divisor}; }
  constexpr Px& operator+=(Px other) { return *this = *this + other; }
};

/// Whole pixels.
[[nodiscard]] constexpr Px px(std::int64_t pixels) {
  return {pixels * 100};
}

/// A place in the picture.
struct Point {
  Px x, y;
};

/// A rectangle.
struct Box {
  Px x, y, width, height;
  [[nodiscard]] constexpr Px right() const { return x + width; }
  [[nodiscard]] constexpr Px bottom() const { return y + height; }
  [[nodiscard]] constexpr Px middle_x() const { return x + width / 2; }
  [[nodiscard]] constexpr Px middle_y() const { return y + height / 2; }
  bool operator==(const Box&) const = default;
};

/// `value / whole` of `length`, without overflow; zero if `whole` is zero.
[[nodiscard]] constexpr Px share_of(std::int64_t value, std::int64_t whole, Px length) {
  // 2^40 steps are finer than any screen and allow lengths up to 2^23 hundredths.
  while (whole > (std::int64_t{1} << 40)) {
    whole >>= 1;
    value >>= 1;
  }
  return whole == 0 ? Px{} : Px{value * length.hundredths / whole};
}

/// Adds formatted text to a piece of the document.
template <class... Args>
void add(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  out += fmt::format(format, std::forward<Args>(args)...);
}

/// A path with this data.
[[nodiscard]] std::string draw_path(std::string_view attributes, std::string_view data);
/// A rectangle.
[[nodiscard]] std::string draw_rect(const Box& box, std::string_view attributes);
/// A piece of text, escaped, at the left end of its base line unless the attributes say otherwise.
[[nodiscard]] std::string draw_text(Point at, std::string_view text, std::string_view attributes = {});
/// Elements with common attributes.
[[nodiscard]] std::string draw_group(std::string_view attributes, std::string_view elements);
/// "<rect .../>" with the text as tooltip, if there is one.
void add_box(std::string& out, const Box& box, std::string_view tooltip = {});
/// The same as part of a path's data.
void add_box_path(std::string& out, const Box& box);
/// Base line of text with this middle.
[[nodiscard]] constexpr Px base_line(Px middle, Px font_size) {
  return middle + font_size * 36 / 100;
}

} // namespace ppsim::viz

template <>
struct fmt::formatter<ppsim::viz::Px> {
  constexpr auto parse(format_parse_context& context) { return context.begin(); }
  static format_context::iterator format(ppsim::viz::Px length, format_context& context); // in svg_canvas.cpp
};
