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
#include <string_view>
#include <vector>

#include "svg_draw.hpp"
#include "svg_text.hpp"
#include "ticks.hpp"
#include "words/figures.hpp"

namespace ppsim::viz {
namespace {

constexpr Px least_row_height = px(22);
constexpr Px lane_height = px(5);
constexpr Px header_height = px(20);
constexpr Px number_width = px(60);
constexpr Px most_name_width = px(220);
constexpr Px least_x_distance = px(60);
constexpr Px key_pitch = px(18);
/// Errors in millionths. What is further off than this stands at the edge.
constexpr std::int64_t millionth = 1'000'000;
constexpr std::int64_t widest_range = 10 * millionth;

std::int64_t in_millionths(double error) {
  const auto bound = static_cast<double>(widest_range);
  return std::llround(std::clamp(error * static_cast<double>(millionth), -bound, bound));
}

std::string_view group_name(const ErrorSummary& group) {
  return group.group.empty() ? std::string_view{"runs"} : std::string_view{group.group};
}

/// Where things stand in the picture.
struct AccuracyPlot {
  explicit AccuracyPlot(const Accuracy& the_accuracy, Px top);

  const Accuracy& accuracy;
  std::vector<std::string> schedules; ///< that occur, in the order of their first runs
  std::int64_t range = 1;             ///< from -range to range, in millionths
  Ticks ticks;
  Box box;
  Px row_height;

