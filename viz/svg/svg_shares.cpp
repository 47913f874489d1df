// Cells too narrow or too many to draw: each row is cut into columns, and each column shows from top to bottom which
// share of its time went to F, B, I, W, recomputation and to waiting. Areas stay true to time, and nothing flickers
// as it would if each column showed only its longest task.

#include "svg_draw.hpp"

namespace ppsim::viz {

namespace {

constexpr std::size_t recompute_slot = pass_count;
constexpr std::size_t optimizer_slot = pass_count + 1;
constexpr std::size_t idle_slot = pass_count + 2;
constexpr std::size_t slot_count = pass_count + 3;
constexpr std::size_t most_kinds = std::max(most_shades, label_count - first_idle_label);

/// Path data by slot and kind.
using Paths = std::array<std::array<std::string, most_kinds>, slot_count>;

/// Time of one column: by slot (a pass, recomputation, the optimizer, or idle), then by kind (shade of the chunk, or
/// idle label).
using Column = std::array<std::array<std::int64_t, most_kinds>, slot_count>;

/// A stretch of equal columns of one slot that is being collected.
struct Run {
  std::size_t kind = 0;
  Box box; ///< no height: nothing is being collected
};

std::int64_t shown_time(const Chart& chart) {
  return chart.shown_end().time_since_epoch().count();
}

Px shown_width(const Chart& chart) {
  return chart.x_at(chart.shown_end()) - chart.plot.x;
}

/// The columns of one row of the chart.
class ShareRow {
public:
  ShareRow(const Chart& chart, std::size_t columns) : chart_{&chart}, columns_(columns) {}
  void add(const LabelledSpan& span);
  /// Adds the row's rectangles; `row` says where it stands.
  void draw(std::size_t row, Paths& paths) const;

private:
  [[nodiscard]] std::int64_t start_of(std::size_t column) const {
    const std::int64_t shown = shown_time(*chart_);
    const auto at = static_cast<std::int64_t>(column);
    const auto all = static_cast<std::int64_t>(columns_.size());
    return shown / all * at + shown % all * at / all;
  }
  void add_task(TaskId id, std::size_t column, std::int64_t time) {
    const Task& task = chart_->graph.schedule().task(id);
    columns_[column][static_cast<std::size_t>(task.pass)][chart_->shade_of(task)] += time;
  }
  const Chart* chart_;
  std::vector<Column> columns_;
};

void ShareRow::add(const LabelledSpan& span) {
  std::int64_t at = span.span.start.time_since_epoch().count();
  const std::int64_t shown = shown_time(*chart_);
  const std::int64_t end = std::min(span.span.end.time_since_epoch().count(), shown);
  if (at >= end) return;
  // A guess that is never too late, then the few steps to the column that holds the start.
  auto column =
      static_cast<std::size_t>(share_of(at, shown, Px{static_cast<std::int64_t>(columns_.size())}).hundredths);
  column = std::min(column == 0 ? 0 : column - 1, columns_.size() - 1);
  while (column + 1 < columns_.size() && start_of(column + 1) <= at) ++column;
  for (; at < end && column < columns_.size(); ++column) {
    const std::int64_t time = std::min(end, start_of(column + 1)) - at;
    at += time;
    if (is_idle(span.label)) {
      columns_[column][idle_slot][static_cast<std::size_t>(span.label) - first_idle_label] += time;
    } else if (span.label == Label::recompute) {
      columns_[column][recompute_slot][0] += time;
    } else if (span.label == Label::optimizer) {
      columns_[column][optimizer_slot][0] += time;
    } else if (span.label == Label::overlap) {
      add_task(span.task, column, time / 2);
      add_task(make_id<TaskId>(index(span.task) + 1), column, time - time / 2);
    } else {
      add_task(span.task, column, time);
    }
  }
}

void flush(Run& run, std::array<std::string, most_kinds>& paths) {
  if (run.box.height > Px{} && run.box.width > Px{}) add_box_path(paths[run.kind], run.box);
  run.box.height = Px{};
}

void ShareRow::draw(std::size_t row, Paths& paths) const {
  std::array<Run, slot_count> runs;
  const auto all = static_cast<std::int64_t>(columns_.size());
  const Px width = shown_width(*chart_);
  const Px top = chart_->plot.y + chart_->pitch * static_cast<std::int64_t>(row);
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    const Px left = chart_->plot.x + width * static_cast<std::int64_t>(column) / all;
    const Px right = chart_->plot.x + width * static_cast<std::int64_t>(column + 1) / all;
    std::int64_t total = 0;
    for (const auto& slot : columns_[column])
      for (const std::int64_t time : slot) total += time;
    std::int64_t above = 0;
    for (std::size_t slot = 0; slot < slot_count; ++slot) {
      const auto& kinds = columns_[column][slot];
      const auto kind = static_cast<std::size_t>(std::max_element(kinds.begin(), kinds.end()) - kinds.begin());
      const Px from = share_of(above, total, chart_->bar);
      for (const std::int64_t time : kinds) above += time;
      const Px to = share_of(above, total, chart_->bar);
      Run& run = runs[slot];
      if (run.kind == kind && run.box.y == top + from && run.box.height == to - from) {
        run.box.width = right - run.box.x;
        continue;
      }
      flush(run, paths[slot]);
      run = {kind, {left, top + from, right - left, to - from}};
    }
  }
  for (std::size_t slot = 0; slot < slot_count; ++slot) flush(runs[slot], paths[slot]);
}

/// Columns are at least two pixels wide and hold about eight tasks of a stage: shares of less would jump from column to
/// column.
std::size_t column_count(const Chart& chart) {
  const std::int64_t pixels = std::max<std::int64_t>(shown_width(chart).hundredths / 100, 2);
  const auto most = static_cast<std::int64_t>(chart.most_columns);
  const std::int64_t bounded = (pixels * static_cast<std::int64_t>(chart.rows) + most - 1) / most;
  const std::int64_t smooth = std::min<std::int64_t>(chart.mean_cell.hundredths * 8 / 100, 16);
  const std::int64_t column = std::max({bounded, smooth, std::int64_t{2}});
  return static_cast<std::size_t>(std::min(pixels / column, shown_time(chart))); // of a nanosecond or more
}

/// The label that a slot and kind stand for.
Label label_of(std::size_t slot, std::size_t kind) {
  if (slot == idle_slot) return label_at(first_idle_label + kind);
  if (slot == recompute_slot) return Label::recompute;
  return slot == optimizer_slot ? Label::optimizer : label_at(slot);
}

std::string fill_of(const Chart& chart, std::size_t slot, std::size_t kind) {
  if (slot == idle_slot || slot == recompute_slot) return hatch_fill(label_of(slot, kind));
  return to_string(slot == optimizer_slot ? optimizer_fill : chart.palette.fill(static_cast<Pass>(slot), kind));
}

std::string draw_paths(const Chart& chart, const Paths& paths, LegendItems& drawn) {
  std::string out;
  for (std::size_t slot = 0; slot < slot_count; ++slot)
    for (std::size_t kind = 0; kind < most_kinds; ++kind) {
      if (paths[slot][kind].empty()) continue;
      drawn.labels.set(static_cast<std::size_t>(label_of(slot, kind)));
      out += draw_path(
          fmt::format(R"(class="{}" fill="{}")", slot == idle_slot ? "idle" : "cells", fill_of(chart, slot, kind)),
          paths[slot][kind]);
    }
  return out;
}

} // namespace

std::string draw_shares(const Chart& chart, LegendItems& drawn) {
  if (chart.report.makespan.count() == 0) return {};
  Paths paths;
  const std::size_t columns = column_count(chart);
  for (std::size_t row = 0; row < chart.rows; ++row) {
    ShareRow shares{chart, columns};
    const std::size_t last = std::min((row + 1) * chart.stages_per_row, chart.stages());
    for (std::size_t s = row * chart.stages_per_row; s < last; ++s)
      for (const LabelledSpan& span : account(chart.graph, chart.timeline, make_id<StageId>(s), chart.end()))
        shares.add(span);
    shares.draw(row, paths);
  }

  return draw_paths(chart, paths, drawn);
}

} // namespace ppsim::viz
