// What stands around the rows: the head above, stage labels at the left, the time axis below.

#include "ppsim/base/words.hpp"

#include "svg_draw.hpp"
#include "svg_text.hpp"
#include "ticks.hpp"

namespace ppsim::viz {

namespace {

constexpr Px headline_size = px(16);
constexpr Px source_size = px(11);
constexpr Px least_tick_distance = px(80);
constexpr Px least_label_distance = px(14);
constexpr std::string_view separator = " | ";

/// What one has to know to read the chart, and the answer it gives.
std::vector<std::string> essentials(const Chart& chart) {
  const Scenario& scenario = chart.graph.scenario();
  const Shape& shape = chart.graph.schedule().shape();
  std::vector<std::string> parts;
  if (!scenario.title.empty()) parts.push_back(clean_text(chart.graph.schedule().name()));
  parts.push_back("p = " + counted(shape.stages, "stage", "s"));
  if (shape.shared > 0) parts.push_back("sharing " + counted(shape.positions(), "position", "s"));
  parts.push_back("m = " + counted(shape.microbatches, "microbatch", "es"));
  // where each direction has its own copy of the model, a stage runs more chunks than v
  const std::size_t held = HeldChunks{chart.graph.schedule()}.most();
  parts.push_back((held == shape.vpp ? "v = " : "") + counted(held, "chunk", "s") + " per stage");
  if (shape.stages > 1 && chart.report.measured.empty())
    parts.push_back(fmt::format("transfer model: {}{}", ppsim::to_string(scenario.network.model),
                                scenario.network.is_free() ? ", no cost" : ""));
  const bool alone = chart.graph.schedule().asynchronous() && !chart.report.measured.empty();
  parts.push_back(fmt::format("{}: {}{}", alone ? "one step alone" : "step time",
                              format_duration(chart.report.step_time),
                              chart.report.step_time_kind == StepTime::Kind::steady_state ? " in steady state" : ""));
  parts.push_back(fmt::format("bubble ratio (idle / total): {:.4f}", chart.report.bubble_ratio));
  return parts;
}

/// Puts the parts into as few lines as they fit in, without breaking one.
std::vector<std::string> flow(const std::vector<std::string>& parts, Px font_size, Px width) {
  std::vector<std::string> lines;
  for (const std::string& part : parts) {
    std::string longer = lines.empty() ? part : lines.back() + std::string{separator} + part;
    if (!lines.empty() && text_width(longer, font_size) <= width)
      lines.back() = std::move(longer);
    else
      lines.push_back(fit_text(part, font_size, width));
  }
  return lines;
}

/// Adds lines of text at the left margin below `bottom`, which moves down.
void add_lines(std::string& out, const std::vector<std::string>& lines, Px font_size, std::string_view attributes,
               Px& bottom, Px left = margin) {
  for (const std::string& line : lines) {
    bottom += font_size + px(5);
    add(out, "<text x=\"{}\" y=\"{}\" font-size=\"{}\"{}>{}</text>\n", left, bottom, font_size, attributes,
        escaped(line));
  }
}

Ticks ticks_of(const Chart& chart) {
  const auto most = static_cast<std::size_t>(chart.plot.width.hundredths / least_tick_distance.hundredths);
  return choose_ticks(chart.axis, most);
}

/// Calls visit(time) for each tick of the axis.
template <class Visit>
void for_each_tick(const Chart& chart, const Ticks& ticks, Visit visit) {
  for (Duration at{0}; at <= chart.axis; at += Duration{ticks.step}) {
    visit(at);
    if (chart.axis - at < Duration{ticks.step}) break; // the next tick could be beyond the range of time
  }
}

void add_axis_line(std::string& out, const Chart& chart, const Ticks& ticks) {
  const Px bottom = chart.plot.bottom() + px(4);
  std::string labels;
  for_each_tick(chart, ticks, [&](Duration at) {
    add(labels, "<text x=\"{}\" y=\"{}\">{}</text>\n", chart.x_at(SimTime{at}), bottom + px(17), tick_label(at, ticks));
  });
  add(out,
      R"(<path stroke="#4d4d4d" stroke-width="0.8" d="M{} {}H{}"/>)"
      "\n",
      chart.plot.x, bottom, chart.plot.right());
  add(out, "<g class=\"ticks\" font-size=\"{}\" fill=\"#333333\" text-anchor=\"middle\">\n{}", label_size, labels);
  add(out, "<text x=\"{}\" y=\"{}\">time ({})</text>\n</g>\n", chart.plot.middle_x(), bottom + px(34), ticks.unit_name);
}

std::string stage_tooltip(const Chart& chart, std::size_t stage) {
  const StageReport& report = chart.report.stages[stage];
  return fmt::format("stage {}: busy {}, idle {}", stage, format_duration(report.busy), format_duration(report.idle));
}

/// A number per row, or per power of two rows where rows are lower than text.
void add_stage_labels(std::string& out, const Chart& chart) {
  std::size_t step = 1;
  while (chart.pitch * static_cast<std::int64_t>(step) < least_label_distance) step *= 2;
  const Px x = chart.plot.x - px(8);
  add(out,
      R"(<g class="stages" font-size="{}" fill="#333333" text-anchor="end">)"
      "\n",
      label_size);
  for (std::size_t row = 0; row < chart.rows; row += step) {
    const std::size_t stage = row * chart.stages_per_row;
    const std::string tooltip = chart.stages_per_row == 1 ? stage_tooltip(chart, stage) : std::string{};
    add(out, R"(<text x="{}" y="{}">{})", x, chart.bar_box(row, {}).middle_y() + label_size * 36 / 100, stage);
    if (!tooltip.empty()) add(out, "<title>{}</title>", tooltip);
    out += "</text>\n";
  }
  out += "</g>\n";
  // Beside a single low row the word would be longer than the plot is high, but it stays clear of head and axis.
  const Px middle = chart.plot.middle_y();
  add(out, R"svg(<g fill="#333333" font-size="{}" text-anchor="middle" transform="rotate(-90 {} {})">)svg", label_size,
      px(24), middle);
  add(out,
      R"(<text x="{}" y="{}">stage</text></g>)"
      "\n",
      px(24), middle);
}

} // namespace

std::string svg_opening(Px width, Px height, std::string_view title) {
  std::string out;
  add(out, R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="img" )",
      width, height);
  out += R"(font-family="DejaVu Sans, Helvetica, Arial, sans-serif">)"
         "\n";
  add(out, "<title>{}</title>\n", escaped(clean_text(title)));
  out += R"(<rect width="100%" height="100%" fill="#ffffff"/>)"
         "\n";
  return out;
}

