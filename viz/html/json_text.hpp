#pragma once
// JSON as text, written value by value.

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ppsim::viz {

/// A JSON string. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string json_string(std::string_view text);

/// A JSON value as text.
class JsonText {
public:
  // NOLINTBEGIN(google-explicit-constructor,hicpp-explicit-conversions): a value is its JSON
  JsonText(std::nullptr_t) : text_{"null"} {}
  template <std::convertible_to<std::string_view> Text>
  JsonText(const Text& text) : text_{json_string(text)} {}
  template <std::integral Number>
  JsonText(Number number) : text_{fmt::format("{}", number)} {}
  /// Null if the number is not finite.
  JsonText(double number) : text_{std::isfinite(number) ? fmt::format("{}", number) : "null"} {}
  // NOLINTEND(google-explicit-constructor,hicpp-explicit-conversions)
  /// Text that is already JSON.
  [[nodiscard]] static JsonText as_is(std::string json) {
    JsonText value{nullptr};
    value.text_ = std::move(json);
    return value;
  }
  [[nodiscard]] const std::string& text() const& { return text_; }
  [[nodiscard]] std::string text() && { return std::move(text_); }

private:
  std::string text_;
};

/// An object, member by member.
class JsonObject {
public:
  JsonObject& add(std::string_view key, const JsonText& value) {
    if (text_.size() > 1) text_ += ',';
    text_.append(json_string(key)).append(":").append(value.text());
    return *this;
  }
  [[nodiscard]] JsonText value() const { return JsonText::as_is(text_ + '}'); }

private:
  std::string text_ = "{";
};

/// An array with the results of `make` for `items`.
template <class Items, class Make>
[[nodiscard]] JsonText json_list(const Items& items, Make make) {
  std::string text = "[";
  for (const auto& item : items) {
    if (text.size() > 1) text += ',';
    text += JsonText{make(item)}.text();
  }
  return JsonText::as_is(text + ']');
}

/// An array of values of any kinds.
template <class... Values>
[[nodiscard]] JsonText json_tuple(const Values&... values) {
  std::string text = "[";
  ((text.append(text.size() > 1 ? "," : "").append(JsonText{values}.text())), ...);
  return JsonText::as_is(text + ']');
}

/// `json` without whitespace between values.
[[nodiscard]] std::string compact(std::string_view json);

/// `json` with each `<` escaped (it occurs only in strings), as needed inside an HTML element.
[[nodiscard]] std::string in_html(std::string_view json);

} // namespace ppsim::viz
