#pragma once
// Colours, hatches and markers. Hue shows the pass, lightness the chunk. The chart also reads without colour vision and
// in grey: forwards are always darker than full backwards, and the halves of a split backward carry a bar (I above, W
// below).

#include "ppsim/report/report.hpp"

#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>

namespace ppsim::viz {

inline constexpr std::size_t pass_count = 4;
/// Chunks per stage with distinct lightness; with more chunks, neighbours share a shade.
inline constexpr std::size_t most_shades = 8;

/// The labels that are drawn in a chart.
using LabelSet = std::bitset<label_count>;

/// An sRGB colour.
struct Colour {
  int red = 0, green = 0, blue = 0;
};
/// "#rrggbb".
[[nodiscard]] std::string to_string(Colour colour);
/// Black or white, whichever reads better on `ground`.
[[nodiscard]] bool wants_white_text(Colour ground);

/// Fill of optimizer cells: dark, so that they differ from every pass in grey too.
inline constexpr Colour optimizer_fill{0x4D, 0x4D, 0x4D};
/// Stroke of markings: the end of a run, tasks that deviate from their prediction.
inline constexpr Colour mark_stroke{0xB2, 0x18, 0x2B};
/// Fill of the bars of gradient reductions.
inline constexpr Colour reduction_fill{0xB2, 0x3A, 0x48};

// Memory over time: greys, unused by passes, so memory above the limit stands out.
inline constexpr Colour static_fill{0x7D, 0x87, 0x94};
inline constexpr Colour activations_fill{0xC9, 0xD1, 0xDA};
inline constexpr Colour memory_stroke{0x4A, 0x55, 0x60};
inline constexpr std::string_view over_limit_hatch = "over-limit"; ///< id of its pattern
inline constexpr std::string_view limit_look =
    R"(class="limit" fill="none" stroke="#b2182b" stroke-width="1.2" stroke-dasharray="6 3")";
/// The `<defs>` with that pattern.
[[nodiscard]] std::string over_limit_definition();

/// The fill of each cell.
class Palette {
public:
  /// For a chart with this many chunks per stage.
  explicit Palette(std::size_t local_chunks);
  [[nodiscard]] std::size_t local_chunks() const { return local_chunks_; }
  [[nodiscard]] std::size_t shades() const { return shades_; }
  [[nodiscard]] std::size_t shade_of(std::size_t local_chunk) const { return local_chunk * shades_ / local_chunks_; }
  [[nodiscard]] Colour fill(Pass pass, std::size_t shade) const;

private:
  std::size_t local_chunks_;
  std::size_t shades_;
};

/// Fill attribute value for an idle label ("url(#idle-warmup)") or for Label::recompute.
[[nodiscard]] std::string hatch_fill(Label label);
/// One tile of that hatch as a picture of its own; nothing for labels without one.
[[nodiscard]] std::string hatch_tile(Label label);
/// The `<defs>` with the patterns of the labels in `used`.
[[nodiscard]] std::string hatch_definitions(const LabelSet& used);

/// Style of a curve, distinct in colour and in shape.
struct CurveStyle {
  Colour colour;
  std::string_view dashes; ///< value of stroke-dasharray; empty: solid
  std::string_view marker; ///< path data, relative to the marker's place
};
/// Styles that differ as much as possible; they repeat after 280.
[[nodiscard]] CurveStyle style_of(std::size_t number);

} // namespace ppsim::viz
