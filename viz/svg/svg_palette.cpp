#include "svg_palette.hpp"

#include "svg_canvas.hpp"

namespace ppsim::viz {

namespace {

/// Colours of one pass: for a single chunk, and from the first chunk of a stage to the last.
struct PassColours {
  Colour alone, first, last;
};

// Hues of Okabe and Ito's palette. Forwards end (L* 64) before full backwards begin (L* 70).
constexpr std::array<PassColours, pass_count> pass_colours{{
    {{0x00, 0x72, 0xB2}, {0x0B, 0x4A, 0x7A}, {0x5B, 0xA3, 0xD9}}, // forward: blue
    {{0xF2, 0xB1, 0x34}, {0xE8, 0x9F, 0x1C}, {0xFC, 0xDC, 0x92}}, // backward: orange
    {{0xCC, 0x79, 0xA7}, {0xA6, 0x4D, 0x82}, {0xE6, 0xB3, 0xCE}}, // input gradient: purple
    {{0x00, 0x9E, 0x73}, {0x00, 0x66, 0x4C}, {0x8F, 0xD8, 0xBF}}, // weight gradient: green
}};

/// Hatch of one label: a tile of `size` pixels and the lines in it.
struct Hatch {
  Label label;
  int size;
  std::string_view ground;
  std::string_view lines;
};

// Hatches of idle labels are light compared with cells; their shapes differ, not only their tints.
constexpr std::array<Hatch, label_count - first_idle_label + 1> hatches{{
    // A busy label, so its lines are heavy and dark: blue, as for a forward.
    {Label::recompute, 5, "#d9e8f3", R"(<path d="M-1 1L1-1M0 5L5 0M4 6L6 4" stroke="#0b4a7a" stroke-width="1.6"/>)"},
    {Label::warmup, 7, "#f7f7f7", R"(<path d="M-1 1L1-1M0 7L7 0M6 8L8 6" stroke="#c4c4c4" stroke-width="0.8"/>)"},
    {Label::upstream, 6, "#f3f7fb",
     R"(<circle cx="1.5" cy="1.5" r="0.75" fill="#8fb3d1"/>)"
     R"(<circle cx="4.5" cy="4.5" r="0.75" fill="#8fb3d1"/>)"},
    {Label::downstream, 6, "#fdf8ef", R"(<path d="M0 3H6" stroke="#e3cda3" stroke-width="0.8"/>)"},
    {Label::link, 7, "#fbf2f0", R"(<path d="M0 0L7 7M0 7L7 0" stroke="#d3a195" stroke-width="0.8"/>)"},
    // Steps, as in a queue.
    {Label::stall, 6, "#fdf1f6", R"(<path d="M0 1.5H3V4.5H6" fill="none" stroke="#d69ab8" stroke-width="0.8"/>)"},
    {Label::transfer, 5, "#f6f3fa", R"(<path d="M2.5 0V5" stroke="#b5a5cc" stroke-width="0.8"/>)"},
    {Label::drain, 7, "#f7f7f7", R"(<path d="M-1 6L1 8M0 0L7 7M6-1L8 1" stroke="#c4c4c4" stroke-width="0.8"/>)"},
    {Label::flush, 6, "#f4f4f4", R"(<path d="M0 3H6M3 0V6" stroke="#c4c4c4" stroke-width="0.7"/>)"},
    {Label::host, 5, "#fdeef0", R"(<circle cx="2.5" cy="2.5" r="1" fill="none" stroke="#d08a96" stroke-width="0.7"/>)"},
}};

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

std::string hatch_name(Label label) {
  return fmt::format("{}{}", is_idle(label) ? "idle-" : "", ppsim::to_string(label));
}

constexpr int between(int first, int last, std::size_t step, std::size_t steps) {
  return first + (last - first) * static_cast<int>(step) / static_cast<int>(steps);
}

} // namespace

std::string to_string(Colour colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue);
}

bool wants_white_text(Colour ground) {
  // Relative luminance with a gamma of two. White reads better below about 0.18.
  const int luminance =
      2126 * ground.red * ground.red + 7152 * ground.green * ground.green + 722 * ground.blue * ground.blue;
  return luminance < 1800 * 255 * 255;
}

Palette::Palette(std::size_t local_chunks)
    : local_chunks_{std::max<std::size_t>(local_chunks, 1)}, shades_{std::min(local_chunks_, most_shades)} {}

Colour Palette::fill(Pass pass, std::size_t shade) const {
  const PassColours& colours = pass_colours[static_cast<std::size_t>(pass)];
  if (shades_ == 1) return colours.alone;
  const auto mix = [&](int Colour::*part) {
    return between(colours.first.*part, colours.last.*part, shade, shades_ - 1);
  };
  return {mix(&Colour::red), mix(&Colour::green), mix(&Colour::blue)};
}

std::string hatch_fill(Label label) {
  return fmt::format("url(#{})", hatch_name(label));
}

std::string hatch_tile(Label label) {
  const auto* const hatch = std::ranges::find(hatches, label, &Hatch::label);
  if (hatch == hatches.end()) return {};
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{0}"><rect width="{0}" height="{0}" fill="{1}"/>{2}</svg>)",
      hatch->size, hatch->ground, hatch->lines);
}

std::string hatch_definitions(const LabelSet& used) {
  std::string out = "<defs>\n";
  for (const Hatch& hatch : hatches) {
    if (!used.test(static_cast<std::size_t>(hatch.label))) continue;
    add(out, R"(<pattern id="{0}" width="{1}" height="{1}" patternUnits="userSpaceOnUse">)", hatch_name(hatch.label),
        hatch.size);
    add(out, "<rect width=\"{0}\" height=\"{0}\" fill=\"{1}\"/>{2}</pattern>\n", hatch.size, hatch.ground, hatch.lines);
  }
  return out += "</defs>\n";
}

std::string over_limit_definition() {
  return fmt::format("<defs>\n<pattern id=\"{}\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\">"
                     "<rect width=\"5\" height=\"5\" fill=\"#f6c9c2\"/>"
                     "<path d=\"M-1 1L1-1M0 5L5 0M4 6L6 4\" stroke=\"{}\" stroke-width=\"1.3\"/></pattern>\n</defs>\n",
                     over_limit_hatch, to_string(mark_stroke));
}

CurveStyle style_of(std::size_t number) {
  return {line_colours[number % line_colours.size()], line_dashes[number % line_dashes.size()],
          line_markers[number % line_markers.size()]};
}

} // namespace ppsim::viz
