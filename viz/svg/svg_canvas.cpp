#include "svg_canvas.hpp"

#include "svg_text.hpp"

namespace ppsim::viz {

std::string draw_path(std::string_view attributes, std::string_view data) {
  return fmt::format("<path {} d=\"{}\"/>\n", attributes, data);
}

std::string draw_rect(const Box& box, std::string_view attributes) {
  return fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" {}/>)", box.x, box.y, box.width, box.height,
                     attributes) +
         '\n';
}

std::string draw_text(Point at, std::string_view text, std::string_view attributes) {
  return fmt::format("<text x=\"{}\" y=\"{}\"{}{}>{}</text>\n", at.x, at.y, attributes.empty() ? "" : " ", attributes,
                     escaped(text));
}

std::string draw_group(std::string_view attributes, std::string_view elements) {
  return fmt::format("<g {}>\n{}</g>\n", attributes, elements);
}

void add_box(std::string& out, const Box& box, std::string_view tooltip) {
  add(out, R"(<rect x="{}" y="{}" width="{}" height="{}")", box.x, box.y, box.width, box.height);
  if (tooltip.empty())
    out += "/>\n";
  else
    add(out, "><title>{}</title></rect>\n", escaped(tooltip));
}

void add_box_path(std::string& out, const Box& box) {
  add(out, "M{} {}h{}v{}H{}z", box.x, box.y, box.width, box.height, box.x);
}

} // namespace ppsim::viz

fmt::format_context::iterator fmt::formatter<ppsim::viz::Px>::format(ppsim::viz::Px length, format_context& context) {
  const std::int64_t size = length.hundredths < 0 ? -length.hundredths : length.hundredths;
  const std::string text = fmt::format("{}{}.{:02}", length.hundredths < 0 ? "-" : "", size / 100, size % 100);
  return std::copy(text.begin(), text.end(), context.out());
}
