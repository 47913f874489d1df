#include "json_windows.hpp"

#include "ppsim/sim/error.hpp"

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

/// How far elements were read, and what stopped it.
struct WindowEnd {
  std::size_t at = 0; ///< of the last whole element, or of the first that is not whole
  bool whole = false; ///< of all elements of the window, `at` is the last
  simdjson::error_code error = simdjson::SUCCESS;
};

class Windows {
public:
  Windows(std::string_view text, ObjectSink& sink) : text_{text}, sink_{sink} {}

  /// Gives the elements in [at, end) to the sink.
  WindowEnd read(std::size_t at, std::size_t end) {
    namespace ondemand = simdjson::ondemand;
    fill(at, end);
    const std::size_t length = end - at + 2;
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
      if (window.error != simdjson::SUCCESS) return window; // what was looked at is not whole
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
  void fill(std::size_t at, std::size_t end) {
    buffer_.clear();
    buffer_ += '[';
    buffer_ += text_.substr(at, end - at);
    buffer_ += ']';
    buffer_.append(simdjson::SIMDJSON_PADDING, '\0');
  }

  std::string_view text_;
  ObjectSink& sink_;
  std::string buffer_;
  simdjson::ondemand::parser parser_;
};

/// Behind the last "}" before `end` that a comma follows; `at` where there is none.
std::size_t border_before(std::string_view text, std::size_t at, std::size_t end) {
  while (end > at + 1) {
    const std::size_t brace = text.rfind('}', end - 1);
    if (brace == std::string_view::npos || brace <= at) return at;
    const std::size_t next = skip_space(text, brace + 1);
    if (next < text.size() && text[next] == ',') return brace + 1;
    end = brace;
  }
  return at;
}

/// One window from `at` on; how far it came.
WindowEnd read_window(Windows& windows, std::string_view text, std::size_t at, const WindowSizes& sizes,
                      std::string_view where) {
  constexpr int most_cuts = 8; // a "}," may stand in a string, and then the window ends in one
  for (std::size_t size = sizes.usual;; size = std::min(size * 4, sizes.most)) {
    const bool is_rest = text.size() - at <= size;
    std::size_t end = is_rest ? text.size() : border_before(text, at, at + size);
    WindowEnd window{.at = at};
    for (int cut = 0; cut < most_cuts && end > at; ++cut) {
      window = windows.read(at, end);
      if (window.error != simdjson::UNCLOSED_STRING || is_rest) break;
      end = border_before(text, at, end - 1);
    }
    if (window.whole || window.at > at) return window;
    if (is_rest) refuse(where, at, fmt::format("this is no JSON: {}", simdjson::error_message(window.error)));
    if (size == sizes.most)
      refuse(where, at, fmt::format("an event of more than {} MiB begins here, or no JSON", sizes.most >> 20U));
  }
}

/// Behind the string that begins at `at`, or behind the end of `text` where that comes first.
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
      if (open == 0) return at; // behind a number
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

std::size_t for_each_object(std::string_view text, std::size_t at, std::string_view where, ObjectSink& sink,
                            const std::function<void(std::size_t)>& progress, bool open_end, const WindowSizes& sizes) {
  Windows windows{text, sink};
  ++at;
  bool behind_element = false;
  while (true) {
    if (progress) progress(at);
    at = skip_space(text, at);
    if (behind_element && at < text.size() && text[at] != ']') {
      if (text[at] != ',') refuse(where, at, "a comma is missing between two events");
      at = skip_space(text, at + 1);
    }
    if (at >= text.size()) {
      if (open_end) return at;
      refuse(where, at, "the list of events has no end");
    }
    if (text[at] == ']') return at + 1;
    const WindowEnd window = read_window(windows, text, at, sizes, where);
    at = window.at;
    behind_element = window.whole;
    if (!window.whole) continue; // the next one begins with the element that was cut
    const std::optional<std::size_t> end = skip_value(text, at);
    if (!end) refuse(where, at, "this event has no end");
    at = *end;
  }
}

} // namespace ppsim::traces
