#include "json_windows.hpp"

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace ppsim::traces {
namespace {

constexpr std::string_view spaces = " \t\r\n";
constexpr std::string_view copy_again = "profile or copy it again: it seems to be cut off or damaged";

[[noreturn]] void refuse(std::string_view where, std::size_t at, std::string what) {
  throw Error{ExitCode::bad_input,
              {fmt::format("{}, byte {}", where, at + 1), std::move(what), std::string{copy_again}}};
}

/// How far elements were read, and the reason for the end.
struct WindowEnd {
  std::size_t at = 0; ///< end of the last complete element, or start of the first incomplete one
  bool whole = false; ///< `at` is after the last element of the window
  simdjson::error_code error = simdjson::SUCCESS;
};

class Windows {
public:
  explicit Windows(ObjectSink& sink) : sink_{sink} {}

  /// Passes the elements in `text` to the sink; `at` is its position.
  WindowEnd read(std::string_view text, std::size_t at) {
    namespace ondemand = simdjson::ondemand;
    fill(text);
    const std::size_t length = text.size() + 2;
    WindowEnd window{.at = at};
    ondemand::document document;
    ondemand::array array;
    window.error = parser_.iterate(simdjson::padded_string_view{buffer_.data(), length, buffer_.size()}).get(document);
    if (window.error == simdjson::SUCCESS) window.error = document.get_array().get(array);
    if (window.error != simdjson::SUCCESS) return window;
    bool looked = false;
    auto element = array.begin();
    const auto last = array.end();
    for (; element != last; ++element) {
      ondemand::value value;
      window.error = (*element).get(value);
      if (window.error != simdjson::SUCCESS) return window; // the current element is incomplete
      if (looked) sink_.take();
      window.at = at + static_cast<std::size_t>(value.raw_json_token().data() - buffer_.data()) - 1;
      ondemand::object object;
      window.error = value.get_object().get(object);
      if (window.error == simdjson::SUCCESS) window.error = sink_.look(object);
      if (window.error != simdjson::SUCCESS) return window;
      looked = true;
    }
    if (looked) sink_.take();
    window.whole = looked;
    return window;
  }

private:
  void fill(std::string_view text) {
    buffer_.clear();
    buffer_ += '[';
    buffer_ += text;
    buffer_ += ']';
    buffer_.append(simdjson::SIMDJSON_PADDING, '\0');
  }

  ObjectSink& sink_;
  std::string buffer_;
  simdjson::ondemand::parser parser_;
};

/// The position after the last "}" before `end` that is followed by a comma; 0 if there is none.
std::size_t border_before(std::string_view text, std::size_t end) {
  while (end > 1) {
    const std::size_t brace = text.rfind('}', end - 1);
    if (brace == std::string_view::npos || brace == 0) return 0;
    const std::size_t next = skip_space(text, brace + 1);
    if (next < text.size() && text[next] == ',') return brace + 1;
    end = brace;
  }
  return 0;
}

/// Reads one window from `at`; returns its end.
WindowEnd read_window(Windows& windows, TextSource& source, std::size_t at, const WindowSizes& sizes,
                      std::string_view where) {
  constexpr int most_cuts = 8; // a "}," may be inside a string, and then the window ends inside an element
  for (std::size_t size = sizes.usual;; size = std::min(size * 4, sizes.most)) {
    const std::string_view text = source.from(at, size + 1);
    const bool is_rest = text.size() <= size;
    std::size_t end = is_rest ? text.size() : border_before(text, size);
    WindowEnd window{.at = at};
    for (int cut = 0; cut < most_cuts && end > 0; ++cut) {
      window = windows.read(text.substr(0, end), at);
      if (window.error != simdjson::UNCLOSED_STRING || is_rest) break;
      end = border_before(text, end - 1);
    }
    if (window.whole || window.at > at) return window;
    if (is_rest) refuse(where, at, fmt::format("this is not JSON: {}", simdjson::error_message(window.error)));
    if (size == sizes.most)
      refuse(where, at,
             fmt::format("an event of more than {} MiB starts here, or this is not JSON", sizes.most >> 20U));
  }
}

/// The position after the string that begins at `at`, or the end of `text` if that comes first.
std::size_t skip_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at + 1;
}

} // namespace

std::size_t skip_space(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(spaces, at), text.size());
}

std::optional<std::size_t> skip_value(std::string_view text, std::size_t at) {
  const auto is_one_of = [](std::string_view chars, char c) { return chars.find(c) != std::string_view::npos; };
  std::size_t open = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = skip_string(text, at);
      if (at > text.size()) return std::nullopt;
    } else if (is_one_of("{[", c)) {
      ++open;
      ++at;
    } else if (is_one_of("}]", c)) {
      if (open == 0) return at; // after a number
      --open;
      ++at;
    } else {
      if (open == 0 && c == ',') return at;
      at = std::min(text.find_first_of("\"{}[],", at + 1), text.size());
      continue;
    }
    if (open == 0) return at;
  }
  return open == 0 && !text.empty() ? std::optional{at} : std::nullopt;
}

std::size_t skip_space(TextSource& text, std::size_t at) {
  constexpr std::size_t least = std::size_t{1} << 12U;
  while (true) {
    const std::string_view part = text.from(at, least);
    const std::size_t space = skip_space(part, 0);
    at += space;
    if (space < part.size() || part.empty()) return at;
  }
}

std::optional<std::string_view> value_at(TextSource& text, std::size_t at) {
  constexpr std::size_t first = std::size_t{1} << 16U;
  constexpr std::size_t most = std::size_t{1} << 30U;
  for (std::size_t least = first; least <= most; least *= 2) {
    const std::string_view part = text.from(at, least);
    const std::optional<std::size_t> end = skip_value(part, 0);
    const bool is_whole = end && (*end < part.size() || text.has_all()); // a number may continue
    if (is_whole) return part.substr(0, *end);
    if (text.has_all()) break;
  }
  return std::nullopt;
}

std::size_t for_each_object(TextSource& text, std::size_t at, std::string_view where, ObjectSink& sink,
                            const std::function<void(double)>& progress, const WindowSizes& sizes) {
  Windows windows{sink};
  ++at;
  bool behind_element = false;
  while (true) {
    if (progress) progress(text.share());
    at = skip_space(text, at);
    if (behind_element && !text.is_at(at, ']') && !text.from(at, 1).empty()) {
      if (!text.is_at(at, ',')) refuse(where, at, "a comma is missing between two events");
      at = skip_space(text, at + 1);
    }
    if (text.from(at, 1).empty()) refuse(where, at, "the list of events has no end");
    if (text.is_at(at, ']')) return at + 1;
    const WindowEnd window = read_window(windows, text, at, sizes, where);
    at = window.at;
    behind_element = window.whole;
    if (!window.whole) continue; // the next one begins with the truncated element
    const std::optional<std::string_view> last = value_at(text, at);
    if (!last) refuse(where, at, "this event has no end");
    at += last->size();
  }
}

} // namespace ppsim::traces
