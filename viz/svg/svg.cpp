// A Gantt chart as SVG.
//
// How to read it: a row per stage, time from left to right, a cell per task with its microbatch's number where that
// fits. Hue tells the pass, lightness the chunk; forwards are always darker than backwards, and the halves of a split
// backward carry a bar (I above, W below), so that print in grey reads as well. An overlapped pair is one cell cut into
// its two halves. Idle time is hatched by the cause that the report gives it. Outlined cells and the lines between them
// are the critical path.
//
//   1f1b                                                   (title, then the essentials)
//   0 [0][1][2][3]////////[ 0 ][4][ 1 ][5]...              / warm-up, = waiting for the chunk after,
//   1 ///[0][1][2]=====[ 0 ][3][ 1 ][4][ 2 ]...            \ drain
//   2 //////[0][1]==[ 0 ][2][ 1 ][3][ 2 ]...
//     |        |        |        |                         (round ticks)
//     0        5       10       15    time (ms)
//
// Charts with more tasks than pixels show shares of time per column instead of cells; see svg_shares.cpp. The size of a
// document stays below 3 MB whatever the input.

#include "ppsim/viz/svg.hpp"

#include "ppsim/study/run_report.hpp"

#include "svg_draw.hpp"

namespace ppsim::viz {

namespace {

std::string document_title(const Chart& chart) {
  const Shape& shape = chart.graph.schedule().shape();
  return fmt::format("{}: {} stages, {} microbatches{}", chart.graph.schedule().name(), shape.stages,
                     shape.microbatches, chart.report.measured.empty() ? "" : ", measured");
}

/// Back to front: the grid shows through waits but not through cells, and transfers pass below cells.
std::string draw_rows(const Chart& chart, Drawn& drawn) {
  std::string out;
  if (chart.detail == Detail::shares) {
    out += draw_axes(chart);
    out += draw_shares(chart, drawn);
    return out += draw_critical_path(chart, drawn);
  }
  out += draw_idle(chart, drawn);
  out += draw_axes(chart);
  if (chart.transfers) out += draw_transfers(chart, drawn);
  out += draw_cells(chart, drawn);
  out += draw_critical_path(chart, drawn);
  return out += draw_numbers(chart, drawn);
}

} // namespace

std::string svg_gantt(const TaskGraph& graph, const Timeline& timeline, const RunReport& report) {
  Chart chart{graph, timeline, report};
  Px head_height;
  const std::string head = draw_head(chart, head_height);
  chart.place_plot(head_height);

  Drawn drawn;
  const std::string body = draw_rows(chart, drawn);
  const Px legend_top = chart.plot.bottom() + axis_height;
  Px legend_height;
  const std::string legend = draw_legend(chart, drawn, legend_top, legend_height);

  std::string out = svg_opening(chart.width, legend_top + legend_height + bottom_margin, document_title(chart));
  out += hatch_definitions(drawn.labels);
  out += head;
  out += body;
  out += legend;
  return out += "</svg>\n";
}

} // namespace ppsim::viz
