// Step time over a varied quantity.
//
//   24 |              ^ 130 us                 --o-- gpipe, looped-bfs
//      |      ..-o----:---o
//      |  -o--        :         ..x            --x-- 1f1b
//   20 |--x-----x--===:==x===''
//      |==============:                        --#-- zb-v
//      +--------------+----------
//      [    zb-v      |  1f1b   ]   best         (which one, per stretch)
//      0     50  100  150 transfer time (--comm), in us
//
// Every line has its own colour, dashes and marker, so that it reads without colour too. A broad band lies under the
// best. Lines are faint where they do not fit the memory limit and have gaps where the schedule does not apply; one
// that ends before the plot does, ends with a bar. Of many lines those are drawn that come nearest to the best. All
// places are integers, as in the charts.

#include "ppsim/base/words.hpp"
#include "ppsim/viz/variation.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "svg_draw.hpp"
#include "svg_text.hpp"
#include "variation_plot.hpp"
#include "words/variation_words.hpp"

namespace ppsim::viz {

namespace {

constexpr Px strip_height = px(18);
constexpr Px strip_gap = px(6);
constexpr Px change_labels_height = px(18);
constexpr std::int64_t markers_per_line = 7;
constexpr Px end_bar_height = px(11);

std::string stroke_of(const Curve& curve) {
  std::string attributes = fmt::format("stroke=\"{}\"", to_string(curve.style.colour));
  if (!curve.style.dashes.empty()) attributes += fmt::format(" stroke-dasharray=\"{}\"", curve.style.dashes);
  return attributes;
}

std::string draw_marker(const Curve& curve, const Point& at, bool filled) {
  const std::string colour = to_string(curve.style.colour);
  return draw_path(fmt::format(R"(fill="{}" stroke="{}" stroke-width="1.1")", filled ? colour : "#ffffff", colour),
                   fmt::format("M{} {}{}", at.x, at.y, curve.style.marker));
}

/// Adds a line through the points that follow each other; far more points than pixels are thinned.
class Polyline {
public:
  void move_to(const Point& point) {
    end();
    add(data_, "M{} {}", point.x, point.y);
    last_ = point;
  }
  void line_to(const Point& point) {
    waiting_ = point;
    if (point.x - last_.x >= Px{50}) end();
  }
  void end() {
    if (waiting_) add(data_, "L{} {}", waiting_->x, waiting_->y);
    if (waiting_) last_ = *waiting_;
    waiting_.reset();
  }
  [[nodiscard]] const std::string& data() const { return data_; }

private:
  std::string data_;
  Point last_;
  std::optional<Point> waiting_;
};

/// The line of one schedule: where it fits, and, faint, where it does not. Gaps where it does not apply.
std::string draw_line(const VariationPlot& plot, const Curve& curve) {
  Polyline fitting;
  Polyline faint;
  for (std::size_t i = 1; i < curve.times.size(); ++i) {
    const auto from = plot.point_of(curve, i - 1);
    const auto to = plot.point_of(curve, i);
    if (!from || !to) continue;
    const bool fits = curve.fits[i - 1] && curve.fits[i];
    const bool goes_on = i > 1 && curve.times[i - 2] && (curve.fits[i - 2] && curve.fits[i - 1]) == fits;
    Polyline& line = fits ? fitting : faint;
    if (!goes_on) line.move_to(*from);
    line.line_to(*to);
  }
  fitting.end();
  faint.end();
  std::string out;
  if (!faint.data().empty())
    out += draw_path(
        fmt::format(R"(class="faint" fill="none" {} stroke-width="1.2" stroke-opacity="0.45")", stroke_of(curve)),
        faint.data());
  if (!fitting.data().empty())
    out += draw_path(
        fmt::format(R"(class="line" fill="none" {} stroke-width="1.8" stroke-linejoin="round")", stroke_of(curve)),
        fitting.data());
  return out;
}

/// Markers at some of the points, shifted from line to line so that lines on top of each other show both.
std::string draw_markers(const VariationPlot& plot, const Curve& curve) {
  std::string out;
  const std::size_t points = curve.times.size();
  const std::size_t stride = std::max<std::size_t>(points / markers_per_line, 1);
  for (std::size_t i = 0; i < points; ++i) {
    const auto point = plot.point_of(curve, i);
    if (!point || !plot.is_inside(*point)) continue;
    const bool alone = (i == 0 || !curve.times[i - 1]) && (i + 1 == points || !curve.times[i + 1]);
    const std::size_t shift = stride * curve.number / std::max<std::size_t>(plot.curves.size(), 1);
    if (!alone && (i + stride - shift) % stride != stride / 2) continue;
    out += draw_marker(curve, *point, curve.fits[i]);
  }
  return out;
}

/// Where the line of a curve is at a value between two points.
std::optional<Point> point_between(const VariationPlot& plot, const Curve& curve, std::int64_t value) {
  const auto& points = plot.variation.points;
  const auto after = std::lower_bound(points.begin(), points.end(), value);
  if (after == points.end()) return std::nullopt;
  const auto i = static_cast<std::size_t>(after - points.begin());
  if (*after == value) return plot.point_of(curve, i);
  const auto from = i == 0 ? std::nullopt : plot.point_of(curve, i - 1);
  const auto to = plot.point_of(curve, i);
  if (!from || !to) return std::nullopt;
  const Px x = plot.x_at(value);
  return Point{x, from->y + (to->y - from->y) * (x - from->x).hundredths /
                                std::max<std::int64_t>((to->x - from->x).hundredths, 1)};
}

/// The line of a curve over a stretch, ends included; without what does not apply.
std::string stretch_path(const VariationPlot& plot, const Curve& curve, const BestStretch& stretch) {
  Polyline line;
  bool open = false;
  const auto add_point = [&](const std::optional<Point>& point) {
    if (point && open) line.line_to(*point);
    if (point && !open) line.move_to(*point);
    open = point.has_value();
  };
  add_point(point_between(plot, curve, stretch.from));
  const auto& points = plot.variation.points;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i] > stretch.from && points[i] < stretch.to) add_point(plot.point_of(curve, i));
  if (stretch.to > stretch.from) add_point(point_between(plot, curve, stretch.to));
  line.end();
  return line.data();
}

