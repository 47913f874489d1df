#include "svg_layout.hpp"

#include "ppsim/study/run_report.hpp"

#include "svg_text.hpp"

namespace ppsim::viz {

namespace {

// Bounds that keep the document below 3 MB and every mark visible.
constexpr std::size_t most_cells = 12'288;
constexpr std::size_t most_cell_rows = 256;
constexpr std::size_t most_share_rows = 128;
constexpr std::size_t most_tooltips = 4'096;
constexpr std::ptrdiff_t most_transfers = 256;
constexpr Px least_outlined_cell = px(6);
constexpr Px least_cell_with_transfer = px(12);

constexpr Px least_plot_width = px(880);
constexpr Px most_plot_width = px(1'600);
constexpr std::int64_t good_cell_pixels = 24;
constexpr Px right_of_plot = px(34);

/// With bidirectional placement a chunk has the same index on both of its stages.
std::vector<std::uint16_t> local_indices(const Schedule& schedule) {
  std::vector<std::uint16_t> local(schedule.shape().chunks());
  for (const StageId stage : schedule.stage_ids()) {
    std::uint16_t next = 0;
    for (const std::uint16_t chunk : chunks_of(schedule, stage)) local[chunk] = next++;
  }
  return local;
}

std::size_t most_local_chunks(const std::vector<std::uint16_t>& local) {
  return local.empty() ? 1 : std::size_t{*std::max_element(local.begin(), local.end())} + 1;
}

/// Mean length of a task, at least one nanosecond. Divides before adding, so the sum stays in range.
std::int64_t mean_task(const RunReport& report, std::size_t task_count) {
  const auto tasks = static_cast<std::int64_t>(std::max<std::size_t>(task_count, 1));
  std::int64_t whole = 0;
  std::int64_t rest = 0;
  for (const StageReport& stage : report.stages) {
    whole += stage.busy.count() / tasks;
    rest += stage.busy.count() % tasks;
  }
  return std::max<std::int64_t>(whole + rest / tasks, 1);
}

bool are_few(const std::vector<Span>& transfers) {
  const auto count = std::ranges::count_if(
      transfers, [](Duration length) { return length > Duration{0}; }, &Span::length);
  return count > 0 && count <= most_transfers;
}

/// Distance from row to row in whole pixels: wide for few rows, limited to about two screens in total.
std::int64_t pitch_pixels(std::size_t rows, bool transfers) {
  const std::int64_t roomy = transfers ? 44 : 36;
  return std::clamp<std::int64_t>(800 / static_cast<std::int64_t>(rows), 3, roomy);
}

/// White space between rows; transfers must stay visible in it.
std::int64_t gap_pixels(std::int64_t pitch, bool transfers) {
  if (transfers) return pitch * 4 / 11;
  return pitch >= 20 ? 6 : pitch >= 10 ? 2 : pitch >= 6 ? 1 : 0;
}

} // namespace

Px wanted_plot_width(const RunReport& report, std::size_t tasks, Duration axis) {
  const std::int64_t slots = std::min<std::int64_t>(axis.count() / mean_task(report, tasks), 10'000);
  return std::clamp(px(slots * good_cell_pixels), least_plot_width, most_plot_width);
}

Px mean_cell_width(const RunReport& report, std::size_t tasks, Duration axis, Px plot_width) {
  return axis.count() == 0 ? plot_width : share_of(mean_task(report, tasks), axis.count(), plot_width);
}

ChartFrame own_frame(const TaskGraph& graph, const Timeline& timeline, const RunReport& report) {
  ChartFrame frame;
  frame.axis = report.makespan;
  frame.plot_width = wanted_plot_width(report, graph.size(), frame.axis);
  const std::size_t stages = graph.schedule().shape().stages;
  const Px mean_cell = mean_cell_width(report, graph.size(), frame.axis, frame.plot_width);
  const bool fits = graph.size() <= most_cells && stages <= most_cell_rows && mean_cell >= least_mean_cell;
  frame.detail = fits ? Detail::cells : Detail::shares;
  if (!fits) frame.share_rows(stages, most_share_rows);
  frame.tooltips = fits && graph.size() <= most_tooltips;
  frame.numbers = true;
  frame.transfers = fits && mean_cell >= least_cell_with_transfer && are_few(timeline.transfers);
  frame.path = fits && mean_cell >= least_outlined_cell ? PathStyle::outline : PathStyle::line;
  frame.pitch = px(pitch_pixels(frame.rows_of(stages), frame.transfers));
  return frame;
}

Chart::Chart(const TaskGraph& the_graph, const Timeline& the_timeline, const RunReport& the_report,
             const ChartFrame& frame)
    : ChartFrame{frame}, graph{the_graph}, timeline{the_timeline}, report{the_report},
      local_chunk{local_indices(graph.schedule())}, palette{most_local_chunks(local_chunk)}, rows{rows_of(stages())},
      mean_cell{mean_cell_width(report, graph.size(), axis, plot_width)},
      bar{pitch - px(gap_pixels(pitch.hundredths / 100, transfers))} {
  plot.x = px(46) + text_width(fmt::format("{}", stages()), px(11)); // the labels of the stages
  plot.width = plot_width;
  plot.height = pitch * static_cast<std::int64_t>(rows) - (pitch - bar);
  width = plot.x + plot.width + right_of_plot;
}

Box Chart::bar_box(std::size_t row, const Span& span) const {
  const Px left = x_at(span.start);
  return {left, plot.y + pitch * static_cast<std::int64_t>(row), x_at(span.end) - left, bar};
}

bool Chart::shares_its_time(TaskId id) const {
  const Task& task = graph.schedule().task(id);
  if (task.pairing == Pairing::alone) return false;
  const std::size_t other = task.pairing == Pairing::first ? index(id) + 1 : index(id) - 1;
  return timeline.tasks[other] == timeline.tasks[index(id)];
}

Box Chart::recompute_box(TaskId id, StageId stage) const {
  return bar_box(row_of(stage), recompute_span(graph, timeline, id));
}

Box Chart::cell_box(TaskId id, StageId stage) const {
  Box box = bar_box(row_of(stage), timeline.tasks[index(id)]);
  if (!shares_its_time(id)) return box;
  const Px upper = box.height / 2;
  if (graph.schedule().task(id).pass == Pass::forward) return {box.x, box.y, box.width, upper};
  return {box.x, box.y + upper, box.width, box.height - upper};
}

} // namespace ppsim::viz
