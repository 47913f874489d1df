#pragma once
// The parts of the pictures, each a piece of SVG. Parts that show what the legend explains note it in `drawn`.

#include "ppsim/measured/validation.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "svg_layout.hpp"
#include "ticks.hpp"

namespace ppsim::viz {

inline constexpr Px margin = px(16);
inline constexpr Px essentials_size = px(12);
inline constexpr Px axis_height = px(52);     // ticks, labels, the axis' title
inline constexpr Px figure_width = px(1'000); // of plots
inline constexpr Px label_size = px(11);
inline constexpr std::string_view grid_look = R"(class="grid" stroke="#e3e3e3" stroke-width="0.8")"; // of plots

/// SVG text above or below the chart, and its end.
struct Part {
  std::string elements;
  Px bottom;
};

/// The whole document: its title, white ground, and `elements`, the lowest of which ends at `bottom`.
[[nodiscard]] std::string document(std::string_view title, Px width, Px bottom, std::string_view elements);

/// Heading of a picture.
struct Headline {
  std::string title;
  std::vector<std::string> essentials; ///< put into as few lines as hold them
  std::string source;                  ///< of the costs; empty: not said
  std::string measured = {};           ///< where and how a real run was made, said instead; empty: none was
};
/// Facts needed to read the chart of a run, and its results.
[[nodiscard]] std::vector<std::string> run_essentials(const TaskGraph& graph, const RunReport& report);
[[nodiscard]] Part draw_head(const Headline& head, Px picture_width);
/// Remarks below `top`, between `left` and `right`.
[[nodiscard]] Part draw_notes(const std::vector<std::string>& notes, Px left, Px right, Px top);
/// Lines at the ticks of the time axis, from above the rows to below them.
[[nodiscard]] std::string draw_grid(const Chart& chart);
/// The time axis below the rows: a line, labels, a title.
[[nodiscard]] std::string draw_time_axis(const Chart& chart);
[[nodiscard]] std::string draw_stage_labels(const Chart& chart);
/// All rows of the chart, drawn above `behind`, which is visible in waits but hidden by cells.
[[nodiscard]] std::string draw_rows(const Chart& chart, const std::string& behind, LegendItems& drawn);
/// Columns with shares of time, for Detail::shares.
[[nodiscard]] std::string draw_shares(const Chart& chart, LegendItems& drawn);
/// Lines from sender to receiver.
[[nodiscard]] std::string draw_transfers(const Chart& chart, LegendItems& drawn);
/// The chain of tasks and transfers that sets the makespan.
[[nodiscard]] std::string draw_critical_path(const Chart& chart, LegendItems& drawn);
/// Meaning of an idle label.
[[nodiscard]] std::string_view meaning_of(Label label);
/// Layout of memory over time below the rows.
struct MemoryPlot {
  bool counts = false;               ///< live activations, where no sizes are known
  std::optional<std::int64_t> limit; ///< in bytes
  std::int64_t top = 0;              ///< of the scale that all stages have in common
  std::size_t highest = 0;           ///< the first stage of those with the highest peak
  std::vector<std::size_t> stages;   ///< that have a lane
  Px pitch;                          ///< from one lane to the next
  Ticks ticks;
  Px figures_x; ///< where peaks are written
  Px width;     ///< of a picture that has room for them
};
[[nodiscard]] MemoryPlot memory_plot(const Chart& chart);
/// Memory lanes below `top`, with the time axis.
[[nodiscard]] Part draw_memory(const Chart& chart, const MemoryPlot& plot, Px top, LegendItems& drawn);
/// Legend of the elements drawn, below `top`. Of several charts, `chart` is the one with the most chunks per stage.
[[nodiscard]] Part draw_legend(const Chart& chart, const LegendItems& drawn, Px top);

/// Style of the vertical line at the end of a run.
enum class EndLine : std::uint8_t { predicted, measured };
/// That line at `x` from `top` to `bottom`.
[[nodiscard]] std::string end_line(EndLine kind, Px x, Px top, Px bottom);
/// Style of the mark on a task that deviates from its prediction: around the task, or around the wait before it.
[[nodiscard]] std::string deviation_mark(Lateness because, const Box& box, std::string_view tooltip = {});
/// Vertical bars of the split passes: I at the upper edge of `cell`, W at the lower.
[[nodiscard]] Box split_mark(Pass pass, const Box& cell);
[[nodiscard]] std::string_view pass_name(Pass pass);

} // namespace ppsim::viz
