#include "variation_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "svg_draw.hpp"
#include "svg_text.hpp"
#include "words/variation_words.hpp"

namespace ppsim::viz {
namespace {

constexpr Px least_plot_height = px(400);
constexpr Px most_label_width = px(250);
constexpr Px change_leaders_height = px(14);
constexpr Px least_x_tick_distance = px(75);
constexpr Px least_y_tick_distance = px(40);
constexpr std::size_t most_curves = 12; ///< that can be told apart

/// Width of the widest text of some things.
template <class Things, class Text>
Px widest(const Things& things, Text text) {
  Px width;
  for (const auto& thing : things) width = std::max(width, text_width(std::invoke(text, thing), label_size));
  return width;
}

/// Marks at every `stride`-th of the round values of a logarithmic axis.
template <class Label>
std::vector<AxisMark> logarithmic_marks(const Axis& axis, std::size_t stride, Label label) {
  std::vector<AxisMark> marks;
  for (const std::int64_t value : logarithmic_ticks(axis, stride)) marks.push_back({value, label(value)});
  return marks;
}

} // namespace

std::string axis_name(const Axis& axis) {
  return fmt::format("{} (--{})", quantity_name(axis.option), axis.option);
}

VariationPlot::VariationPlot(const Variation& the_variation)
    : variation{the_variation}, all_curves{curves_of(the_variation)},
      curves{nearest_curves(the_variation, all_curves, most_curves)}, range{shown_range(the_variation, curves)} {
  const auto labels = static_cast<std::int64_t>(curves.size());
  box.height = std::max(least_plot_height, label_pitch * labels);
  choose_y_marks();
  box.x = margin + px(24) + widest(y_marks, &AxisMark::label) + px(10);
  // Bold names are wider.
  const Px label_width = std::min(widest(curves, &Curve::label) * 9 / 8, most_label_width) + px(4);
  labels_left = figure_width - margin - label_width - key_width - px(6);
  box.width = labels_left - px(44) - box.x;
  choose_x_marks();
  place_changes();
}

void VariationPlot::choose_y_marks() {
  const auto most = static_cast<std::size_t>(box.height.hundredths / least_y_tick_distance.hundredths);
  const std::string what = compared_name(variation);
  Ticks ticks = choose_ticks(Axis::Unit::time, range.from, range.to, most);
  if (range.logarithmic) {
    const Axis axis{.option = "", .unit = Axis::Unit::time, .from = range.from, .to = range.to};
    const auto label = [&](std::int64_t time) {
      return fmt::format("{:g}", static_cast<double>(time) / static_cast<double>(ticks.unit));
    };
    y_title = in_unit(what, ticks) + ", logarithmic";
    y_marks = logarithmic_marks(axis, 1, label);
    for (std::size_t stride = 3; y_marks.size() > most; stride += 3) y_marks = logarithmic_marks(axis, stride, label);
    return;
  }
  if (range.from > 0) range.from = range.from / ticks.step * ticks.step;
  ticks = choose_ticks(Axis::Unit::time, range.from, range.to, most);
  y_title = in_unit(what, ticks) + (range.from > 0 ? ", axis does not begin at zero" : "");
  y_marks = marks_at(range.from, range.to, ticks);
}

/// As near to their lines as the others allow; where there is not room for all, above their lines, and draw_changes()
/// leaves some out.
void VariationPlot::place_changes() {
  for (std::size_t i = 1; i < variation.best.size(); ++i) {
    const Px x = x_at(variation.best[i].from);
    changes.push_back({x, x, variation.axis.format(variation.best[i].from)});
  }
  const Px width = widest(changes, &ChangeMark::label);
  const Px pitch = width + px(8);
  const Px first = box.x - px(30) + width / 2;
  const Px last = labels_left - width / 2;
  if (changes.empty() || pitch * static_cast<std::int64_t>(changes.size() - 1) > last - first) return;
  std::vector<Px> wanted;
  std::ranges::transform(changes, std::back_inserter(wanted), &ChangeMark::x);
  const std::vector<Px> places = spread_labels(wanted, pitch, first, last);
  for (std::size_t i = 0; i < changes.size(); ++i) changes[i].label_x = places[i];
  if (places != wanted) change_leaders = change_leaders_height;
}

bool VariationPlot::has_room(const std::vector<AxisMark>& marks) const {
  for (std::size_t i = 1; i < marks.size(); ++i) {
    const Px needed = (text_width(marks[i - 1].label, label_size) + text_width(marks[i].label, label_size)) / 2;
    if (x_at(marks[i].value) - x_at(marks[i - 1].value) < needed + px(14)) return false;
  }
  return true;
}

// NOLINTNEXTLINE(readability-function-cognitive-complexity): a case per unit
void VariationPlot::choose_x_marks() {
  const Axis& axis = variation.axis;
  x_title = axis_name(axis) + (axis.logarithmic() ? ", logarithmic" : "");
  if (axis.logarithmic()) { // values with their units, since those change along the axis
    const auto label = [&axis](std::int64_t value) { return axis.format(value); };
    const std::size_t step = axis.unit == Axis::Unit::bytes ? 1 : 3;
    for (std::size_t stride = 1; stride <= 60; stride = stride < step ? step : stride + step) {
      x_marks = logarithmic_marks(axis, stride, label);
      if (has_room(x_marks)) return;
    }
    return;
  }
  for (auto most = static_cast<std::size_t>(box.width.hundredths / least_x_tick_distance.hundredths); most >= 2;
       --most) {
    const Ticks ticks = choose_ticks(axis.unit, axis.from, axis.to, most);
    x_title = axis_name(axis) + (ticks.unit_name.empty() ? "" : fmt::format(", in {}", ticks.unit_name));
    x_marks = marks_at(axis.from, axis.to, ticks);
    if (has_room(x_marks)) return;
  }
}

} // namespace ppsim::viz
