// The frame of the chart: document, head, stage labels at the left, time axis below.

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
constexpr Px bottom_margin = px(8);
constexpr std::string_view separator = " | ";

/// Joins the parts into as few lines as possible without breaking a part. A line that others follow ends with
/// `at_break`.
std::vector<std::string> flow(const std::vector<std::string>& parts, Px font_size, Px width,
                              std::string_view at_break = {}) {
  std::vector<std::string> lines;
  for (const std::string& part : parts) {
    const Px room = &part == &parts.back() ? width : width - text_width(at_break, font_size);
    std::string longer = lines.empty() ? part : lines.back() + std::string{separator} + part;
    if (!lines.empty() && text_width(longer, font_size) <= room) {
      lines.back() = std::move(longer);
      continue;
    }
    if (!lines.empty()) lines.back() += at_break;
    lines.push_back(fit_text(part, font_size, room));
  }
  return lines;
}

/// Adds lines of text at the left margin below the previous content.
void add_lines(Part& part, const std::vector<std::string>& lines, Px font_size, std::string_view attributes,
               Px left = margin) {
  for (const std::string& line : lines) {
    part.bottom += font_size + px(5);
    part.elements += draw_text({left, part.bottom}, line, fmt::format("font-size=\"{}\"{}", font_size, attributes));
  }
}

Ticks ticks_of(const Chart& chart) {
  const auto most = static_cast<std::size_t>(chart.plot.width.hundredths / least_tick_distance.hundredths);
  return choose_ticks(Axis::Unit::time, 0, chart.axis.count(), most);
}

/// Calls visit(time) for each tick of the axis.
template <class Visit>
void for_each_tick(const Chart& chart, const Ticks& ticks, Visit visit) {
  for (Duration at{0}; at <= chart.axis; at += Duration{ticks.step}) {
    visit(at);
    if (chart.axis - at < Duration{ticks.step}) break; // the next tick could be beyond the range of time
  }
}

std::string stage_tooltip(const Chart& chart, std::size_t stage) {
  const StageReport& report = chart.report.stages[stage];
  return fmt::format("stage {}: busy {}, idle {}", stage, format_duration(report.busy), format_duration(report.idle));
}

} // namespace

std::string document(std::string_view title, Px width, Px bottom, std::string_view elements) {
  std::string out;
  add(out, R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="img" )",
      width, bottom + bottom_margin);
  out += "font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\">\n";
  add(out, "<title>{}</title>\n", escaped(clean_text(title)));
  out += "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  return out.append(elements) + "</svg>\n";
}

Part draw_head(const Headline& head, Px picture_width) {
  const Px width = picture_width - margin * 2;
  Part part{"<g class=\"head\">\n", px(8)};
  // Bold letters are up to a quarter wider than text_width() assumes.
  add_lines(part, wrap_text(clean_text(head.title), headline_size, width * 4 / 5, 2), headline_size,
            R"( font-weight="bold")");
  add_lines(part, flow(head.essentials, essentials_size, width), essentials_size, "");
  const std::string origin = !head.measured.empty() ? "measured: " + head.measured
                             : !head.source.empty() ? "costs: " + head.source
                                                    : std::string{};
  add_lines(part, wrap_text(clean_text(origin), source_size, width, 2), source_size, R"( fill="#595959")");
  return {part.elements + "</g>\n", part.bottom + px(16)};
}

Part draw_notes(const std::vector<std::string>& notes, Px left, Px right, Px top) {
  Part part{"<g class=\"notes\">\n", top};
  add_lines(part, flow(notes, label_size, right - left, " |"), label_size, R"( fill="#595959")", left);
  part.elements += "</g>\n";
  return part;
}

std::string draw_grid(const Chart& chart) {
  std::string lines;
  for_each_tick(chart, ticks_of(chart), [&](Duration at) {
    add(lines, "M{} {}V{}", chart.x_at(SimTime{at}), chart.plot.y - px(4), chart.plot.bottom() + px(8));
  });
  return draw_path(R"(class="grid" stroke="#d9d9d9" stroke-width="0.8")", lines);
}

std::string draw_time_axis(const Chart& chart) {
  const Ticks ticks = ticks_of(chart);
  const Px bottom = chart.plot.bottom() + px(4);
  std::string labels;
  for_each_tick(chart, ticks, [&](Duration at) {
    labels += draw_text({chart.x_at(SimTime{at}), bottom + px(17)}, tick_label(at.count(), ticks));
  });
  labels += draw_text({chart.plot.middle_x(), bottom + px(34)}, fmt::format("time ({})", ticks.unit_name));
  return draw_path(R"(stroke="#4d4d4d" stroke-width="0.8")",
                   fmt::format("M{} {}H{}", chart.plot.x, bottom, chart.plot.right())) +
         draw_group(fmt::format(R"(class="ticks" font-size="{}" fill="#333333" text-anchor="middle")", label_size),
                    labels);
}

/// A number per row, or per power of two rows if rows are lower than text.
std::string draw_stage_labels(const Chart& chart) {
  std::size_t step = 1;
  while (chart.pitch * static_cast<std::int64_t>(step) < least_label_distance) step *= 2;
  std::string numbers;
  for (std::size_t row = 0; row < chart.rows; row += step) {
    const std::size_t stage = row * chart.stages_per_row;
    const Px y = base_line(chart.bar_box(row, {}).middle_y(), label_size);
    add(numbers, R"(<text x="{}" y="{}">{})", chart.plot.x - px(8), y, stage);
    if (chart.stages_per_row == 1) add(numbers, "<title>{}</title>", stage_tooltip(chart, stage));
    numbers += "</text>\n";
  }
  // Beside a single low row the word would be longer than the plot's height; the position keeps it clear of head and
  // axis.
  const Point middle{px(24), chart.plot.middle_y()};
  return draw_group(fmt::format(R"(class="stages" font-size="{}" fill="#333333" text-anchor="end")", label_size),
                    numbers) +
         fmt::format(R"svg(<g fill="#333333" font-size="{}" text-anchor="middle" transform="rotate(-90 {} {})">)svg",
                     label_size, middle.x, middle.y) +
         fmt::format("<text x=\"{}\" y=\"{}\">stage</text></g>\n", middle.x, middle.y);
}

} // namespace ppsim::viz
