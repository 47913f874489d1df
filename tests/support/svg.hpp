#pragma once
// SVG documents, parsed back.

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "viz/svg/svg_text.hpp"

namespace ppsim::test {

/// An element with the attributes that it and those around it have, and its own text.
struct Element {
  std::string name;
  std::map<std::string, std::string> own;
  std::map<std::string, std::string> inherited;
  std::string text;
  [[nodiscard]] std::string get(const std::string& key) const {
    if (const auto found = own.find(key); found != own.end()) return found->second;
    const auto found = inherited.find(key);
    return found == inherited.end() ? std::string{} : found->second;
  }
  [[nodiscard]] double number(const std::string& key) const { return std::strtod(get(key).c_str(), nullptr); }
};

/// What is wrong with a document, or nothing. More is asked than that pugixml can read it: one element holds all, no
/// attribute occurs twice, there are no control characters but newlines, and of entities only the five that XML has.
[[nodiscard]] std::string xml_fault(const std::string& document);

/// The elements of a document in their order. It must be well-formed.
[[nodiscard]] std::vector<Element> parsed(const std::string& svg);

/// Those of that name, and of that class where one is given.
inline std::vector<Element> elements_named(const std::vector<Element>& elements, std::string_view name,
                                           std::string_view css_class = {}) {
  std::vector<Element> found;
  for (const Element& element : elements)
    if (element.name == name && (css_class.empty() || element.get("class") == css_class)) found.push_back(element);
  return found;
}

/// Where a text begins and ends, by the chart's own upper estimate of letter widths.
inline std::pair<double, double> extent(const Element& text) {
  const auto size = static_cast<std::int64_t>(text.number("font-size") * 100);
  double width = static_cast<double>(viz::text_width(text.text, viz::Px{size}).hundredths) / 100;
  if (text.get("font-weight") == "bold") width *= 1.25;
  const double x = text.number("x");
  if (text.get("text-anchor") == "middle") return {x - width / 2, x + width / 2};
  if (text.get("text-anchor") == "end") return {x - width, x};
  return {x, x + width};
}

/// Texts that stick out of the picture, or touch another one on their line.
inline std::vector<std::string> misplaced_texts(const std::vector<Element>& elements) {
  const double picture_width = elements.front().number("width");
  const double picture_height = elements.front().number("height");
  std::map<std::string, std::map<double, double>> lines; // by y: where texts begin and end
  std::vector<std::string> misplaced;
  for (const Element& text : elements_named(elements, "text")) {
    if (!text.get("transform").empty()) continue; // turned
    const auto [left, right] = extent(text);
    if (left < 0 || right > picture_width || text.number("y") > picture_height) misplaced.push_back(text.text);
    if (!lines[text.get("y")].emplace(left, right).second) misplaced.push_back(text.text);
  }
  for (const auto& [y, texts] : lines)
    for (auto it = texts.begin(); std::next(it) != texts.end(); ++it)
      if (it->second > std::next(it)->first) misplaced.push_back("at y = " + y);
  return misplaced;
}

} // namespace ppsim::test
