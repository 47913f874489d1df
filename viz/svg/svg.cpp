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

#include "ppsim/base/words.hpp"
#include "ppsim/study/run_report.hpp"

#include "svg_draw.hpp"
#include "svg_text.hpp"

namespace ppsim::viz {

namespace {

std::string document_title(const Chart& chart) {
  const Shape& shape = chart.graph.schedule().shape();
  return fmt::format("{}: {} stages, {} microbatches{}", chart.graph.schedule().name(), shape.stages,
                     shape.microbatches, chart.report.measured.empty() ? "" : ", measured");
}

Headline headline_of(const Chart& chart) {
  const Scenario& scenario = chart.graph.scenario();
  const std::string& measured = chart.report.measured;
  return {(scenario.title.empty() ? chart.graph.headline() : scenario.title) + (measured.empty() ? "" : ", measured"),
          run_essentials(chart.graph, chart.report), scenario.source, measured};
}

std::string draw_ground(const Chart& chart) {
  std::string out;
  if (chart.report.makespan.count() == 0)
    out = draw_text({chart.plot.middle_x(), base_line(chart.plot.middle_y(), essentials_size)},
                    "every task takes no time",
                    fmt::format(R"(font-size="{}" fill="#595959" text-anchor="middle")", essentials_size));
  return out + draw_grid(chart);
}

} // namespace

std::vector<std::string> run_essentials(const TaskGraph& graph, const RunReport& report) {
  const Scenario& scenario = graph.scenario();
  const Shape& shape = graph.schedule().shape();
  std::vector<std::string> parts;
  if (!scenario.title.empty()) parts.push_back(clean_text(graph.schedule().name()));
  parts.push_back("p = " + counted(shape.stages, "stage"));
  if (shape.shared > 0) parts.push_back("sharing " + counted(shape.positions(), "position"));
  parts.push_back("m = " + counted(shape.microbatches, "microbatch", "es"));
  // where each direction has its own copy of the model, a stage runs more chunks than v
  const std::size_t held = HeldChunks{graph.schedule()}.most();
  parts.push_back((held == shape.vpp ? "v = " : "") + counted(held, "chunk") + " per stage");
  if (shape.stages > 1 && report.measured.empty())
    parts.push_back(fmt::format("transfer model: {}{}", ppsim::to_string(scenario.network.model),
                                scenario.network.is_free() ? ", no cost" : ""));
  const bool alone = graph.schedule().asynchronous() && !report.measured.empty();
  parts.push_back(fmt::format("{}: {}{}", alone ? "one step alone" : "step time", format_duration(report.step_time),
                              report.step_time_kind == StepTime::Kind::steady_state ? " in steady state" : ""));
  parts.push_back(fmt::format("bubble ratio (idle / total): {:.4f}", report.bubble_ratio));
  return parts;
}

std::string svg_gantt(const TaskGraph& graph, const Timeline& timeline, const RunReport& report, MemoryLanes memory) {
  Chart chart{graph, timeline, report, own_frame(graph, timeline, report)};
  std::optional<MemoryPlot> lanes;
  if (memory == MemoryLanes::shown) {
    lanes = memory_plot(chart);
    chart.width = std::max(chart.width, lanes->width);
  }
  const Part head = draw_head(headline_of(chart), chart.width);
  chart.plot.y = head.bottom;
  LegendItems drawn;
  const std::string axis = lanes ? "" : draw_time_axis(chart);
  const std::string rows = draw_rows(chart, draw_ground(chart) + axis + draw_stage_labels(chart), drawn);
  Part below{"", chart.plot.bottom() + axis_height};
  if (lanes) below = draw_memory(chart, *lanes, chart.plot.bottom(), drawn);
  const Part legend = draw_legend(chart, drawn, below.bottom);
  return document(document_title(chart), chart.width, legend.bottom,
                  hatch_definitions(drawn.labels) + (drawn.memory.has_overflow ? over_limit_definition() : "") +
                      head.elements + rows + below.elements + legend.elements);
}

} // namespace ppsim::viz
