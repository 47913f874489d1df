// Step times predicted for published runs, set by set.
//
//   title
//            predicted too short  |  too long          median   worst
//   K           :            o  o | o     :            3.1 %  -8.9 %
//   VS      o o : o  o  o    o   |       :             ...
//               :                 |       :
//             0.5        0.9   1   1.1     2   predicted / measured
//   o a100   x h100
//
// A row per set; its runs take the lanes of the row in turn. The axis is logarithmic: half and twice as long are as far
// off. Places are integers, as in the charts.

#include "ppsim/base/words.hpp"
#include "ppsim/viz/published.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "row_plot.hpp"
#include "svg_text.hpp"
#include "ticks.hpp"
#include "words/figures.hpp"

namespace ppsim::viz {
namespace {

constexpr std::size_t lanes_of_set = 5;
constexpr double usual_band = 0.1;
constexpr Px least_ratio_distance = px(34);
/// Ratios are in thousandths; what is further off than a tenth, or ten times as long, stands at the edge.
constexpr std::int64_t equal_ratio = 1'000, widest_ratio = 10'000;

/// log2 of a ratio in thousandths, in units of 2^-16: zero for equal times.
std::int64_t log_ratio(std::int64_t thousandths) {
  const std::int64_t bounded = std::clamp(thousandths, equal_ratio * equal_ratio / widest_ratio, widest_ratio);
  return scaled_log2(bounded) - scaled_log2(equal_ratio);
}

std::int64_t thousandths_of(const PublishedPrediction& held) {
  return std::llround(std::min(1 + held.error(), 1e3) * static_cast<double>(equal_ratio));
}

std::vector<std::string> set_names(const PublishedErrors& errors) {
  std::vector<std::string> names;
  names.reserve(errors.sets.size());
  for (const PublishedGroup& set : errors.sets) names.push_back(set.name);
  return names;
}

std::vector<std::string> device_names(const PublishedErrors& errors) {
  std::vector<std::string> names;
  names.reserve(errors.devices.size());
  for (const PublishedGroup& device : errors.devices) names.push_back(device.name.empty() ? "no device" : device.name);
  return names;
}

/// Where things stand in the picture.
struct PublishedPlot : RowPlot {
  PublishedPlot(const PublishedErrors& the_errors, Px top)
      : RowPlot{row_plot(set_names(the_errors), lanes_of_set, top)}, errors{the_errors},
        band{errors.tolerance.value_or(usual_band)} {
    from = log_ratio(edge(-1));
    to = log_ratio(edge(1));
    for (const PublishedPrediction& held : errors.runs) {
      if (held.refused) continue;
      from = std::min(from, log_ratio(thousandths_of(held)));
      to = std::max(to, log_ratio(thousandths_of(held)));
    }
    const std::int64_t free = std::max((to - from) / 16, std::int64_t{1});
    from -= free;
    to += free;
  }

  const PublishedErrors& errors;
  double band;                   ///< a share
  std::int64_t from = 0, to = 0; ///< of the axis: log_ratio() there

  /// Where the band ends, on that side, in thousandths.
  [[nodiscard]] std::int64_t edge(int side) const {
    return std::llround((1 + side * band) * static_cast<double>(equal_ratio));
  }
  [[nodiscard]] Px x_at(std::int64_t thousandths) const {
    return box.x + share_of(std::clamp(log_ratio(thousandths), from, to) - from, to - from, box.width);
  }
};

std::string draw_ratio_axis(const PublishedPlot& plot) {
  constexpr std::array<std::int64_t, 13> wanted{1'000, 2'000, 500, 5'000, 200,   10'000, 100,
                                                1'100, 900,   800, 1'250, 1'500, 700}; // the most wanted first
  std::vector<RowTick> ticks;
  for (const std::int64_t thousandths : wanted) {
    const Px x = plot.x_at(thousandths);
    const bool is_crowded = std::ranges::any_of(
        ticks, [x](const RowTick& tick) { return std::max(tick.x, x) - std::min(tick.x, x) < least_ratio_distance; });
    if (is_crowded || log_ratio(thousandths) < plot.from || log_ratio(thousandths) > plot.to) continue;
    ticks.push_back({x, fmt::format("{:g}", static_cast<double>(thousandths) / static_cast<double>(equal_ratio))});
  }
  std::ranges::sort(ticks, {}, &RowTick::x);
  return draw_row_axis(plot, ticks, "step time: predicted / measured, on a logarithmic axis");
}

std::string draw_set_names(const PublishedPlot& plot) {
  std::vector<RowFigures> figures;
  figures.reserve(plot.errors.sets.size());
  for (const PublishedGroup& set : plot.errors.sets)
    figures.push_back(set.step.runs == 0 ? RowFigures{"-", "-"}
                                         : RowFigures{percent(set.step.median),
                                                      signed_percent(plot.errors.runs[set.step.worst].error())});
  return draw_row_names(plot, set_names(plot.errors), figures, draw_sides(plot, plot.x_at(equal_ratio)));
}

std::string draw_published_runs(const PublishedPlot& plot) {
  std::string out;
  const PublishedErrors& errors = plot.errors;
  std::vector<std::size_t> in_set(errors.sets.size());
  for (const PublishedPrediction& held : errors.runs) {
    const auto row = static_cast<std::size_t>(std::ranges::find(errors.sets, held.run.set, &PublishedGroup::name) -
                                              errors.sets.begin());
    if (held.refused) continue;
    const auto device = static_cast<std::size_t>(std::ranges::find(errors.devices, held.device, &PublishedGroup::name) -
                                                 errors.devices.begin());
    const std::size_t lane = in_set[row]++ % lanes_of_set;
    add_marker(out, style_of(device), plot.x_at(thousandths_of(held)), plot.lane_at(row, lane, lanes_of_set),
               clean_text(fmt::format("{}: {} predicted, {} measured ({})", held.run.name, format_duration(held.step),
                                      format_duration(held.run.step), signed_percent(held.error()))),
               held.run.half == Half::check);
  }
  return draw_group(R"(class="runs")", out);
}

} // namespace

std::string svg_published(const PublishedErrors& errors) {
  const std::size_t predicted = errors.runs.size() - errors.refused();
  const std::string title = fmt::format("Predicted step times held against {}", counted(predicted, "published run"));
  std::vector<std::string> facts{
      fmt::format("green: off by up to {}", given_percent(errors.tolerance.value_or(usual_band)))};
  if (std::ranges::any_of(errors.runs, [](const PublishedPrediction& held) { return held.run.half == Half::check; }))
    facts.emplace_back("hollow: runs of the half to check");
  if (errors.refused() > 0) facts.push_back(fmt::format("{} refused, not shown", errors.refused()));
  const Part head = draw_head({title, std::move(facts), ""}, figure_width);
  const PublishedPlot plot{errors, head.bottom};
  const Part keys = draw_marker_keys(plot, device_names(errors), plot.box.bottom() + px(50));
  return document(title, figure_width, keys.bottom,
                  head.elements +
                      draw_row_ground(plot, plot.x_at(plot.edge(-1)), plot.x_at(plot.edge(1)), plot.x_at(equal_ratio)) +
                      draw_ratio_axis(plot) + draw_set_names(plot) + draw_published_runs(plot) + keys.elements);
}

} // namespace ppsim::viz