  [[nodiscard]] Px x_at(std::int64_t error) const {
    return box.x + share_of(std::clamp(error, -range, range) + range, 2 * range, box.width);
  }
  [[nodiscard]] std::size_t number_of(const HeldRun& run) const {
    return static_cast<std::size_t>(std::ranges::find(schedules, run.schedule) - schedules.begin());
  }
  [[nodiscard]] Px row_top(std::size_t row) const { return box.y + row_height * static_cast<std::int64_t>(row); }
};

AccuracyPlot::AccuracyPlot(const Accuracy& the_accuracy, Px top) : accuracy{the_accuracy} {
  for (const HeldRun& run : accuracy.runs) {
    if (std::ranges::find(schedules, run.schedule) == schedules.end()) schedules.push_back(run.schedule);
    range = std::max(
        {range, std::abs(in_millionths(run.validation.step.error())), in_millionths(run.validation.tolerance)});
  }
  range += range / 16;
  Px names;
  for (const ErrorSummary& group : accuracy.groups)
    names = std::max(names, text_width(clean_text(group_name(group)), label_size));
  box.x = margin + std::min(names, most_name_width) + px(10);
  box.y = top + header_height;
  box.width = figure_width - margin - number_width * 2 - box.x;
  row_height = std::max(least_row_height, lane_height * static_cast<std::int64_t>(schedules.size() + 1));
  box.height = row_height * static_cast<std::int64_t>(accuracy.groups.size());
  ticks = choose_ticks(Axis::Unit::count, 0, 2 * range,
                       static_cast<std::size_t>(box.width.hundredths / least_x_distance.hundredths));
}

/// The tolerated band, and lines between the rows.
std::string draw_ground(const AccuracyPlot& plot) {
  const std::int64_t tolerance = in_millionths(plot.accuracy.runs.front().validation.tolerance);
  const Px left = plot.x_at(-tolerance);
  std::string out;
  add(out, "<rect class=\"tolerated\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#e8f0e8\"/>\n", left,
      plot.box.y, plot.x_at(tolerance) - left, plot.box.height);
  std::string lines;
  for (std::size_t row = 0; row <= plot.accuracy.groups.size(); ++row)
    add(lines, "M{} {}H{}", margin, plot.row_top(row), figure_width - margin);
  out += draw_path(R"(class="rows" stroke="#d9d9d9" stroke-width="0.8")", lines);
  return out + draw_path(R"(class="zero" stroke="#595959" stroke-width="1")",
                         fmt::format("M{} {}V{}", plot.x_at(0), plot.box.y - px(4), plot.box.bottom() + px(6)));
}

std::string draw_axis(const AccuracyPlot& plot) {
  std::string lines;
  std::string labels;
  const std::int64_t last = plot.range / plot.ticks.step;
  for (std::int64_t tick = -last; tick <= last; ++tick) {
    const Px x = plot.x_at(tick * plot.ticks.step);
    add(lines, "M{} {}v5", x, plot.box.bottom());
    const double percent = static_cast<double>(tick * plot.ticks.step) * 100 / static_cast<double>(millionth);
    labels += draw_text({x, plot.box.bottom() + px(18)}, tick == 0 ? "0" : fmt::format("{:+g} %", percent));
  }
  labels += draw_text({plot.box.middle_x(), plot.box.bottom() + px(38)},
                      "error of the step time: (predicted - measured) / measured");
  return draw_path(R"(class="ticks" stroke="#595959" stroke-width="0.8")", lines) +
         draw_group(
             fmt::format(R"(class="tick-labels" font-size="{}" fill="#333333" text-anchor="middle")", label_size),
             labels);
}

/// Names at the left, figures at the right.
std::string draw_names(const AccuracyPlot& plot) {
  const Px first = plot.box.right() + number_width - px(6);
  const Px second = first + number_width;
  const Px head = plot.box.y - px(7);
  constexpr std::string_view ends = R"(text-anchor="end")";
  std::string out =
      draw_text({first, head}, "median", ends) + draw_text({second, head}, "worst", ends) +
      draw_text({plot.x_at(0) - px(8), head}, "predicted too short", R"(text-anchor="end" fill="#595959")") +
      draw_text({plot.x_at(0) + px(8), head}, "too long", R"(fill="#595959")");
  for (std::size_t row = 0; row < plot.accuracy.groups.size(); ++row) {
    const ErrorSummary& group = plot.accuracy.groups[row];
    const Px y = base_line(plot.row_top(row) + plot.row_height / 2, label_size);
    const double worst = plot.accuracy.runs[group.worst].validation.step.error();
    out += draw_text({margin, y}, fit_text(clean_text(group_name(group)), label_size, plot.box.x - margin - px(6)));
    out += draw_text({first, y}, group.runs == 0 ? "-" : percent(group.median_error), ends);
    out += draw_text({second, y}, group.runs == 0 ? "-" : signed_percent(worst), ends);
  }
  return draw_group(fmt::format(R"(class="names" font-size="{}" fill="#1a1a1a")", label_size), out);
}

/// Hollow for what does not count.
void add_run(std::string& out, const CurveStyle& style, Px x, Px y, std::string_view tooltip, bool hollow = false) {
  const std::string colour = to_string(style.colour);
  add(out, R"(<path fill="{0}" fill-opacity="{4}" stroke="{0}" d="M{1} {2}{3}">)", colour, x, y, style.marker,
      hollow ? "0" : "0.75");
  if (!tooltip.empty()) add(out, "<title>{}</title>", escaped(tooltip));
  out += "</path>\n";
}

std::string draw_runs(const AccuracyPlot& plot) {
  std::string out;
  const auto lanes = static_cast<std::int64_t>(plot.schedules.size());
  for (const HeldRun& run : plot.accuracy.runs) {
    const auto& groups = plot.accuracy.groups;
    const auto row =
        static_cast<std::size_t>(std::ranges::find(groups, run.group, &ErrorSummary::group) - groups.begin());
    const std::size_t number = plot.number_of(run);
    const Px y = plot.row_top(row) + plot.row_height * (static_cast<std::int64_t>(number) + 1) / (lanes + 1);
    const ComparedTime& step = run.validation.step;
    add_run(out, style_of(number), plot.x_at(in_millionths(step.error())), y,
            clean_text(fmt::format("{}: {} predicted, {} measured ({})", run.name, format_duration(step.predicted),
                                   format_duration(step.measured), signed_percent(step.error()))),
            !run.validation.counts());
  }
  return draw_group(R"(class="runs")", out);
}

/// The schedules with their markers, in as many lines as they need.
Part draw_keys(const AccuracyPlot& plot, Px top) {
  std::string out;
  Px x = plot.box.x;
  Px y = top + key_pitch / 2;
  for (std::size_t number = 0; number < plot.schedules.size(); ++number) {
    const std::string name = fit_text(clean_text(plot.schedules[number]), label_size, most_name_width);
    const Px width = px(14) + text_width(name, label_size) + px(16);
    if (x + width > figure_width - margin && x > plot.box.x) {
      x = plot.box.x;
      y += key_pitch;
    }
    add_run(out, style_of(number), x + px(4), y, "");
    out += draw_text({x + px(14), base_line(y, label_size)}, name);
    x += width;
  }
  return {draw_group(fmt::format(R"(class="keys" font-size="{}" fill="#1a1a1a")", label_size), out), y + key_pitch / 2};
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
  const Part keys = draw_keys(plot, plot.box.bottom() + px(50));
  return document(title, figure_width, keys.bottom,
                  head.elements + draw_ground(plot) + draw_axis(plot) + draw_names(plot) + draw_runs(plot) +
                      keys.elements);
}

} // namespace ppsim::viz
