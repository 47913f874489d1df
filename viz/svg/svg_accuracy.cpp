// Errors of many predictions, group by group.
//
//   title
//            predicted too short  |  too long          median   worst
//   p2-2ms      :            o  x | #     :            0.42 %  -0.9 %
//   p4-2ms      :        x   o #  |       :            ...
//               :                 |       :
//            -5 %                 0     +5 %   error of the step time
//   o 1f1b   x zb-v   # gpipe
//
// A row per group; markers of a row stand in lanes, a lane per schedule, so that equal errors do not hide each other.
// The band is what is tolerated. All places are integers, as in the charts.

#include "ppsim/base/words.hpp"
#include "ppsim/viz/accuracy.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "row_plot.hpp"
#include "svg_draw.hpp"
#include "svg_text.hpp"
#include "ticks.hpp"
#include "words/figures.hpp"

namespace ppsim::viz {
namespace {

constexpr Px least_x_distance = px(60);
/// Errors in millionths. Larger errors are drawn at the edge.
constexpr std::int64_t millionth = 1'000'000;
constexpr std::int64_t widest_range = 10 * millionth;

std::int64_t in_millionths(double error) {
  const auto bound = static_cast<double>(widest_range);
  return std::llround(std::clamp(error * static_cast<double>(millionth), -bound, bound));
}

std::vector<std::string> group_names(const Accuracy& accuracy) {
  std::vector<std::string> names;
  names.reserve(accuracy.groups.size());
  for (const ErrorSummary& group : accuracy.groups) names.push_back(group.group.empty() ? "runs" : group.group);
  return names;
}

/// Schedules in the order of their first runs; one lane each.
std::vector<std::string> schedules_in(const Accuracy& accuracy) {
  std::vector<std::string> schedules;
  for (const ValidatedRun& run : accuracy.runs)
    if (std::ranges::find(schedules, run.schedule) == schedules.end()) schedules.push_back(run.schedule);
  return schedules;
}

/// Positions in the picture.
struct AccuracyPlot : RowPlot {
  explicit AccuracyPlot(const Accuracy& the_accuracy, Px top);

  const Accuracy& accuracy;
  std::vector<std::string> schedules;
  std::int64_t range = 1; ///< from -range to range, in millionths
  Ticks ticks;

  [[nodiscard]] Px x_at(std::int64_t error) const {
    return box.x + share_of(std::clamp(error, -range, range) + range, 2 * range, box.width);
  }
  [[nodiscard]] std::size_t number_of(const ValidatedRun& run) const {
    return static_cast<std::size_t>(std::ranges::find(schedules, run.schedule) - schedules.begin());
  }
};

AccuracyPlot::AccuracyPlot(const Accuracy& the_accuracy, Px top)
    : RowPlot{row_plot(group_names(the_accuracy), schedules_in(the_accuracy).size(), top)}, accuracy{the_accuracy},
      schedules{schedules_in(the_accuracy)} {
  for (const ValidatedRun& run : accuracy.runs)
    range = std::max(
        {range, std::abs(in_millionths(run.validation.step.error())), in_millionths(run.validation.tolerance)});
  range += range / 16;
  ticks = choose_ticks(Axis::Unit::count, 0, 2 * range,
                       static_cast<std::size_t>(box.width.hundredths / least_x_distance.hundredths));
}

/// The tolerated band, and lines between the rows.
std::string draw_ground(const AccuracyPlot& plot) {
  const std::int64_t tolerance = in_millionths(plot.accuracy.runs.front().validation.tolerance);
  return draw_row_ground(plot, plot.x_at(-tolerance), plot.x_at(tolerance), plot.x_at(0));
}

std::string draw_axis(const AccuracyPlot& plot) {
  std::vector<RowTick> ticks;
  const std::int64_t last = plot.range / plot.ticks.step;
  for (std::int64_t tick = -last; tick <= last; ++tick) {
    const double percent = static_cast<double>(tick * plot.ticks.step) * 100 / static_cast<double>(millionth);
    ticks.push_back({plot.x_at(tick * plot.ticks.step), tick == 0 ? "0" : fmt::format("{:+g} %", percent)});
  }
  return draw_row_axis(plot, ticks, "error of the step time: (predicted - measured) / measured");
}

std::string draw_names(const AccuracyPlot& plot) {
  std::vector<RowFigures> figures;
  for (const ErrorSummary& group : plot.accuracy.groups) {
    const double worst = plot.accuracy.runs[group.worst].validation.step.error();
    figures.push_back(group.runs == 0 ? RowFigures{"-", "-"}
                                      : RowFigures{percent(group.median_error), signed_percent(worst)});
  }
  return draw_row_names(plot, group_names(plot.accuracy), figures, draw_sides(plot, plot.x_at(0)));
}

std::string draw_runs(const AccuracyPlot& plot) {
  std::string out;
  for (const ValidatedRun& run : plot.accuracy.runs) {
    const auto& groups = plot.accuracy.groups;
    const auto row =
        static_cast<std::size_t>(std::ranges::find(groups, run.group, &ErrorSummary::group) - groups.begin());
    const std::size_t number = plot.number_of(run);
    const Px y = plot.lane_at(row, number, plot.schedules.size());
    const ComparedTime& step = run.validation.step;
    // hollow: not counted
    add_marker(out, style_of(number), plot.x_at(in_millionths(step.error())), y,
               clean_text(fmt::format("{}: {} predicted, {} measured ({})", run.name, format_duration(step.predicted),
                                      format_duration(step.measured), signed_percent(step.error()))),
               !run.validation.counts());
  }
  return draw_group(R"(class="runs")", out);
}

} // namespace

std::string svg_accuracy(const Accuracy& accuracy) {
  const std::string title = fmt::format("Predicted step times held against {}", counted(accuracy.runs.size(), "run"));
  std::vector<std::string> facts;
  if (accuracy.all.runs > 0) {
    const double worst = std::abs(accuracy.runs[accuracy.all.worst].validation.step.error());
    facts = {fmt::format("median error {}", percent(accuracy.all.median_error)),
             fmt::format("worst {}", percent(worst))};
  }
  facts.push_back(
      fmt::format("green: up to {} is tolerated", given_percent(accuracy.runs.front().validation.tolerance)));
  if (accuracy.all.not_counted > 0)
    facts.push_back(fmt::format("hollow: {}, no validation", counted(accuracy.all.not_counted, "run")));
  const Part head = draw_head({title, std::move(facts), ""}, figure_width);
  const AccuracyPlot plot{accuracy, head.bottom};
  const Part keys = draw_marker_keys(plot, plot.schedules, plot.box.bottom() + px(50));
  return document(title, figure_width, keys.bottom,
                  head.elements + draw_ground(plot) + draw_axis(plot) + draw_names(plot) + draw_runs(plot) +
                      keys.elements);
}

} // namespace ppsim::viz
