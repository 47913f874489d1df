#pragma once
// SVG documents, parsed back.

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <functional>
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

/// The elements of a document in order. Strict about what it knows of XML: tags nest, attributes are quoted and occur
/// once, text holds no bare '&', and only the five entities are used. `fault` says what is wrong first.
class XmlReader {
public:
  explicit XmlReader(std::string_view text) : rest_{text} {
    while (!rest_.empty() && fault.empty()) {
      if (rest_.starts_with("</"))
        close();
      else if (rest_.front() == '<')
        open();
      else
        read_text();
    }
    if (fault.empty() && !stack_.empty()) fault = "never closed: " + elements[stack_.back()].name;
  }
  std::vector<Element> elements;
  std::string fault;

private:
  std::string_view take(std::size_t count) {
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string take_until(std::string_view stops) {
    return std::string{take(std::min(rest_.find_first_of(stops), rest_.size()))};
  }
  std::string decoded(std::string_view raw) {
    static const std::map<std::string, char, std::less<>> entities{
        {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    std::string result;
    while (!raw.empty()) {
      if (raw.front() != '&') {
        const auto byte = static_cast<unsigned char>(raw.front());
        if (byte < 0x20 && byte != '\n') fault = "control character";
        result += raw.front();
        raw.remove_prefix(1);
        continue;
      }
      const std::string_view entity = raw.substr(0, raw.find(';') + 1);
      const auto found = entities.find(entity);
      if (entity.empty() || found == entities.end()) {
        fault = "bare &";
        return result;
      }
      result += found->second;
      raw.remove_prefix(entity.size());
    }
    return result;
  }
  void open() {
    take(1);
    Element element;
    element.name = take_until(" />");
    if (!stack_.empty()) {
      element.inherited = elements[stack_.back()].inherited;
      for (const auto& [key, value] : elements[stack_.back()].own) element.inherited[key] = value;
      for (const char* not_inherited : {"x", "y", "width", "height", "d"}) element.inherited.erase(not_inherited);
    }
    while (rest_.starts_with(' ')) {
      take(1);
      const std::string key = take_until("=<>");
      if (!rest_.starts_with("=\"")) return fail("attribute without value: " + key);
      take(2);
      if (!element.own.emplace(key, decoded(take_until("\""))).second) return fail("attribute twice: " + key);
      take(1);
    }
    elements.push_back(element);
    if (rest_.starts_with("/>")) {
      take(2);
    } else if (rest_.starts_with(">")) {
      take(1);
      stack_.push_back(elements.size() - 1);
    } else {
      fail("tag does not end: " + element.name);
    }
  }
  void close() {
    take(2);
    const std::string name = take_until(">");
    take(1);
    if (stack_.empty() || elements[stack_.back()].name != name) return fail("closed but not open: " + name);
    stack_.pop_back();
  }
  void read_text() {
    const std::string text = decoded(take_until("<"));
    if (!stack_.empty())
      elements[stack_.back()].text += text;
    else if (text.find_first_not_of('\n') != std::string::npos)
      fail("text outside: " + text);
  }
  void fail(const std::string& what) { fault = what; }
  std::string_view rest_;
  std::vector<std::size_t> stack_;
};

/// The elements of a document, which must be well-formed.
inline std::vector<Element> parsed(std::string_view svg) {
  XmlReader reader{svg};
  REQUIRE(reader.fault.empty());
  return std::move(reader.elements);
}

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
