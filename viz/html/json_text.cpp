#include "json_text.hpp"

#include "ppsim/base/utf8.hpp"

#include <algorithm>

namespace ppsim::viz {

namespace {

void append_character(std::string& out, std::string_view character) {
  if (character == "\"" || character == "\\") {
    out.append("\\").append(character);
  } else if (character == "\n") {
    out += "\\n";
  } else if (begins_with_control(character)) {
    out += fmt::format("\\u{:04x}", static_cast<unsigned char>(character.front()));
  } else {
    out += character;
  }
}

} // namespace

std::string json_string(std::string_view text) {
  std::string out = "\"";
  out.reserve(text.size() + 2);
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    append_character(out, length == 0 ? "\xEF\xBF\xBD" : text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out += '"';
}

std::string compact(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char letter = json[i];
    if (letter == '"') in_string = !in_string;
    if (!in_string && std::string_view{" \n\r\t"}.find(letter) != std::string_view::npos) continue;
    out += letter;
    if (in_string && letter == '\\' && i + 1 < json.size()) out += json[++i];
  }
  return out;
}

std::string in_html(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t next = json.find('<'); next != std::string_view::npos; next = json.find('<')) {
    out.append(json.substr(0, next)).append("\\u003c");
    json.remove_prefix(next + 1);
  }
  return out.append(json);
}

} // namespace ppsim::viz
