// How a search went: the best order so far and the proven bound, over its steps.
//
//   880 |--x---+
//       |      +--x----+             --x-- best order: 873 ms
//   870 |            +-+----o--
//       |--o---------+               --o-- proven bound: 873 ms
//       +----------------------
//        10 k   100 k   1 M  steps of the search
//
// Both are stairs: each holds until the next was found. The shortest order there is lies between them. All places are
// integers, as in the charts.

#include "ppsim/base/words.hpp"
#include "ppsim/study/synthesize.hpp"
#include "ppsim/viz/synthesis.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "svg_draw.hpp"
#include "svg_text.hpp"
#include "ticks.hpp"
#include "variation_curves.hpp"

namespace ppsim::viz {
namespace {

constexpr Px plot_height = px(300);
constexpr Px least_step_distance = px(60);
constexpr Px least_time_distance = px(35);
constexpr Px least_marker_distance = px(9);
constexpr Px label_pitch = px(18);
constexpr Px key_width = px(26);

/// One of the two.
struct Stairs {
  std::int64_t synthesis::Milestone::*value;
  std::string label;
  CurveStyle style;
};

/// "20 k"
std::string step_label(std::int64_t steps) {
  for (const auto& [size, name] : {std::pair{1'000'000'000, "G"}, std::pair{1'000'000, "M"}, std::pair{1'000, "k"}})
    if (steps >= size) return fmt::format("{:g} {}", static_cast<double>(steps) / size, name);
  return fmt::format("{}", steps);
}

struct ProgressPlot {
  ProgressPlot(const SynthesizedOrder& order, Px top);

  const std::vector<synthesis::Milestone>& history;
  std::string_view length_name;
  std::array<Stairs, 2> stairs;
  Axis steps; ///< logarithmic
  std::int64_t last = 1;
  std::int64_t least = 0, most = 1; ///< times that are shown
  Ticks ticks;
  Box box;
  Px labels_left;

