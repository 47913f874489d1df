// What steps take where tasks vary, schedule by schedule.
//
//   title                                              median     p95
//     zb-v          |   .oOo.      :                   106 ms  108 ms
//     zb-h1             |    .:oOOo:.                  113 ms  116 ms
//                            (a line at the figure by which they are ranked, of the one to take)
//     100        105        110         step time (ms)
//   shape: how often, bar: p5 to p95, broad: middle half, ...
//
// A row per schedule: how often steps take how long, as a shape on both sides of its middle line. Places are integers,
// as in the charts; so are the heights, which are sums over the quantiles.

#include "ppsim/base/words.hpp"
#include "ppsim/study/run_report.hpp"
#include "ppsim/viz/comparison.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "row_plot.hpp"
#include "svg_draw.hpp"
#include "svg_text.hpp"
#include "ticks.hpp"
#include "words/figures.hpp"

namespace ppsim::viz {
namespace {

constexpr std::size_t lanes_of_spread = 7; // of height
constexpr Px shape_step = px(2);
constexpr Px least_spread_tick = px(70);
/// Rows whose median is more than this many times that of the first are left out: they would press the others together.
constexpr std::int64_t longest_drawn = 2;
constexpr Colour shape_of_first{0x92, 0xC5, 0xDE}, shape_of_others{0xD0, 0xD0, 0xD0};
constexpr std::string_view ink = "#1a1a1a";

/// At a share in hundredths.
Duration at_percent(const StepSpread& spread, std::size_t percent) {
  return spread.quantiles[percent * StepSpread::quantile_count / 100];
}

/// Where things stand in the picture.
struct SpreadPlot : RowPlot {
  SpreadPlot(const std::vector<const Contender*>& shown, const std::vector<std::string>& names, Px top)
      : RowPlot{row_plot(names, lanes_of_spread, top)}, rows{shown} {
    const Px wider = (box.x - margin) / 4; // for bold letters
    box.x += wider;
    box.width = box.width - wider - px(20); // a shape may end beyond its last step
    Duration least = Duration::max();
    Duration most{0};
    for (const Contender* row : rows) {
      const StepSpread& spread = *row->report.spread;
      least = std::min({least, spread.quantiles.front(), row->report.step_time});
      most = std::max({most, spread.quantiles.back(), row->report.step_time});
    }
    const std::int64_t free = std::max<std::int64_t>((most - least).count() / 32, 1);
    from = std::max<std::int64_t>(least.count() - free, 0);
    to = most.count() + free;
    ticks = choose_ticks(Axis::Unit::time, from, to,
                         static_cast<std::size_t>(box.width.hundredths / least_spread_tick.hundredths));
  }

  const std::vector<const Contender*>& rows;
  std::int64_t from = 0, to = 1; ///< of the axis, in nanoseconds
  Ticks ticks;

