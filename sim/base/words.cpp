#include "ppsim/base/words.hpp"

#include "ppsim/base/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ppsim {

std::string counted(std::size_t count, std::string_view noun, std::string_view plural_ending) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : plural_ending);
}

std::string toml_string(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0)
      result += '?';
    else if (begins_with_control(text))
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(text.front()));
    else if (text.front() == '"' || text.front() == '\\')
      result += {'\\', text.front()};
    else
      result += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result + '"';
}

} // namespace ppsim
