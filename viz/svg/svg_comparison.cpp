// Several charts above each other on one time axis, so the gain of one run over another appears as a length.
//
//   title, conditions, costs
//   1f1b   recommended | step time 33 ms | bubble ratio 27.3 % | peak 12 GiB
//   0 [0][1][2][3]////////[ 0 ][4][ 1 ][5]...     :
//   1 ///[0][1][2]=====[ 0 ][3][ 1 ][4][ 2 ]...   :
//   gpipe  +12.1 % | step time 37 ms | ...        :   (a line where the reference run ends)
//   0 [0][1][2][3]...                             :
//     |        |        |        |        |
//     0        5       10       15    time (ms)
//
// Each chart uses the same code as a single chart; the common properties are decided here.

#include "ppsim/base/words.hpp"
#include "ppsim/study/run_report.hpp"
#include "ppsim/viz/comparison.hpp"

#include "svg_draw.hpp"
#include "svg_text.hpp"
#include "words/figures.hpp"

namespace ppsim::viz {

namespace {

// Bounds that keep the document below 3 MB and at a readable length.
constexpr std::size_t most_tasks_as_cells = 32'768;
constexpr std::size_t most_tasks_with_tooltip = 4'096;
constexpr std::size_t most_tasks_with_number = 12'288;
constexpr std::int64_t most_columns_of_all = 32'000;
constexpr std::int64_t height_of_all_rows = 1'600; // pixels
constexpr std::int64_t least_rows_height = 64;
constexpr std::int64_t most_rows_height = 320;
constexpr std::int64_t least_pitch = 3;
constexpr std::int64_t most_pitch = 24;

constexpr Px good_column = px(10); // of Detail::shares

constexpr Px name_size = px(13);
constexpr Px facts_size = px(11);
constexpr Px panel_head_height = px(26);
constexpr Px panel_gap = px(14);
/// Runs longer than this multiple of the reference are cut off, to leave space for comparable runs.
constexpr std::int64_t longest_shown = 2;

const Panel& reference_panel(std::span<const Panel> panels) {
  const auto found = std::ranges::find(panels, true, &Panel::recommended);
  return found == panels.end() ? panels.front() : *found;
}

Duration common_axis(std::span<const Panel> panels) {
  const Duration reference = reference_panel(panels).report.makespan;
  Duration longest{0};
  for (const Panel& panel : panels)
    if (reference == Duration{0} || panel.report.makespan / longest_shown <= reference)
      longest = std::max(longest, panel.report.makespan);
  return longest;
}

/// Approximate number of tasks of a panel before the end of the axis.
std::size_t shown_tasks(const Panel& panel, Duration axis) {
  if (panel.report.makespan <= axis) return panel.graph.size();
  const auto size = static_cast<std::int64_t>(panel.graph.size());
  return static_cast<std::size_t>(scale_rounded(size, axis.count(), panel.report.makespan.count()));
}

ChartFrame frame_for(std::span<const Panel> panels) {
  ChartFrame frame;
  frame.axis = common_axis(panels);
  std::size_t stages = 1;
  std::size_t tasks = 0;
  for (const Panel& panel : panels) {
    stages = std::max(stages, panel.graph.schedule().shape().stages);
    tasks += shown_tasks(panel, frame.axis);
    frame.plot_width = std::max(frame.plot_width, wanted_plot_width(panel.report, panel.graph.size(), frame.axis));
  }
  const auto count = static_cast<std::int64_t>(std::max<std::size_t>(panels.size(), 1));
  const std::int64_t room = std::clamp(height_of_all_rows / count, least_rows_height, most_rows_height);
  const auto rows = static_cast<std::int64_t>(stages);
  const bool wide = std::all_of(panels.begin(), panels.end(), [&frame](const Panel& panel) {
    return mean_cell_width(panel.report, panel.graph.size(), frame.axis, frame.plot_width) >= least_mean_cell;
  });
  if (!wide || tasks > most_tasks_as_cells || rows * least_pitch > room) {
    frame.detail = Detail::shares;
    // Coarse in both directions: if all rows would leave only wide columns, stages share a row.
    const std::int64_t columns =
        std::max<std::int64_t>(frame.plot_width.hundredths / good_column.hundredths * count, 1);
    const std::int64_t most_rows =
        std::min(room / least_pitch, std::max<std::int64_t>(most_columns_of_all / columns, 1));
    frame.share_rows(stages, static_cast<std::size_t>(most_rows));
  }
  const auto shown_rows = static_cast<std::int64_t>(frame.rows_of(stages));
  frame.pitch = px(std::clamp(room / shown_rows, least_pitch, most_pitch));
  frame.most_columns = static_cast<std::size_t>(most_columns_of_all / count);
  frame.tooltips = frame.detail == Detail::cells && tasks <= most_tasks_with_tooltip;
  frame.compact = !frame.tooltips;
  frame.numbers = frame.detail == Detail::cells && tasks <= most_tasks_with_number;
  return frame;
}

/// Text above a chart, beside its name.
std::vector<std::string> facts(const Panel& panel, const Panel& reference, StepFigure ranked_by, Duration axis) {
  const RunReport& report = panel.report;
  std::vector<std::string> parts;
  if (const std::optional<Duration> figure = find_figure(report, ranked_by)) {
    const std::optional<Duration> least = find_figure(reference.report, ranked_by);
    const bool is_held_against = &panel != &reference && least && *least > Duration{0};
    parts.push_back(fmt::format("{} {}{}", to_string(ranked_by), format_duration(*figure),
                                is_held_against ? fmt::format(" ({})", difference(*figure, *least)) : ""));
  }
  if (ranked_by != StepFigure::step_time) parts.push_back("step time " + format_duration(report.step_time));
  if (report.step_time != report.makespan)
    parts.push_back(
        fmt::format("in steady state; one step by itself, drawn here: {}", format_duration(report.makespan)));
  parts.push_back("bubble ratio " + percent(report.bubble_ratio));
  if (const Bytes peak = report.peak_bytes(); peak > Bytes{})
    parts.push_back(fmt::format("peak {}{}", format_bytes(peak), report.overflow ? ", does not fit" : ""));
  if (report.makespan > axis) parts.emplace_back("cut off at the end of the axis");
  return parts;
}

/// Name, recommendation mark and facts, in a line above `chart`.
std::string draw_panel_head(const Chart& chart, const Panel& panel, const Panel& reference, StepFigure ranked_by) {
  const Px base = chart.plot.y - px(9);
  const std::string name = fit_text(clean_text(panel.name), name_size, chart.plot.width / 3);
  std::string out =
      draw_text({chart.plot.x, base}, name, fmt::format(R"(font-size="{}" font-weight="bold")", name_size));
  Px x = chart.plot.x + text_width(name, name_size) * 5 / 4 + px(8); // bold letters are wider
  if (panel.recommended) {
    constexpr std::string_view word = "recommended";
    const Px width = text_width(word, facts_size) + px(12);
    out += draw_rect({x, base - px(12), width, px(16)}, R"(rx="3" fill="#1a1a1a")");
    out += draw_text({x + px(6), base}, word, fmt::format(R"(font-size="{}" fill="#ffffff")", facts_size));
    x += width + px(10);
  }
  const std::string line = joined(facts(panel, reference, ranked_by, chart.axis), " | ");
  out += draw_text({x, base}, fit_text(line, facts_size, chart.plot.right() - x),
                   fmt::format(R"(font-size="{}" fill="#333333")", facts_size));
  return draw_group(R"(class="panel")", out);
}

/// A torn edge at the axis end of a truncated run.
std::string draw_cut(const Chart& chart) {
  if (chart.report.makespan <= chart.axis) return {};
  std::string zigzag;
  const Px right = chart.plot.right();
  add(zigzag, "M{} {}", right + px(1), chart.plot.y - px(1));
  bool inwards = true;
  for (Px y = chart.plot.y + px(4); y < chart.plot.bottom() + px(6); y += px(5), inwards = !inwards)
    add(zigzag, "L{} {}", inwards ? right - px(4) : right + px(1), std::min(y, chart.plot.bottom() + px(1)));
  return draw_path(R"(class="cut" fill="#ffffff")",
                   fmt::format("{}H{}V{}z", zigzag, right + px(3), chart.plot.y - px(1))) +
         draw_path(R"(class="cut" fill="none" stroke="#4d4d4d" stroke-width="0.8")", zigzag);
}

/// A line through all charts at the end of the reference run.
std::string draw_reference_line(const Chart& chart, const Panel& reference, Px top, Px bottom) {
  if (reference.report.makespan == Duration{0}) return {};
  const Px x = chart.x_at(SimTime{reference.report.makespan});
  const std::string line = fmt::format("M{} {}V{}", x, top, bottom);
  constexpr std::string_view look =
      R"(class="reference" fill="none" stroke="{}" stroke-width="{}" {} pointer-events="none")";
  return draw_path(fmt::format(look, "#ffffff", "3", R"(stroke-opacity="0.7")"), line) +
         draw_path(fmt::format(look, "#b2182b", "1.2", R"(stroke-dasharray="5 3")"), line);
}

Headline headline_of(const Comparison& comparison, std::span<const Panel> panels) {
  Headline head;
  head.title = comparison.title.empty() ? counted(panels.size(), "schedule") + " on one time axis" : comparison.title;
  head.essentials = {"p = " + counted(comparison.stages, "stage"),
                     "m = " + counted(comparison.microbatches, "microbatch", "es")};
  if (comparison.stages > 1)
    head.essentials.push_back(fmt::format("transfer model: {}", ppsim::to_string(comparison.transfer_model)));
  if (comparison.memory_limit)
    head.essentials.push_back(fmt::format("memory limit: {}", format_bytes(*comparison.memory_limit)));
  if (panels.size() > 1) head.essentials.push_back("dashed line: end of " + clean_text(reference_panel(panels).name));
  head.source = comparison.source;
  return head;
}

} // namespace

std::string svg_comparison(const Comparison& comparison, std::span<const Panel> panels) {
  if (panels.empty()) return document("nothing to compare", px(200), px(32), "");
  const ChartFrame frame = frame_for(panels);
  const Panel& reference = reference_panel(panels);
  std::vector<Chart> charts;
  charts.reserve(panels.size());
  for (const Panel& panel : panels) charts.emplace_back(panel.graph, panel.timeline, panel.report, frame);

  const Part head = draw_head(headline_of(comparison, panels), charts.front().width);
  Px bottom = head.bottom;
  std::string body;
  LegendItems drawn;
  for (std::size_t i = 0; i < charts.size(); ++i) {
    Chart& chart = charts[i];
    chart.plot.y = bottom + panel_head_height;
    body += draw_panel_head(chart, panels[i], reference, comparison.ranked_by);
    body += draw_rows(chart, draw_grid(chart), drawn) + draw_cut(chart) + draw_stage_labels(chart);
    bottom = chart.plot.bottom() + panel_gap;
  }
  const Chart& last = charts.back();
  const auto chunks = [](const Chart& chart) { return chart.palette.local_chunks(); };
  const Chart& most = *std::ranges::max_element(charts, {}, chunks);
  drawn.palettes_differ = chunks(most) != chunks(*std::ranges::min_element(charts, {}, chunks));
  body += draw_time_axis(last);
  if (panels.size() > 1) body += draw_reference_line(last, reference, head.bottom + px(2), last.plot.bottom() + px(8));
  const Part legend = draw_legend(most, drawn, last.plot.bottom() + axis_height);
  return document(counted(panels.size(), "schedule") + " compared", last.width, legend.bottom,
                  hatch_definitions(drawn.labels) + head.elements + body + legend.elements);
}

} // namespace ppsim::viz