  [[nodiscard]] Px x_at(Duration time) const {
    return box.x + share_of(std::clamp(time.count(), from, to) - from, to - from, box.width);
  }
  [[nodiscard]] Px middle_of(std::size_t row) const { return row_top(row) + row_height / 2; }
};

/// How often steps end near each place, from the first place to the last, `shape_step` apart.
struct Frequencies {
  Px first;
  std::vector<std::int64_t> heights;
};

/// By a kernel (1 - (d / h)^2)^2 around each quantile, half the middle half wide, in whole numbers.
Frequencies frequencies_of(const SpreadPlot& plot, const StepSpread& spread) {
  constexpr std::int64_t scale = 1024;
  const Px width = std::max((plot.x_at(at_percent(spread, 75)) - plot.x_at(at_percent(spread, 25))) / 2, px(2));
  Frequencies found{.first = plot.x_at(spread.quantiles.front()) - width, .heights = {}};
  const Px end = plot.x_at(spread.quantiles.back()) + width;
  for (Px x = found.first; x <= end; x += shape_step) {
    std::int64_t height = 0;
    for (const Duration time : spread.quantiles) {
      const std::int64_t distance = (plot.x_at(time) - x).hundredths * scale / width.hundredths;
      const std::int64_t near = std::max<std::int64_t>(scale * scale - distance * distance, 0);
      height += near * near;
    }
    found.heights.push_back(height);
  }
  return found;
}

/// The shape of a row: as wide at its most frequent time as the row is high, but for a gap.
std::string shape_path(const SpreadPlot& plot, std::size_t row) {
  const Frequencies shape = frequencies_of(plot, *plot.rows[row]->report.spread);
  const std::int64_t most = std::max<std::int64_t>(std::ranges::max(shape.heights), 1);
  const auto count = static_cast<std::int64_t>(shape.heights.size());
  std::string path;
  const auto add_point = [&](std::int64_t i, int side) {
    const Px half = share_of(shape.heights[static_cast<std::size_t>(i)], most, plot.row_height / 2 - px(4));
    add(path, "{}{} {}", path.empty() ? "M" : "L", shape.first + shape_step * i, plot.middle_of(row) + half * side);
  };
  for (std::int64_t i = 0; i < count; ++i) add_point(i, -1);
  for (std::int64_t i = count - 1; i >= 0; --i) add_point(i, 1);
  return path + "z";
}

constexpr std::string_view diamond = "m0 -3.6l3.6 3.6l-3.6 3.6l-3.6 -3.6z";

/// What is on the middle line of a shape; the legend shows the same.
struct SpreadMarks {
  Px y, p5, p25, p50, mean, p75, p95, without_jitter;
};
std::string draw_marks(const SpreadMarks& marks) {
  std::string out = draw_path(fmt::format(R"(stroke="{}" stroke-width="1.2")", ink),
                              fmt::format("M{} {}H{}M{} {}v6M{} {}v6", marks.p5, marks.y, marks.p95, marks.p5,
                                          marks.y - px(3), marks.p95, marks.y - px(3)));
  out += draw_path(fmt::format(R"(stroke="{}" stroke-width="9")", ink),
                   fmt::format("M{} {}H{}", marks.p25, marks.y, marks.p75));
  out += draw_path(R"(class="without" stroke="#0b5394" stroke-width="2.4")",
                   fmt::format("M{} {}v18", marks.without_jitter, marks.y - px(9)));
  out += draw_path(R"(class="median" stroke="#ffffff" stroke-width="2")",
                   fmt::format("M{} {}v13", marks.p50, marks.y - Px{650}));
  return out + draw_path(fmt::format(R"(class="mean" fill="#ffb000" stroke="{}" stroke-width="0.8")", ink),
                         fmt::format("M{} {}{}", marks.mean, marks.y, diamond));
}

std::string draw_spread(const SpreadPlot& plot, std::size_t row, bool is_first) {
  const Contender& contender = *plot.rows[row];
  const StepSpread& spread = *contender.report.spread;
  const std::string words = clean_text(fmt::format(
      "{}: {} without jitter; {} on average, at most {} in 5 %, {} in half, {} in 95 % and {} in 99 % of all "
      "steps",
      contender.name, format_duration(contender.report.step_time), format_duration(spread.mean),
      format_duration(at_percent(spread, 5)), format_duration(spread.p50), format_duration(spread.p95),
      format_duration(spread.p99)));
  std::string out;
  add(out,
      "<path class=\"shape\" fill=\"{}\" stroke=\"#595959\" stroke-width=\"0.7\" d=\"{}\"><title>{}</title></path>\n",
      to_string(is_first ? shape_of_first : shape_of_others), shape_path(plot, row), escaped(words));
  return out + draw_marks({.y = plot.middle_of(row),
                           .p5 = plot.x_at(at_percent(spread, 5)),
                           .p25 = plot.x_at(at_percent(spread, 25)),
                           .p50 = plot.x_at(spread.p50),
                           .mean = plot.x_at(spread.mean),
                           .p75 = plot.x_at(at_percent(spread, 75)),
                           .p95 = plot.x_at(spread.p95),
                           .without_jitter = plot.x_at(contender.report.step_time)});
}

/// Names at the left, that of the first bold; median and p95 at the right.
std::string draw_spread_names(const SpreadPlot& plot, const Contender* recommended) {
  const Px first = figure_width - margin - px(6) - figure_column_width;
  const Px second = first + figure_column_width;
  constexpr std::string_view ends = R"(text-anchor="end")";
  std::string out =
      draw_text({first, plot.box.y - px(7)}, "median", ends) + draw_text({second, plot.box.y - px(7)}, "p95", ends);
  for (std::size_t row = 0; row < plot.rows.size(); ++row) {
    const Contender& contender = *plot.rows[row];
    const bool bold = &contender == recommended;
    const Px y = base_line(plot.middle_of(row), label_size);
    const Px room = (plot.box.x - margin - px(6)) * 4 / 5; // bold letters are wider
    out += draw_text({margin, y}, fit_text(clean_text(contender.name), label_size, bold ? room : room * 5 / 4),
                     bold ? R"(font-weight="bold")" : "");
    out += draw_text({first, y}, format_duration(contender.report.spread->p50), ends);
    out += draw_text({second, y}, format_duration(contender.report.spread->p95), ends);
  }
  return draw_group(fmt::format(R"(class="names" font-size="{}" fill="{}")", label_size, ink), out);
}

/// Lines between the rows and at the ticks, and the axis below.
std::string draw_spread_ground(const SpreadPlot& plot) {
  std::string grid;
  std::vector<RowTick> ticks;
  for (const auto& [value, label] : marks_at(plot.from, plot.to, plot.ticks)) {
    ticks.push_back({plot.x_at(Duration{value}), label});
    add(grid, "M{} {}V{}", ticks.back().x, plot.box.y, plot.box.bottom());
  }
  const std::string title =
      in_unit("step time", plot.ticks) + (plot.from > 0 ? ", on an axis that does not begin at zero" : std::string{});
  return draw_path(grid_look, grid) + draw_rows(plot) + draw_row_axis(plot, ticks, title);
}

/// What others are held against: a line through all rows.
std::string draw_spread_reference(const SpreadPlot& plot, Duration figure) {
  return draw_path(
      fmt::format(R"(class="reference" stroke="{}" stroke-width="1.2" stroke-dasharray="5 3")", to_string(mark_stroke)),
      fmt::format("M{} {}V{}", plot.x_at(figure), plot.box.y - px(4), plot.box.bottom() + px(4)));
}

/// One row's marks, and what each of them is.
Part draw_spread_key(Px top) {
  constexpr std::int64_t width = 190;
  const Px left = margin + px(4);
  const Px y = top + px(12);
  const auto at = [&](std::int64_t part) { return left + px(width) * part / 100; };
  std::string out = draw_marks({y, at(8), at(30), at(45), at(52), at(66), at(90), at(0)});
  const std::string words =
      "thin: 5 % to 95 % of steps | thick: their middle half | white line: median | diamond: mean | "
      "blue bar: without jitter | shape: how often";
  out += draw_text({left + px(width) + px(14), base_line(y, label_size)}, words);
  return {draw_group(fmt::format(R"(class="keys" font-size="{}" fill="{}")", label_size, ink), out), y + px(14)};
}

/// The one whose line is drawn: the recommended one, or else the first that was sampled.
const Contender* reference_of(const Comparison& comparison) {
  if (comparison.recommendation) {
    const Contender& recommended = comparison.contenders[comparison.recommendation->best];
    if (recommended.report.spread) return &recommended;
  }
  const auto first =
      std::ranges::find_if(comparison.contenders, [](const Contender& each) { return each.report.spread.has_value(); });
  return first == comparison.contenders.end() ? nullptr : &*first;
}

/// Those that are drawn, in their order: that one, and others that take not much longer. The names of those that are
/// not, with the reason.
std::vector<const Contender*> drawn_spreads(const Comparison& comparison, const Contender& reference,
                                            std::vector<std::string>& notes) {
  std::vector<const Contender*> drawn;
  for (const Contender& each : comparison.contenders) {
    if (!each.report.spread)
      notes.push_back(fmt::format("{} is not sampled", clean_text(each.name)));
    else if (each.report.spread->p50 / longest_drawn > reference.report.spread->p50)
      notes.push_back(
          fmt::format("{} is not drawn: median {}", clean_text(each.name), format_duration(each.report.spread->p50)));
    else
      drawn.push_back(&each);
  }
  return drawn;
}

} // namespace

std::string svg_step_spread(const Comparison& comparison) {
  std::vector<std::string> notes;
  const Contender* const reference = reference_of(comparison);
  PPSIM_ASSERT(reference != nullptr); // compare refuses what has none
  const std::vector<const Contender*> rows = drawn_spreads(comparison, *reference, notes);
  std::vector<std::string> essentials{"p = " + counted(comparison.stages, "stage"),
                                      "m = " + counted(comparison.microbatches, "microbatch", "es")};
  std::ranges::transform(sampled_words(rows.front()->report.spread->of), std::back_inserter(essentials), clean_text);
  const std::optional<Duration> figure = comparison.figure_of(*reference);
  if (figure)
    essentials.push_back(
        fmt::format("dashed line: {} of {}", to_string(comparison.ranked_by), clean_text(reference->name)));
  const std::string title = comparison.title.empty()
                                ? "What a step takes with jitter: " + counted(rows.size(), "schedule")
                                : comparison.title;
  const Part head = draw_head({title, std::move(essentials), comparison.source}, figure_width);
  std::vector<std::string> names;
  names.reserve(rows.size());
  for (const Contender* row : rows) names.push_back(row->name);
  const SpreadPlot plot{rows, names, head.bottom};
  std::string shapes;
  for (std::size_t row = 0; row < rows.size(); ++row) shapes += draw_spread(plot, row, rows[row] == reference);
  Part end = draw_spread_key(plot.box.bottom() + px(48));
  if (!notes.empty()) {
    const Part said = draw_notes(notes, margin, figure_width - margin, end.bottom);
    end = {end.elements + said.elements, said.bottom};
  }
  return document(title, figure_width, end.bottom,
                  head.elements + draw_spread_ground(plot) + draw_group(R"(class="spreads")", shapes) +
                      (figure ? draw_spread_reference(plot, *figure) : std::string{}) +
                      draw_spread_names(plot, reference) + end.elements);
}

} // namespace ppsim::viz
