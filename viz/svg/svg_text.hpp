#pragma once
// Text in a picture: made valid, measured, cut to size. Nothing here knows about charts.

#include <string>
#include <string_view>
#include <vector>

#include "svg_canvas.hpp"

namespace ppsim::viz {

/// `text` as valid UTF-8 without characters that XML forbids: a broken byte becomes U+FFFD, a control character a
/// space.
[[nodiscard]] std::string clean_text(std::string_view text);
/// `text` with the characters escaped that mean something in XML.
[[nodiscard]] std::string escaped(std::string_view text);
/// An upper estimate of the width of clean `text` in any of the fonts that we ask for.
[[nodiscard]] Px text_width(std::string_view text, Px font_size);
/// Clean `text`, cut with an ellipsis when it is wider than `width`.
[[nodiscard]] std::string fit_text(std::string_view text, Px font_size, Px width);
/// Clean `text` broken at spaces into at most `most` lines; the last one is cut when that is not enough.
[[nodiscard]] std::vector<std::string> wrap_text(std::string_view text, Px font_size, Px width, std::size_t most);

} // namespace ppsim::viz
