// Memory over time below a Gantt chart, on its time axis: a lane per stage, all on one scale.
//
//   memory by stage (GiB) | limit 24 GiB: exceeded on stage 0     peak
//     |        |  ,---x  |        |        |         20
//   0 |     ,--'XX|XX XXX`--.     |        |         10     28 GiB
//     |_____|_____|_________|_____|________|________  0     at 9 ms
//
// From the bottom: static memory, then activations; a dashed line for the limit, hatching above it, and a dot at the
// first peak. The scale starts at zero, so heights compare across stages. If there are more stages than lanes, some are
// shown; the line above names them and summarises the others.

#include "ppsim/base/words.hpp"

#include "svg_draw.hpp"
#include "svg_text.hpp"
#include "ticks.hpp"
#include "words/figures.hpp"

namespace ppsim::viz {

namespace {

constexpr std::size_t most_lanes = 16;
constexpr std::int64_t height_of_all_lanes = 576; // pixels
constexpr Px lane_gap = px(10);
constexpr Px head_height = px(38);
constexpr Px column_width = px(2); ///< changes closer to each other are drawn as the highest; bounds the document
constexpr Px tick_size = px(9);
constexpr Px least_memory_tick_distance = px(13);
constexpr Px tick_length = px(4);
constexpr Px figure_gap = px(14);
/// A limit beyond this multiple of the highest peak would flatten all curves; it is then written, not drawn.
constexpr std::int64_t farthest_limit = 2;

std::int64_t value_of(const MemoryPlot& plot, const MemoryPoint& point) {
  return plot.counts ? static_cast<std::int64_t>(point.live) : point.bytes.count();
}

std::int64_t peak_of(const MemoryPlot& plot, const StageReport& stage) {
  return plot.counts ? static_cast<std::int64_t>(stage.peak_live_activations) : stage.peak_bytes().count();
}

/// Whether the activations have a peak; without activation sizes, all memory is constant.
bool has_peak_time(const MemoryPlot& plot, const StageReport& stage) {
  return plot.counts || stage.peak_activation_bytes > Bytes{};
}

std::string amount(const MemoryPlot& plot, std::int64_t value) {
  return plot.counts ? std::to_string(value) : format_bytes(Bytes{value});
}

std::string peak_time(const StageReport& stage) {
  return "at " + format_duration(stage.peak_at.time_since_epoch());
}

bool exceeds(const MemoryPlot& plot, std::int64_t value) {
  return plot.limit && value > *plot.limit;
}

std::vector<std::size_t> stages_over_limit(const Chart& chart, const MemoryPlot& plot) {
  std::vector<std::size_t> over;
  for (std::size_t stage = 0; stage < chart.stages(); ++stage)
    if (exceeds(plot, peak_of(plot, chart.report.stages[stage]))) over.push_back(stage);
  return over;
}

/// All stages, or as many as there are lanes: evenly spaced, with the stage of the highest peak in place of its
/// neighbour.
std::vector<std::size_t> stages_with_lanes(const Chart& chart, const MemoryPlot& plot) {
  const std::size_t lanes = std::min(chart.stages(), most_lanes);
  std::vector<std::size_t> shown;
  for (std::size_t lane = 0; lane < lanes; ++lane)
    shown.push_back(lanes == 1 ? 0 : lane * (chart.stages() - 1) / (lanes - 1));
  const auto distance = [highest = plot.highest](std::size_t s) { return s < highest ? highest - s : s - highest; };
  *std::ranges::min_element(shown, {}, distance) = plot.highest;
  return shown;
}

/// A curve that keeps each value until the next position.
struct Step {
  Px x;
  std::int64_t value;
};

/// Merges changes within a column of pixels into the highest value, so no peak is lost.
class StepCurve {
public:
  void add(Px x, std::int64_t value) {
    if (!steps_.empty() && x >= column_end_ && now_ != steps_.back().value) start(column_end_, now_);
    if (steps_.empty() || x >= column_end_)
      start(x, value);
    else
      steps_.back().value = std::max(steps_.back().value, value);
    now_ = value;
  }
  /// The steps up to `right`.
  [[nodiscard]] std::vector<Step> finish(Px right) {
    if (now_ != steps_.back().value && column_end_ < right) start(column_end_, now_);
    while (steps_.size() > 1 && steps_.back().x >= right) steps_.pop_back(); // the end of the last task
    steps_.push_back({right, now_});
    return std::move(steps_);
  }

private:
  void start(Px x, std::int64_t value) {
    steps_.push_back({x, value});
    column_end_ = x + column_width;
  }
  std::vector<Step> steps_;
  Px column_end_;
  std::int64_t now_ = 0;
};

std::vector<Step> steps_of(const Chart& chart, const MemoryPlot& plot, const std::vector<MemoryPoint>& points) {
  StepCurve curve;
  for (const MemoryPoint& point : points) curve.add(chart.x_at(point.at), value_of(plot, point));
  return curve.finish(chart.x_at(chart.shown_end()));
}

/// Position of a lane, and of values in it.
struct Lane {
  Box box;
  std::int64_t top;
  [[nodiscard]] Px y_at(std::int64_t value) const { return box.bottom() - share_of(value, top, box.height); }
};

/// Closed areas between the curve and a floor, where the curve is above the floor.
std::string area_above(const Lane& lane, const std::vector<Step>& steps, std::int64_t floor) {
  std::string data;
  bool open = false;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    if (steps[i].value <= floor) continue;
    if (!open) add(data, "M{} {}", steps[i].x, lane.y_at(floor));
    add(data, "V{}H{}", lane.y_at(steps[i].value), steps[i + 1].x);
    open = i + 2 < steps.size() && steps[i + 1].value > floor;
    if (!open) add(data, "V{}z", lane.y_at(floor));
  }
  return data;
}

std::string lane_tooltip(const Chart& chart, const MemoryPlot& plot, std::size_t stage) {
  const StageReport& report = chart.report.stages[stage];
  if (plot.counts)
    return fmt::format("stage {}: at most {} {}", stage, counted(report.peak_live_activations, "live activation"),
                       peak_time(report));
  std::string text = fmt::format("stage {}: {} always", stage, format_bytes(report.static_bytes));
  if (has_peak_time(plot, report))
    text +=
        fmt::format(", {} of activations at most, {}", format_bytes(report.peak_activation_bytes), peak_time(report));
  return text;
}

/// Background of the lane: ticks, and their labels at the right.
std::string draw_scale(const MemoryPlot& plot, const Lane& lane) {
  std::string lines;
  std::string labels;
  for (const AxisMark& mark : marks_at(0, plot.top, plot.ticks)) {
    const Px y = lane.y_at(mark.value);
    add(lines, "M{} {}H{}", lane.box.x, y, lane.box.right() + tick_length);
    labels += draw_text({lane.box.right() + tick_length + px(3), base_line(y, tick_size)}, mark.label);
  }
  return draw_path(R"(class="memory-grid" stroke="#d9d9d9" stroke-width="0.8")", lines) +
         draw_group(fmt::format(R"(class="memory-ticks" font-size="{}" fill="#595959")", tick_size), labels);
}

std::string draw_curve(const Chart& chart, const MemoryPlot& plot, const Lane& lane, std::size_t stage,
                       LegendItems& drawn) {
  const StageReport& report = chart.report.stages[stage];
  const std::vector<Step> steps =
      steps_of(chart, plot, memory_over_time(chart.graph, chart.timeline, make_id<StageId>(stage)));
  std::string out;
  if (const std::string data = area_above(lane, steps, 0); !data.empty())
    out += draw_path(fmt::format(R"(class="memory" fill="{0}" stroke="{1}" stroke-width="0.8")",
                                 to_string(activations_fill), to_string(memory_stroke)),
                     data);
  if (!plot.counts && report.static_bytes > Bytes{}) {
    const Px y = lane.y_at(report.static_bytes.count());
    out += draw_rect({lane.box.x, y, chart.x_at(chart.shown_end()) - lane.box.x, lane.box.bottom() - y},
                     fmt::format(R"(class="static" fill="{}")", to_string(static_fill)));
    drawn.memory.has_static = true;
  }
  if (plot.limit)
    if (const std::string data = area_above(lane, steps, *plot.limit); !data.empty()) {
      out += draw_path(fmt::format(R"svg(class="over-limit" fill="url(#{})" stroke="{}" stroke-width="0.8")svg",
                                   over_limit_hatch, to_string(mark_stroke)),
                       data);
      drawn.memory.has_overflow = true;
    }
  return out;
}

std::string draw_limit(const MemoryPlot& plot, const Lane& lane, LegendItems& drawn) {
  if (!plot.limit || *plot.limit > plot.top) return {};
  drawn.memory.has_limit = true;
  return draw_path(limit_look, fmt::format("M{} {}H{}", lane.box.x, lane.y_at(*plot.limit), lane.box.right()));
}

/// A dot at the first peak, and beside the lane its size and time.
std::string draw_peak(const Chart& chart, const MemoryPlot& plot, const Lane& lane, std::size_t stage) {
  const StageReport& report = chart.report.stages[stage];
  const std::int64_t peak = peak_of(plot, report);
  const std::string colour = exceeds(plot, peak) ? to_string(mark_stroke) : "#1a1a1a";
  const bool has_time = has_peak_time(plot, report);
  std::string out;
  if (has_time && report.peak_at <= chart.shown_end())
    add(out, "<circle class=\"peak\" cx=\"{}\" cy=\"{}\" r=\"2.8\" fill=\"{}\" stroke=\"#ffffff\"/>\n",
        chart.x_at(report.peak_at), lane.y_at(peak), colour);
  const Px line = has_time ? px(7) : Px{};
  const Px middle = lane.box.middle_y();
  out += draw_text({plot.figures_x, base_line(middle - line, label_size)}, amount(plot, peak),
                   fmt::format(R"(class="peak" fill="{}" font-weight="bold")", colour));
  if (has_time)
    out += draw_text({plot.figures_x, base_line(middle + line, label_size)}, peak_time(report),
                     R"(class="peak" fill="#333333")");
  return out;
}

std::string draw_lane(const Chart& chart, const MemoryPlot& plot, const Lane& lane, std::size_t stage,
                      LegendItems& drawn) {
  std::string out = fmt::format("<title>{}</title>\n", escaped(lane_tooltip(chart, plot, stage)));
  out += draw_scale(plot, lane) + draw_curve(chart, plot, lane, stage, drawn) + draw_limit(plot, lane, drawn) +
         draw_peak(chart, plot, lane, stage);
  out += draw_text({chart.plot.x - px(8), base_line(lane.box.middle_y(), label_size)}, std::to_string(stage),
                   R"(text-anchor="end" fill="#333333")");
  return draw_group(fmt::format(R"(class="memory-lane" font-size="{}")", label_size), out);
}

/// Quantity of the lanes, stages shown, and facts valid for all.
std::string facts(const Chart& chart, const MemoryPlot& plot) {
  std::vector<std::string> parts;
  if (!chart.report.measured.empty() && !plot.counts) parts.emplace_back("sizes as predicted, times as measured");
  if (plot.limit) {
    const std::vector<std::size_t> over = stages_over_limit(chart, plot);
    parts.push_back(fmt::format("limit {}: {}{}", format_bytes(Bytes{*plot.limit}),
                                over.empty() ? "never exceeded" : "exceeded on " + stage_list(over),
                                *plot.limit > plot.top ? ", beyond the scale" : ""));
  }
  if (plot.stages.size() < chart.stages())
    parts.push_back(fmt::format("{} of {} stages, among them stage {} with the highest peak", plot.stages.size(),
                                chart.stages(), plot.highest));
  return joined(parts, " | ");
}

std::string draw_memory_head(const Chart& chart, const MemoryPlot& plot, Px base) {
  const std::string name = plot.counts ? "live activations by stage" : in_unit("memory by stage", plot.ticks);
  const Px name_end = chart.plot.x + text_width(name, essentials_size) * 5 / 4 + px(10); // bold letters are wider
  std::string out =
      draw_text({chart.plot.x, base}, name, fmt::format(R"(font-size="{}" font-weight="bold")", essentials_size));
  out += draw_text({name_end, base}, fit_text(facts(chart, plot), label_size, chart.plot.right() - name_end),
                   R"(fill="#333333")");
  out += draw_text({plot.figures_x, base}, "peak", R"(fill="#333333")");
  return draw_group(fmt::format(R"(class="memory-head" font-size="{}")", label_size), out);
}

} // namespace

MemoryPlot memory_plot(const Chart& chart) {
  MemoryPlot plot;
  plot.counts = chart.report.peak_bytes() == Bytes{};
  if (const auto& limit = chart.graph.scenario().memory.limit; limit && !plot.counts) plot.limit = limit->count();
  for (std::size_t stage = 0; stage < chart.stages(); ++stage) {
    const std::int64_t peak = peak_of(plot, chart.report.stages[stage]);
    if (peak > plot.top) plot.highest = stage;
    plot.top = std::max(plot.top, peak);
  }
  if (plot.limit && *plot.limit / farthest_limit <= plot.top) plot.top = std::max(plot.top, *plot.limit);
  plot.stages = stages_with_lanes(chart, plot);
  const auto lanes = static_cast<std::int64_t>(plot.stages.size());
  plot.pitch = px(std::clamp<std::int64_t>(height_of_all_lanes / lanes, 36, 72));
  const Px height = plot.pitch - lane_gap;
  plot.ticks = choose_ticks(plot.counts ? Axis::Unit::count : Axis::Unit::bytes, 0, plot.top,
                            static_cast<std::size_t>(height.hundredths / least_memory_tick_distance.hundredths));
  Px labels;
  for (const AxisMark& mark : marks_at(0, plot.top, plot.ticks))
    labels = std::max(labels, text_width(mark.label, tick_size));
  plot.figures_x = chart.plot.right() + tick_length + px(3) + labels + figure_gap;
  Px figures;
  for (const std::size_t stage : plot.stages) {
    const StageReport& report = chart.report.stages[stage];
    figures = std::max({figures, text_width(amount(plot, peak_of(plot, report)), label_size) * 5 / 4,
                        text_width(peak_time(report), label_size)});
  }
  plot.width = plot.figures_x + figures + margin;
  return plot;
}

Part draw_memory(const Chart& chart, const MemoryPlot& plot, Px top, LegendItems& drawn) {
  drawn.memory.counts = plot.counts;
  drawn.memory.is_drawn = true;
  Chart below = chart; // on the same time axis
  below.plot.y = top + head_height;
  below.plot.height = plot.pitch * static_cast<std::int64_t>(plot.stages.size()) - lane_gap;
  std::string lanes;
  for (std::size_t lane = 0; lane < plot.stages.size(); ++lane) {
    const Px y = below.plot.y + plot.pitch * static_cast<std::int64_t>(lane);
    lanes += draw_lane(chart, plot, {{chart.plot.x, y, chart.plot.width, plot.pitch - lane_gap}, plot.top},
                       plot.stages[lane], drawn);
  }
  return {draw_memory_head(chart, plot, top + px(28)) + draw_grid(below) + lanes + draw_time_axis(below),
          below.plot.bottom() + axis_height};
}

} // namespace ppsim::viz
