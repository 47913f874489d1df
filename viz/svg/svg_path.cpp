// Lines between cells: transfers, and the critical path.

#include "svg_draw.hpp"

namespace ppsim::viz {

namespace {

/// Points where a transfer leaves one row and reaches another.
struct Link {
  Point from, to;
};

/// Start of a line to another row: the lower edge if the other row is below.
Px edge_towards(const Chart& chart, std::size_t row, std::size_t other) {
  const Box bar = chart.bar_box(row, {});
  return other > row ? bar.bottom() : bar.y;
}

Link link_between(const Chart& chart, const Span& span, std::size_t from, std::size_t to) {
  return {{chart.x_at(span.start), edge_towards(chart, from, to)},
          {chart.x_at(span.end), edge_towards(chart, to, from)}};
}

Px row_middle(const Chart& chart, std::size_t row) {
  return chart.bar_box(row, {}).middle_y();
}

/// Follows the critical path and collects its outlines, for cells large enough to outline.
class OutlinedPath {
public:
  explicit OutlinedPath(const Chart& chart) : chart_{&chart} {}
  void add_task(TaskId id) {
    const StageId stage = chart_->graph.schedule().stage_of(id);
    add_cell(chart_->cell_box(id, stage), chart_->row_of(stage), chart_->timeline.tasks[index(id)].start);
  }
  /// An optimizer step, or a reduction: the part of its row that contains its bar.
  void add_update(const PathStep& step) {
    const Span span = span_of(chart_->timeline, step);
    const std::size_t row = chart_->row_of(stage_of(chart_->graph, chart_->timeline, step));
    add_cell(chart_->bar_box(row, span), row, span.start);
  }
  void add_cell(const Box& cell, std::size_t row, SimTime start) {
    if (outline_ && !after_transfer_ && row != row_) add_link(link_between(*chart_, {start, start}, row_, row));
    // Cells that follow each other without a pause share one outline.
    const bool joins = outline_ && row == row_ && cell.y == outline_->y && cell.height == outline_->height &&
                       cell.x == outline_->right();
    if (joins) {
      outline_->width += cell.width;
    } else {
      end_outline();
      outline_ = cell;
    }
    after_transfer_ = false;
    row_ = row;
  }
  void add_transfer(const PathStep& step) {
    const TaskId sender = step.task;
    const std::optional<TaskId> receiver = chart_->graph.receiver(sender);
    if (!receiver) return;
    const Schedule& schedule = chart_->graph.schedule();
    add_link(link_between(*chart_, span_of(chart_->timeline, step), chart_->row_of(schedule.stage_of(sender)),
                          chart_->row_of(schedule.stage_of(*receiver))));
    after_transfer_ = true;
  }
  [[nodiscard]] std::string draw() {
    end_outline();
    std::string out;
    if (!links_.empty())
      out = draw_path(R"(stroke="#ffffff" stroke-width="4")", links_) +
            draw_path(R"(stroke="#000000" stroke-width="1.8")", links_);
    return draw_group(R"(class="critical-path" fill="none" pointer-events="none")",
                      out + draw_path(R"(stroke="#000000" stroke-width="1.8")", outlines_));
  }

private:
  void add_link(const Link& link) { add(links_, "M{} {}L{} {}", link.from.x, link.from.y, link.to.x, link.to.y); }
  void end_outline() {
    if (outline_) add_box_path(outlines_, *outline_);
  }
  const Chart* chart_;
  std::string links_, outlines_;
  std::optional<Box> outline_; ///< of the cells that are being joined
  std::size_t row_ = 0;
  bool after_transfer_ = false;
};

/// A line through many points, without those that would move it by less than half a pixel.
class ThinnedLine {
public:
  void add_point(const Point& point) {
    if (!data_.empty() && point.x - last_.x < Px{50}) {
      waiting_ = point;
      return;
    }
    finish();
    emit(point);
  }
  /// Keeps the exact point at the end and at each turn.
  void finish() {
    if (waiting_) emit(*waiting_);
    waiting_.reset();
  }
  [[nodiscard]] const std::string& data() const { return data_; }
  /// Number of turns between upwards and downwards.
  [[nodiscard]] std::int64_t turns() const { return turns_; }

private:
  void emit(const Point& point) {
    const bool down = point.y > last_.y;
    if (!data_.empty() && point.y != last_.y) {
      turns_ += down == down_ ? 0 : 1;
      down_ = down;
    }
    add(data_, "{}{} {}", data_.empty() ? 'M' : 'L', point.x, point.y);
    last_ = point;
  }
  std::string data_;
  Point last_;
  std::optional<Point> waiting_;
  std::int64_t turns_ = 0;
  bool down_ = true;
};

/// Start and end of a step of the critical path.
Link path_link(const Chart& chart, const PathStep& step) {
  const Schedule& schedule = chart.graph.schedule();
  const std::optional<TaskId> receiver = step.is_transfer() ? chart.graph.receiver(step.task) : std::nullopt;
  const Span span = span_of(chart.timeline, step);
  const std::size_t from = chart.row_of(stage_of(chart.graph, chart.timeline, step));
  const std::size_t to = receiver ? chart.row_of(schedule.stage_of(*receiver)) : from;
  return {{chart.x_at(span.start), row_middle(chart, from)}, {chart.x_at(span.end), row_middle(chart, to)}};
}

std::string draw_path_line(const Chart& chart) {
  ThinnedLine line;
  for (const PathStep& step : chart.report.critical_path) {
    const Link link = path_link(chart, step);
    line.add_point(link.from);
    line.add_point(link.to);
  }
  line.finish();
  std::string out;
  if (px(line.turns() * 6) > chart.plot.width) // with so many turns, a full line would be a black area
    out = draw_path(R"(stroke="#000000" stroke-width="0.8" stroke-opacity="0.6")", line.data());
  else
    out = draw_path(R"(stroke="#ffffff" stroke-width="2.8")", line.data()) +
          draw_path(R"(stroke="#000000" stroke-width="1.2")", line.data());
  return draw_group(R"(class="critical-path" fill="none" stroke-linejoin="round" pointer-events="none")", out);
}

} // namespace

std::string draw_transfers(const Chart& chart, LegendItems& drawn) {
  const Schedule& schedule = chart.graph.schedule();
  std::string lines;
  std::string heads;
  for (std::size_t i = 0; i < chart.graph.size(); ++i) {
    const Span& span = chart.timeline.transfers[i];
    const std::optional<TaskId> receiver = chart.graph.receiver(make_id<TaskId>(i));
    if (span.length().count() <= 0 || !receiver) continue;
    const std::size_t from = chart.row_of(schedule.stage_of(make_id<TaskId>(i)));
    const std::size_t to = chart.row_of(schedule.stage_of(*receiver));
    const Link link = link_between(chart, span, from, to);
    add(lines, "M{} {}L{} {}", link.from.x, link.from.y, link.to.x, link.to.y);
    // The arrow head is upright at the receiver: the gap between rows is too low for a rotated one.
    const Px back = to > from ? px(-4) : px(4);
    add(heads, "M{} {}l{} {}h{}z", link.to.x, link.to.y, Px{-180}, back, Px{360});
  }
  if (lines.empty()) return {};
  drawn.transfers = true;
  return draw_group(R"(class="transfers" pointer-events="none")",
                    draw_path(R"(fill="none" stroke="#6b6b6b" stroke-width="0.7")", lines) +
                        draw_path(R"(fill="#6b6b6b")", heads));
}

std::string draw_critical_path(const Chart& chart, LegendItems& drawn) {
  if (!chart.path || chart.report.critical_path.empty()) return {};
  drawn.critical_path = true;
  if (chart.path == PathStyle::line) return draw_path_line(chart);
  OutlinedPath path{chart};
  for (const PathStep& step : chart.report.critical_path) {
    if (step.is_transfer())
      path.add_transfer(step);
    else if (step.is_update())
      path.add_update(step);
    else
      path.add_task(step.task);
  }
  return path.draw();
}

} // namespace ppsim::viz