/// The band under the best of each stretch.
std::string draw_envelope(const VariationPlot& plot) {
  std::string out;
  for (const BestStretch& stretch : plot.variation.best) {
    const Curve* curve = stretch.line ? plot.curve_of(*stretch.line) : nullptr;
    if (curve == nullptr) continue;
    const std::string look = fmt::format(
        R"(class="best" fill="none" stroke="{}" stroke-width="9" stroke-opacity="0.28" stroke-linejoin="round")",
        to_string(curve->style.colour));
    out += draw_path(look, stretch_path(plot, *curve, stretch));
  }
  return out;
}

/// Lines where the best changes, with the value from which on the next is best, where there is room for it.
std::string draw_changes(const VariationPlot& plot) {
  std::string lines;
  std::string texts;
  Px free_from = plot.box.x - px(30);
  const Px top = plot.box.y - px(4);
  for (const auto& [x, label_x, label] : plot.changes) {
    if (plot.change_leaders > Px{})
      add(lines, "M{} {}L{} {}V{}", label_x, top - plot.change_leaders, x, top, plot.box.bottom() + strip_gap);
    else
      add(lines, "M{} {}V{}", x, top, plot.box.bottom() + strip_gap);
    const Px half = text_width(label, label_size) / 2;
    if (label_x - half < free_from || label_x + half > plot.labels_left) continue;
    free_from = label_x + half + px(8);
    texts += draw_text({label_x, top - plot.change_leaders - px(4)}, label);
  }
  if (lines.empty()) return {};
  return draw_path(R"(class="changes" fill="none" stroke="#4d4d4d" stroke-width="0.9" stroke-dasharray="2 2")", lines) +
         draw_group(fmt::format(R"(class="changes" font-size="{}" fill="#1a1a1a" text-anchor="middle")", label_size),
                    texts);
}

/// Which schedule is the best, stretch by stretch.
std::string draw_strip(const VariationPlot& plot) {
  if (plot.curves.empty()) return {};
  const Px top = plot.box.bottom() + strip_gap;
  const Px text_line = base_line(top + strip_height / 2, label_size);
  std::string boxes;
  std::string texts;
  const auto& best = plot.variation.best;
  for (std::size_t i = 0; i < best.size(); ++i) {
    const Px left = i == 0 ? plot.box.x : plot.x_at(best[i].from);
    const Px right = i + 1 == best.size() ? plot.box.right() : plot.x_at(best[i + 1].from);
    const Curve* curve = best[i].line ? plot.curve_of(*best[i].line) : nullptr;
    const std::string name = clean_text(best_name(plot.variation, best[i]));
    const std::string fill = curve == nullptr ? "#e6e6e6" : to_string(curve->style.colour);
    add(boxes, "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"><title>{}: {} to {}</title></rect>\n",
        left, top, right - left, strip_height, fill, escaped(name), escaped(plot.variation.axis.format(best[i].from)),
        escaped(plot.variation.axis.format(best[i].to)));
    if (text_width(name, label_size) + px(6) > right - left) continue;
    const bool white = curve != nullptr && wants_white_text(curve->style.colour);
    texts += draw_text({left + (right - left) / 2, text_line}, name, white ? R"(fill="#ffffff")" : R"(fill="#1a1a1a")");
  }
  return draw_group(R"(class="strip" stroke="#ffffff" stroke-width="1")", boxes) +
         draw_group(fmt::format(R"(class="strip" font-size="{}" text-anchor="middle")", label_size), texts) +
         draw_text({plot.box.x - px(8), text_line}, "best",
                   fmt::format(R"(font-size="{}" fill="#333333" text-anchor="end")", label_size));
}

std::string draw_x_axis(const VariationPlot& plot) {
  const Px base = plot.box.bottom() + strip_gap + strip_height;
  std::string marks;
  std::string grid;
  std::string labels;
  for (const auto& [value, label] : plot.x_marks) {
    const Px x = plot.x_at(value);
    add(grid, "M{} {}V{}", x, plot.box.y, plot.box.bottom());
    add(marks, "M{} {}v4", x, base + px(2));
    labels += draw_text({x, base + px(18)}, label);
  }
  labels += draw_text({plot.box.middle_x(), base + px(37)}, clean_text(plot.x_title), R"(font-size="12")");
  return draw_path(grid_look, grid) + draw_path(R"(stroke="#4d4d4d" stroke-width="0.8")", marks) +
         draw_group(fmt::format(R"(class="ticks" font-size="{}" fill="#333333" text-anchor="middle")", label_size),
                    labels);
}

/// The axis of time; where it is linear and does not begin at zero it is broken, and its title says so.
std::string draw_y_axis(const VariationPlot& plot) {
  std::string grid;
  std::string labels;
  for (const auto& [time, label] : plot.y_marks) {
    const Px y = plot.y_at(time);
    add(grid, "M{} {}H{}", plot.box.x, y, plot.box.right());
    labels += draw_text({plot.box.x - px(8), base_line(y, label_size)}, label);
  }
  std::string out = draw_path(grid_look, grid);
  out +=
      draw_group(fmt::format(R"(class="ticks" font-size="{}" fill="#333333" text-anchor="end")", label_size), labels);
  const Px left = plot.box.x;
  const Px bottom = plot.box.bottom();
  if (plot.range.from > 0 && !plot.range.logarithmic)
    out += draw_path(R"(class="axis-break" fill="none" stroke="#4d4d4d" stroke-width="0.9")",
                     fmt::format("M{0} {1}V{2}l-4.00 -2.50l8.00 -5.00l-8.00 -5.00l4.00 -2.50V{3}M{0} {1}H{4}", left,
                                 bottom, bottom - px(4), plot.box.y, plot.box.right()));
  else
    out += draw_path(R"(fill="none" stroke="#4d4d4d" stroke-width="0.9")",
                     fmt::format("M{} {}V{}H{}", left, plot.box.y, bottom, plot.box.right()));
  const Px x = margin + px(8);
  add(out,
      "<text class=\"y-title\" x=\"{0}\" y=\"{1}\" font-size=\"12\" fill=\"#333333\" text-anchor=\"middle\" "
      "transform=\"rotate(-90 {0} {1})\">{2}</text>\n",
      x, plot.box.middle_y(), plot.y_title);
  return out;
}

/// Where a line ends: its last point, moved to the edge of the plot where it lies above.
struct LineEnd {
  const Curve* curve;
  std::int64_t time;
  Point place;
  bool is_early; ///< the schedule does not apply at the end of the range
};

/// From above.
std::vector<LineEnd> line_ends(const VariationPlot& plot) {
  std::vector<LineEnd> ends;
  for (const Curve& curve : plot.curves)
    for (std::size_t i = curve.times.size(); i-- > 0;)
      if (const auto point = plot.point_of(curve, i)) {
        ends.push_back(
            {&curve, *curve.times[i], {point->x, std::max(point->y, plot.box.y)}, i + 1 < curve.times.size()});
        break;
      }
  std::stable_sort(ends.begin(), ends.end(), [](const LineEnd& a, const LineEnd& b) { return a.time > b.time; });
  return ends;
}

/// Labels at the right, each as near the end of its line as the others allow.
std::string draw_labels(const VariationPlot& plot) {
  const std::vector<LineEnd> ends = line_ends(plot);
  std::vector<Px> wanted;
  std::ranges::transform(ends, std::back_inserter(wanted), [](const LineEnd& end) { return end.place.y; });
  const std::vector<Px> places = spread_labels(wanted, VariationPlot::label_pitch, plot.box.y, plot.box.bottom());
  std::string leaders;
  std::string bars;
  std::string keys;
  std::string texts;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const Curve& curve = *ends[i].curve;
    const Px y = places[i];
    // Across the plot a leader would look like a line.
    const std::string stroke = fmt::format(R"(stroke="{}")", to_string(curve.style.colour));
    leaders += draw_path(
        stroke, fmt::format("M{} {}h4L{} {}", plot.box.right() + px(4), ends[i].place.y, plot.labels_left - px(4), y));
    if (ends[i].is_early && ends[i].place.y > plot.box.y)
      bars += draw_path(
          stroke, fmt::format("M{} {}v{}", ends[i].place.x, ends[i].place.y - end_bar_height / 2, end_bar_height));
    keys += draw_path(fmt::format(R"(fill="none" {} stroke-width="1.8")", stroke_of(curve)),
                      fmt::format("M{} {}h{}", plot.labels_left, y, VariationPlot::key_width));
    keys += draw_marker(curve, {plot.labels_left + VariationPlot::key_width / 2, y}, !curve.never_fits);
    const Px left = plot.labels_left + VariationPlot::key_width + px(6);
    const Px room = figure_width - margin - left;
    texts += draw_text({left, base_line(y, label_size)},
                       fit_text(curve.label, label_size, curve.is_best_somewhere ? room * 8 / 9 : room),
                       curve.is_best_somewhere ? R"(font-weight="bold")" : "");
  }
  return draw_group(R"(class="leaders" fill="none" stroke-width="0.8" stroke-dasharray="1 2")", leaders) +
         draw_group(R"(class="ends" stroke-width="2.2")", bars) + draw_group(R"(class="keys")", keys) +
         draw_group(fmt::format(R"(class="labels" font-size="{}" fill="#1a1a1a")", label_size), texts);
}

/// Those that are not drawn, one note each, so that they flow over as many lines as they need.
void add_left_out(const VariationPlot& plot, std::vector<std::string>& notes) {
  if (plot.curves.size() == plot.all_curves.size()) return;
  const std::size_t first = notes.size();
  for (const Curve& curve : plot.all_curves)
    if (std::ranges::find(plot.curves, curve.lines, &Curve::lines) == plot.curves.end()) notes.push_back(curve.label);
  const std::size_t count = notes.size() - first;
  notes[first] = fmt::format("{} more {} not drawn: {}", count, count == 1 ? "is" : "are", notes[first]);
}

/// How to read what was drawn, and nothing else.
std::vector<std::string> notes_of(const VariationPlot& plot) {
  std::vector<std::string> notes;
  const auto any = [&plot](bool Curve::*what) { return std::ranges::any_of(plot.curves, what); };
  if (any(&Curve::is_best_somewhere)) notes.emplace_back("band and strip: the best");
  if (plot.variation.best.size() > 1) notes.emplace_back("dotted lines: from there on another is the best");
  if (any(&Curve::fits_not_always)) notes.emplace_back("faint, hollow: does not fit the memory limit");
  if (any(&Curve::has_gaps)) notes.emplace_back("gap, or bar at an end: does not apply there");
  if (plot.range.is_cut) notes.emplace_back("the slowest lines leave the plot at its top");
  if (const std::string unseen = unseen_words(plot.variation); !unseen.empty()) notes.push_back(unseen);
  add_left_out(plot, notes);
  return notes;
}

std::vector<std::string> essentials_of(const Variation& variation) {
  const Axis& axis = variation.axis;
  std::vector<std::string> parts{
      fmt::format("--{} from {} to {}", clean_text(axis.option), axis.format(axis.from), axis.format(axis.to))};
  for (std::string& words : shape_words(variation)) parts.push_back(std::move(words));
  parts.push_back(counted(variation.points.size(), "point"));
  if (variation.best.size() > 1 && axis.values.empty())
    parts.push_back(fmt::format("changes of the best to within {}", axis.format(variation.precision)));
  return parts;
}

/// The user's own, with what is plotted; a time per microbatch is not a step time.
std::string title_of(const Variation& variation) {
  std::string what = compared_name(variation);
  what.front() = what.front() == 's' ? 'S' : what.front() == 'm' ? 'M' : what.front(); // as a sentence begins
  if (variation.title.empty()) return fmt::format("{} over {}", what, axis_name(variation.axis));
  const bool is_step_time = variation.figure == StepFigure::step_time && !variation.per_microbatch;
  return !is_step_time ? fmt::format("{}: {}", what, variation.title) : variation.title;
}

} // namespace

std::string svg_variation(const Variation& variation) {
  VariationPlot plot{variation};
  const std::string title = title_of(variation);
  const Part head = draw_head({title, essentials_of(variation), variation.source}, figure_width);
  const Px above = plot.changes.empty() ? Px{} : change_labels_height + plot.change_leaders;
  plot.box.y = head.bottom + above;

  std::string body = draw_x_axis(plot) + draw_y_axis(plot);
  if (plot.curves.empty())
    body += draw_text({plot.box.middle_x(), plot.box.middle_y()}, "no schedule applies",
                      R"(font-size="12" fill="#595959" text-anchor="middle")");
  add(body, "<clipPath id=\"plot\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n",
      plot.box.x - px(6), plot.box.y, plot.box.width + px(12), plot.box.height + px(6));
  std::string lines = draw_envelope(plot);
  std::string markers;
  for (const Curve& curve : plot.curves) {
    lines += draw_line(plot, curve);
    markers += draw_markers(plot, curve);
  }
  body += draw_group(R"svg(class="lines" clip-path="url(#plot)")svg", lines) + draw_changes(plot);
  body += draw_group(R"(class="markers")", markers) + draw_labels(plot) + draw_strip(plot);
  const Part notes = draw_notes(notes_of(plot), plot.box.x, figure_width - margin,
                                plot.box.bottom() + strip_gap + strip_height + px(44));
  return document(title, figure_width, notes.bottom, head.elements + body + notes.elements);
}

} // namespace ppsim::viz
