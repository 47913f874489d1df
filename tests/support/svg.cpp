#include "support/svg.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <set>

#include <pugixml.hpp>

namespace ppsim::test {

namespace {

/// As it is there: spaces and line ends too.
constexpr unsigned parse_flags = pugi::parse_escapes | pugi::parse_ws_pcdata;

/// What pugixml lets pass: it leaves an '&' that begins no entity as it is.
std::string text_fault(std::string_view document) {
  constexpr std::array<std::string_view, 5> entities{"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"};
  for (std::size_t at = 0; at < document.size(); ++at) {
    const std::string_view rest = document.substr(at);
    if (static_cast<unsigned char>(rest.front()) < 0x20 && rest.front() != '\n') return "control character";
    if (rest.front() == '&' &&
        std::ranges::none_of(entities, [&](std::string_view entity) { return rest.starts_with(entity); }))
      return "bare &";
  }
  const std::size_t end = document.rfind('>');
  if (!document.starts_with('<') || document.find_first_not_of('\n', end + 1) != std::string_view::npos)
    return "text outside";
  return {};
}

std::string element_fault(const pugi::xml_node& node) {
  std::set<std::string_view> keys;
  for (const pugi::xml_attribute& attribute : node.attributes())
    if (!keys.insert(attribute.name()).second) return std::string{"attribute twice: "} + attribute.name();
  for (const pugi::xml_node& child : node.children())
    if (std::string fault = element_fault(child); !fault.empty()) return fault;
  return {};
}

std::string document_fault(const std::string& text, pugi::xml_document& document) {
  if (const auto result = document.load_buffer(text.data(), text.size(), parse_flags, pugi::encoding_utf8); !result)
    return result.description();
  if (document.first_child() != document.last_child()) return "more than one element outside";
  const std::string fault = text_fault(text);
  return fault.empty() ? element_fault(document) : fault;
}

void add_elements(const pugi::xml_node& node, const std::map<std::string, std::string>& inherited,
                  std::vector<Element>& elements) {
  Element element{.name = node.name(), .own = {}, .inherited = inherited, .text = {}};
  for (const pugi::xml_attribute& attribute : node.attributes()) element.own[attribute.name()] = attribute.value();
  std::map<std::string, std::string> handed_on = inherited;
  for (const auto& [key, value] : element.own) handed_on[key] = value;
  for (const char* not_inherited : {"x", "y", "width", "height", "d"}) handed_on.erase(not_inherited);
  for (const pugi::xml_node& child : node.children())
    if (child.type() == pugi::node_pcdata) element.text += child.value();
  elements.push_back(std::move(element));
  for (const pugi::xml_node& child : node.children())
    if (child.type() == pugi::node_element) add_elements(child, handed_on, elements);
}

} // namespace

std::string xml_fault(const std::string& document) {
  pugi::xml_document parsed;
  return document_fault(document, parsed);
}

std::vector<Element> parsed(const std::string& svg) {
  pugi::xml_document document;
  REQUIRE(document_fault(svg, document).empty());
  std::vector<Element> elements;
  add_elements(document.document_element(), {}, elements);
  return elements;
}

} // namespace ppsim::test