  [[nodiscard]] Px x_at(std::uint64_t at) const {
    const std::int64_t first = scaled_log2(steps.from);
    const std::int64_t value = std::max(static_cast<std::int64_t>(at), steps.from);
    return box.x + share_of(scaled_log2(value) - first, scaled_log2(steps.to) - first, box.width);
  }
  [[nodiscard]] Px y_at(std::int64_t time) const {
    return box.bottom() - share_of(time - least, most - least, box.height);
  }
  [[nodiscard]] std::int64_t at_end(const Stairs& line) const { return history.back().*line.value; }
  [[nodiscard]] std::vector<Point> corners(const Stairs& line) const;
  void show_times();
};

ProgressPlot::ProgressPlot(const SynthesizedOrder& order, Px top)
    : history{order.found.history}, length_name{in_words(order.objective)},
      stairs{Stairs{&synthesis::Milestone::makespan, "best order: " + format_duration(order.length), style_of(0)},
             Stairs{&synthesis::Milestone::bound, "proven bound: " + format_duration(order.bound), style_of(1)}} {
  steps.unit = Axis::Unit::count;
  steps.from = std::max<std::int64_t>(static_cast<std::int64_t>(history.front().steps), 1);
  last = std::max(static_cast<std::int64_t>(order.found.steps), steps.from);
  steps.to = std::max(last, 2 * steps.from);
  show_times();
  Px label_width;
  for (const Stairs& line : stairs) label_width = std::max(label_width, text_width(line.label, label_size));
  labels_left = figure_width - margin - label_width - key_width - px(6);
  box = {margin + px(82), top, {}, plot_height};
  box.width = labels_left - px(24) - box.x;
}

void ProgressPlot::show_times() {
  least = history.front().bound;
  most = history.front().makespan;
  const std::int64_t span = std::max<std::int64_t>(most - least, most / 20 + 1);
  least = std::max<std::int64_t>(least - span / 10, 0);
  most += span / 10 + 1;
  ticks = choose_ticks(Axis::Unit::time, least, most,
                       static_cast<std::size_t>(plot_height.hundredths / least_time_distance.hundredths));
}

std::vector<Point> ProgressPlot::corners(const Stairs& line) const {
  std::vector<Point> points;
  for (const synthesis::Milestone& at : history) {
    const Point next{x_at(at.steps), y_at(at.*line.value)};
    if (!points.empty() && points.back().y == next.y) continue;
    if (!points.empty()) points.push_back({next.x, points.back().y});
    points.push_back(next);
  }
  points.push_back({x_at(static_cast<std::uint64_t>(last)), points.back().y});
  return points;
}

std::string path_of(const std::vector<Point>& points) {
  std::string data;
  for (const Point& point : points) add(data, "{}{} {}", data.empty() ? 'M' : 'L', point.x, point.y);
  return data;
}

std::string draw_x_axis(const ProgressPlot& plot) {
  std::vector<std::int64_t> values;
  for (std::size_t stride = 1; stride <= 9; stride = stride == 1 ? 3 : stride + 3) {
    values = logarithmic_ticks(plot.steps, stride);
    bool has_room = true;
    for (std::size_t i = 1; i < values.size(); ++i)
      has_room = has_room && plot.x_at(static_cast<std::uint64_t>(values[i])) -
                                     plot.x_at(static_cast<std::uint64_t>(values[i - 1])) >=
                                 least_step_distance;
    if (has_room) break;
  }
  std::string grid;
  std::string labels;
  for (const std::int64_t value : values) {
    const Px x = plot.x_at(static_cast<std::uint64_t>(value));
    add(grid, "M{} {}V{}", x, plot.box.y, plot.box.bottom());
    labels += draw_text({x, plot.box.bottom() + px(18)}, step_label(value));
  }
  labels += draw_text({plot.box.middle_x(), plot.box.bottom() + px(38)}, "steps of the search, logarithmic",
                      R"(font-size="12")");
  return draw_path(grid_look, grid) +
         draw_group(fmt::format(R"(class="ticks" font-size="{}" fill="#333333" text-anchor="middle")", label_size),
                    labels);
}

std::string draw_y_axis(const ProgressPlot& plot) {
  std::string grid;
  std::string labels;
  for (const auto& [time, label] : marks_at(plot.least, plot.most, plot.ticks)) {
    const Px y = plot.y_at(time);
    add(grid, "M{} {}H{}", plot.box.x, y, plot.box.right());
    labels += draw_text({plot.box.x - px(8), base_line(y, label_size)}, label);
  }
  std::string out = draw_path(grid_look, grid);
  out +=
      draw_group(fmt::format(R"(class="ticks" font-size="{}" fill="#333333" text-anchor="end")", label_size), labels);
  out += draw_path(R"(fill="none" stroke="#4d4d4d" stroke-width="0.9")",
                   fmt::format("M{} {}V{}H{}", plot.box.x, plot.box.y, plot.box.bottom(), plot.box.right()));
  const std::string title =
      in_unit(plot.length_name, plot.ticks) + (plot.least > 0 ? ", axis does not begin at zero" : "");
  add(out,
      "<text class=\"y-title\" x=\"{0}\" y=\"{1}\" font-size=\"12\" fill=\"#333333\" text-anchor=\"middle\" "
      "transform=\"rotate(-90 {0} {1})\">{2}</text>\n",
      margin + px(8), plot.box.middle_y(), title);
  return out;
}

std::string draw_marker(const CurveStyle& style, const Point& at) {
  const std::string colour = to_string(style.colour);
  return draw_path(fmt::format(R"(fill="{0}" stroke="{0}" stroke-width="1.1")", colour),
                   fmt::format("M{} {}{}", at.x, at.y, style.marker));
}

/// Where something better was found; of those that stand close, the first.
std::string draw_markers(const ProgressPlot& plot, const Stairs& line) {
  std::string out;
  std::optional<Px> free_from;
  std::optional<std::int64_t> before;
  for (const synthesis::Milestone& at : plot.history) {
    const std::int64_t value = at.*line.value;
    if (before == value) continue;
    before = value;
    const Px x = plot.x_at(at.steps);
    if (free_from && x < *free_from) continue;
    free_from = x + least_marker_distance;
    out += draw_marker(line.style, {x, plot.y_at(value)});
  }
  return out;
}

std::string stroke_of(const Stairs& line) {
  std::string attributes = fmt::format(R"(fill="none" stroke="{}" stroke-width="1.8")", to_string(line.style.colour));
  if (!line.style.dashes.empty()) attributes += fmt::format(" stroke-dasharray=\"{}\"", line.style.dashes);
  return attributes;
}

std::string draw_lines(const ProgressPlot& plot) {
  std::vector<Point> around = plot.corners(plot.stairs[0]);
  const std::vector<Point> below = plot.corners(plot.stairs[1]);
  around.insert(around.end(), below.rbegin(), below.rend());
  std::string out = draw_path(R"(class="open" fill="#000000" fill-opacity="0.06")", path_of(around) + "Z");
  for (const Stairs& line : plot.stairs)
    out += draw_path("class=\"line\" " + stroke_of(line), path_of(plot.corners(line)));
  for (const Stairs& line : plot.stairs) out += draw_markers(plot, line);
  return out;
}

/// At the right, each as near the end of its line as the other allows.
std::string draw_labels(const ProgressPlot& plot) {
  const std::vector<Px> wanted{plot.y_at(plot.at_end(plot.stairs[0])), plot.y_at(plot.at_end(plot.stairs[1]))};
  const std::vector<Px> places = spread_labels(wanted, label_pitch, plot.box.y, plot.box.bottom());
  std::string keys;
  std::string texts;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Stairs& line = plot.stairs[i];
    keys += draw_path(stroke_of(line), fmt::format("M{} {}h{}", plot.labels_left, places[i], key_width));
    keys += draw_marker(line.style, {plot.labels_left + key_width / 2, places[i]});
    texts += draw_text({plot.labels_left + key_width + px(6), base_line(places[i], label_size)}, line.label);
  }
  return draw_group(R"(class="keys")", keys) +
         draw_group(fmt::format(R"(class="labels" font-size="{}" fill="#1a1a1a")", label_size), texts);
}

std::vector<std::string> essentials_of(const SynthesizedOrder& order, const Scenario& scenario) {
  const bool is_any = order.bound_of == Backwards::any;
  const std::string whose = fmt::format("with {} backwards", to_string(order.bound_of));
  return {fmt::format("p = {}", counted(scenario.shape.stages, "stage")),
          fmt::format("m = {}", counted(order.instance.microbatches, "microbatch", "es")),
          fmt::format("placement {}", order.placement.name),
          order.length == order.bound ? fmt::format("proven: no order {}is shorter", is_any ? "" : whose + " ")
                                      : fmt::format("proven: at most {:.2f} % above the shortest {}", 100 * order.gap(),
                                                    is_any ? "there is" : whose)};
}

} // namespace

std::string svg_progress(const SynthesizedOrder& order, const Scenario& scenario) {
  const std::string what = "The best order and the proven bound, as the search goes on";
  const std::string title = scenario.title.empty() ? what : fmt::format("{}: {}", what, scenario.title);
  const Part head = draw_head({title, essentials_of(order, scenario), scenario.source}, figure_width);
  const ProgressPlot plot{order, head.bottom};
  const Part notes =
      draw_notes(order.found.history.size() > 1
                     ? std::vector<std::string>{"grey: where the shortest order there is can be",
                                                "marker: something better was found"}
                     : std::vector<std::string>{"nothing better was found after the first order and the first bound"},
                 plot.box.x, figure_width - margin, plot.box.bottom() + px(46));
  return document(title, figure_width, notes.bottom,
                  head.elements + draw_x_axis(plot) + draw_y_axis(plot) + draw_lines(plot) + draw_labels(plot) +
                      notes.elements);
}

} // namespace ppsim::viz