std::string draw_head(const Headline& head, Px picture_width, Px& height) {
  const Px width = picture_width - margin * 2;
  std::string out = "<g class=\"head\">\n";
  Px bottom = px(8);
  // Bold letters are up to a quarter wider than those that text_width() knows.
  add_lines(out, wrap_text(clean_text(head.title), headline_size, width * 4 / 5, 2), headline_size,
            R"( font-weight="bold")", bottom);
  add_lines(out, flow(head.essentials, essentials_size, width), essentials_size, "", bottom);
  const std::string origin = !head.measured.empty() ? "measured: " + head.measured
                             : !head.source.empty() ? "costs: " + head.source
                                                    : std::string{};
  if (!origin.empty())
    add_lines(out, wrap_text(clean_text(origin), source_size, width, 2), source_size, R"( fill="#595959")", bottom);
  height = bottom + px(16);
  return out += "</g>\n";
}

std::string draw_notes(const std::vector<std::string>& notes, Px left, Px right, Px& bottom) {
  std::string out = "<g class=\"notes\">\n";
  add_lines(out, flow(notes, label_size, right - left), label_size, R"( fill="#595959")", bottom, left);
  return out += "</g>\n";
}

std::string draw_head(const Chart& chart, Px& height) {
  const Scenario& scenario = chart.graph.scenario();
  Headline head{scenario.title.empty() ? chart.graph.headline() : scenario.title, essentials(chart), scenario.source,
                chart.report.measured};
  if (!head.measured.empty()) head.title += ", measured";
  return draw_head(head, chart.width, height);
}

std::string draw_grid(const Chart& chart) {
  std::string lines;
  for_each_tick(chart, ticks_of(chart), [&](Duration at) {
    add(lines, "M{} {}V{}", chart.x_at(SimTime{at}), chart.plot.y - px(4), chart.plot.bottom() + px(8));
  });
  return fmt::format("<path class=\"grid\" stroke=\"#d9d9d9\" stroke-width=\"0.8\" d=\"{}\"/>\n", lines);
}

std::string draw_time_axis(const Chart& chart) {
  std::string out;
  add_axis_line(out, chart, ticks_of(chart));
  return out;
}

std::string draw_stage_labels(const Chart& chart) {
  std::string out;
  add_stage_labels(out, chart);
  return out;
}

std::string draw_axes(const Chart& chart) {
  std::string out;
  if (chart.report.makespan.count() == 0)
    add(out,
        R"(<text x="{}" y="{}" font-size="{}" fill="#595959" text-anchor="middle">every task takes no time</text>)"
        "\n",
        chart.plot.middle_x(), chart.plot.middle_y() + essentials_size * 36 / 100, essentials_size);
  return out + draw_grid(chart) + draw_time_axis(chart) + draw_stage_labels(chart);
}

} // namespace ppsim::viz
