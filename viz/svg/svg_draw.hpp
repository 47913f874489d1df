#pragma once
// The parts of the chart, each a piece of SVG. Parts that show what the legend explains note it in `drawn`.

#include <string>
#include <string_view>
#include <vector>

#include "svg_layout.hpp"

namespace ppsim::viz {

inline constexpr Px margin = px(16);
inline constexpr Px essentials_size = px(12);
inline constexpr Px axis_height = px(52); // ticks, labels, the axis' title
inline constexpr Px bottom_margin = px(8);
inline constexpr Px figure_width = px(1'000); // of plots
inline constexpr Px label_size = px(11);

/// The document's first lines: its size, its title, white ground.
[[nodiscard]] std::string svg_opening(Px width, Px height, std::string_view title);

/// What a picture is headed with.
struct Headline {
  std::string title;
  std::vector<std::string> essentials; ///< put into as few lines as hold them
  std::string source;                  ///< of the costs; empty: not said
  std::string measured = {};           ///< where and how a real run was made, said instead; empty: none was
};
/// `height` is set to the space that it takes.
[[nodiscard]] std::string draw_head(const Headline& head, Px picture_width, Px& height);
/// Title and the command's essentials; `height` is set to the space that they take.
[[nodiscard]] std::string draw_head(const Chart& chart, Px& height);
/// Remarks below a picture from `bottom` on, which moves down; between `left` and `right`.
[[nodiscard]] std::string draw_notes(const std::vector<std::string>& notes, Px left, Px right, Px& bottom);
/// Lines at the ticks of the time axis, from above the rows to below them.
[[nodiscard]] std::string draw_grid(const Chart& chart);
/// The time axis below the rows: a line, labels, a title.
[[nodiscard]] std::string draw_time_axis(const Chart& chart);
[[nodiscard]] std::string draw_stage_labels(const Chart& chart);
/// All of them.
[[nodiscard]] std::string draw_axes(const Chart& chart);
/// Idle spans, hatched by cause, for Detail::cells.
[[nodiscard]] std::string draw_idle(const Chart& chart, Drawn& drawn);
/// A cell per task, for Detail::cells.
[[nodiscard]] std::string draw_cells(const Chart& chart, Drawn& drawn);
/// Columns that show how their time is shared, for Detail::shares.
[[nodiscard]] std::string draw_shares(const Chart& chart, Drawn& drawn);
/// Lines from sender to receiver.
[[nodiscard]] std::string draw_transfers(const Chart& chart, Drawn& drawn);
/// The chain of tasks and transfers that ends at the makespan.
[[nodiscard]] std::string draw_critical_path(const Chart& chart, Drawn& drawn);
/// Microbatch numbers, above everything else.
[[nodiscard]] std::string draw_numbers(const Chart& chart, Drawn& drawn);
/// What was drawn and nothing else, below `top`; `height` is set to the space that it takes. Of several charts, `chart`
/// is the one with most chunks per stage.
[[nodiscard]] std::string draw_legend(const Chart& chart, const Drawn& drawn, Px top, Px& height);

/// Where a line from one row to another leaves the first: its lower edge when the other is below.
[[nodiscard]] Px edge_towards(const Chart& chart, std::size_t row, std::size_t other);
/// How a vertical line is drawn where a run ends.
enum class EndLine : std::uint8_t { predicted, measured };
/// That line at `x` from `top` to `bottom`.
[[nodiscard]] std::string end_line(EndLine kind, Px x, Px top, Px bottom);
/// How a task that deviates from its prediction is marked: around itself, or around the wait before it.
enum class DeviationMark : std::uint8_t { slow, late };
[[nodiscard]] std::string deviation_mark(DeviationMark kind, const Box& box, std::string_view tooltip = {});
/// Vertical bars of the split passes: I at the upper edge of `cell`, W at the lower.
[[nodiscard]] Box split_mark(Pass pass, const Box& cell);
/// "<rect .../>" with the text as tooltip, if there is one.
void add_box(std::string& out, const Box& box, std::string_view tooltip = {});
/// The same as part of a path's data.
void add_box_path(std::string& out, const Box& box);

} // namespace ppsim::viz
