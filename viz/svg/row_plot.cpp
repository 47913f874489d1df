#include "row_plot.hpp"

#include <algorithm>

#include "svg_text.hpp"

namespace ppsim::viz {
namespace {

constexpr Px least_row_height = px(22);
constexpr Px row_head_height = px(20);
constexpr Px most_name_width = px(220);
constexpr Px key_pitch = px(18);

} // namespace

RowPlot row_plot(const std::vector<std::string>& names, std::size_t lanes, Px top) {
  RowPlot plot;
  Px widest;
  for (const std::string& name : names) widest = std::max(widest, text_width(clean_text(name), label_size));
  plot.box.x = margin + std::min(widest, most_name_width) + px(10);
  plot.box.y = top + row_head_height;
  plot.box.width = figure_width - margin - figure_column_width * 2 - plot.box.x;
  plot.row_height = std::max(least_row_height, lane_height * static_cast<std::int64_t>(lanes + 1));
  plot.box.height = plot.row_height * static_cast<std::int64_t>(names.size());
  return plot;
}

std::string draw_rows(const RowPlot& plot) {
  const auto rows = static_cast<std::size_t>(plot.box.height.hundredths / plot.row_height.hundredths);
  std::string lines;
  for (std::size_t row = 0; row <= rows; ++row)
    add(lines, "M{} {}H{}", margin, plot.row_top(row), figure_width - margin);
  return draw_path(R"(class="rows" stroke="#d9d9d9" stroke-width="0.8")", lines);
}

std::string draw_row_ground(const RowPlot& plot, Px left, Px right, Px zero) {
  std::string out;
  add(out, "<rect class=\"tolerated\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#e8f0e8\"/>\n", left,
      plot.box.y, right - left, plot.box.height);
  out += draw_rows(plot);
  return out + draw_path(R"(class="zero" stroke="#595959" stroke-width="1")",
                         fmt::format("M{} {}V{}", zero, plot.box.y - px(4), plot.box.bottom() + px(6)));
}

std::string draw_sides(const RowPlot& plot, Px zero) {
  const Px head = plot.box.y - px(7);
  return draw_text({zero - px(8), head}, "predicted too short", R"(text-anchor="end" fill="#595959")") +
         draw_text({zero + px(8), head}, "too long", R"(fill="#595959")");
}

std::string draw_row_axis(const RowPlot& plot, const std::vector<RowTick>& ticks, std::string_view title) {
  std::string lines;
  std::string labels;
  for (const auto& [x, label] : ticks) {
    add(lines, "M{} {}v5", x, plot.box.bottom());
    labels += draw_text({x, plot.box.bottom() + px(18)}, label);
  }
  labels += draw_text({plot.box.middle_x(), plot.box.bottom() + px(38)}, title);
  return draw_path(R"(class="ticks" stroke="#595959" stroke-width="0.8")", lines) +
         draw_group(
             fmt::format(R"(class="tick-labels" font-size="{}" fill="#333333" text-anchor="middle")", label_size),
             labels);
}

std::string draw_row_names(const RowPlot& plot, const std::vector<std::string>& names,
                           const std::vector<RowFigures>& figures, std::string_view heads) {
  const Px first = plot.box.right() + figure_column_width - px(6);
  const Px second = first + figure_column_width;
  const Px head = plot.box.y - px(7);
  constexpr std::string_view ends = R"(text-anchor="end")";
  std::string out = draw_text({first, head}, "median", ends) + draw_text({second, head}, "worst", ends);
  out += heads;
  for (std::size_t row = 0; row < names.size(); ++row) {
    const Px y = base_line(plot.row_top(row) + plot.row_height / 2, label_size);
    out += draw_text({margin, y}, fit_text(clean_text(names[row]), label_size, plot.box.x - margin - px(6)));
    out += draw_text({first, y}, figures[row].median, ends);
    out += draw_text({second, y}, figures[row].worst, ends);
  }
  return draw_group(fmt::format(R"(class="names" font-size="{}" fill="#1a1a1a")", label_size), out);
}

void add_marker(std::string& out, const CurveStyle& style, Px x, Px y, std::string_view tooltip, bool hollow) {
  const std::string colour = to_string(style.colour);
  add(out, R"(<path fill="{0}" fill-opacity="{4}" stroke="{0}" d="M{1} {2}{3}">)", colour, x, y, style.marker,
      hollow ? "0" : "0.75");
  if (!tooltip.empty()) add(out, "<title>{}</title>", escaped(tooltip));
  out += "</path>\n";
}

Part draw_marker_keys(const RowPlot& plot, const std::vector<std::string>& names, Px top) {
  std::string out;
  Px x = plot.box.x;
  Px y = top + key_pitch / 2;
  for (std::size_t number = 0; number < names.size(); ++number) {
    const std::string name = fit_text(clean_text(names[number]), label_size, most_name_width);
    const Px width = px(14) + text_width(name, label_size) + px(16);
    if (x + width > figure_width - margin && x > plot.box.x) {
      x = plot.box.x;
      y += key_pitch;
    }
    add_marker(out, style_of(number), x + px(4), y, "");
    out += draw_text({x + px(14), base_line(y, label_size)}, name);
    x += width;
  }
  return {draw_group(fmt::format(R"(class="keys" font-size="{}" fill="#1a1a1a")", label_size), out), y + key_pitch / 2};
}

} // namespace ppsim::viz
