#pragma once
// How the value of an option is read. Each setter returns what is wrong with it, or nothing.

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "options.hpp"

namespace ppsim::cli {

using Result = std::optional<Wrong>;

template <class Member>
struct MemberValue;
template <class Value, class Holder>
struct MemberValue<std::optional<Value> Holder::*> {
  using type = Value;
};
template <auto member>
using ValueOf = typename MemberValue<decltype(member)>::type;

/// Which whole numbers are taken.
struct CountRange {
  std::size_t least = 1;
  std::size_t most = std::numeric_limits<std::size_t>::max();
};
[[nodiscard]] Result parse_count(std::string_view text, const CountRange& range, std::size_t& value);

/// Whoever has the member.
template <class Value, class Holder>
Value& place_in(Inputs& inputs, Value Holder::*member) {
  return inputs.*member;
}
template <class Value>
Value& place_in(Inputs& inputs, Value Training::*member) {
  return inputs.training.*member;
}
template <class Value>
Value& place_in(Inputs& inputs, Value runtime::Workload::*member) {
  return inputs.workload.*member;
}

template <class Value>
struct WithoutOptional {
  using type = Value;
};
template <class Value>
struct WithoutOptional<std::optional<Value>> {
  using type = Value;
};

template <auto member, std::size_t most, std::size_t least>
Result set_count(Inputs& inputs, std::string_view text) {
  std::size_t number = 0;
  if (auto wrong = parse_count(text, {least, most}, number)) return wrong;
  auto& place = place_in(inputs, member);
  place = static_cast<typename WithoutOptional<std::remove_reference_t<decltype(place)>>::type>(number);
  return std::nullopt;
}
/// How a member of Inputs, Training or Workload that counts something is read. Each has a limit, so that no product of
/// them can overflow unseen; whether they fit each other is said elsewhere.
template <auto member, std::size_t most, std::size_t least = 1>
inline constexpr Setter count{set_count<member, most, least>, most};

/// "on" or "off".
[[nodiscard]] Result parse_switch(std::string_view text, bool& value);
template <bool Training::*member>
Result set_switch(Inputs& inputs, std::string_view text) {
  return parse_switch(text, inputs.training.*member);
}

/// "nvlink": the link between devices of one node, whichever generation that is; load_model() puts it in.
inline constexpr std::string_view device_link = "nvlink";
/// A shipped link by name, or device_link.
[[nodiscard]] Result parse_link(std::string_view text, std::optional<LinkSheet>& value);
template <std::optional<LinkSheet> ModelSpec::*member>
Result set_link(Inputs& inputs, std::string_view text) {
  return parse_link(text, inputs.*member);
}
template <std::optional<LinkSheet> Training::*member>
Result set_group_link(Inputs& inputs, std::string_view text) {
  return parse_link(text, inputs.training.*member);
}

[[nodiscard]] Result set_data_type(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_attention(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_efficiency(Inputs& inputs, std::string_view text);

template <auto member>
Result set_text(Inputs& inputs, std::string_view text) {
  if (text.empty()) return Wrong{"is empty", "leave it out"};
  if (std::ranges::any_of(
          text, [](char character) { return static_cast<unsigned char>(character) < 0x20 || character == 0x7F; }))
    return Wrong{fmt::format("{} has control characters", in_quotes(text)), "leave them out"};
  inputs.*member = std::string{text};
  return std::nullopt;
}

[[nodiscard]] bool is_bare_number(std::string_view text);

/// "12,4ms": one comma between digits.
[[nodiscard]] bool is_decimal_comma(std::string_view text);

[[nodiscard]] Result parse_unit(std::string_view text, Duration& value);

[[nodiscard]] Result parse_unit(std::string_view text, Bytes& value);

[[nodiscard]] Result parse_unit(std::string_view text, Bandwidth& value);

template <auto member>
Result set_unit(Inputs& inputs, std::string_view text) {
  ValueOf<member> value{1};
  if (auto wrong = parse_unit(text, value)) return wrong;
  inputs.*member = value;
  return std::nullopt;
}

/// What stands between commas, without the spaces around it.
[[nodiscard]] std::vector<std::string_view> split_list(std::string_view text);

/// One value, or a list with commas; `parse` reads one.
template <class Value, class Parse>
Result parse_list(std::string_view text, std::optional<std::vector<Value>>& list, Parse parse) {
  std::vector<Value> values;
  for (const std::string_view item : split_list(text))
    if (auto wrong = parse(item, values.emplace_back())) {
      if (text.find(',') != std::string_view::npos)
        wrong->what = fmt::format("value {}: {}", values.size(), wrong->what);
      return wrong;
    }
  list = std::move(values);
  return std::nullopt;
}

template <auto member>
Result set_list(Inputs& inputs, std::string_view text) {
  auto wrong =
      parse_list(text, inputs.*member, [](std::string_view item, auto& value) { return parse_unit(item, value); });
  if (wrong && is_decimal_comma(text))
    wrong->hint = "a comma separates values; a decimal is written with a point, such as 12.4ms";
  return wrong;
}

template <auto member, std::size_t most>
Result set_counts(Inputs& inputs, std::string_view text) {
  return parse_list(text, inputs.*member, [](std::string_view item, std::size_t& value) {
    return parse_count(item, {.least = 1, .most = most}, value);
  });
}
template <auto member, std::size_t most>
inline constexpr Setter counts{set_counts<member, most>, most};

template <class Value>
struct Choice {
  std::string_view word;
  Value value;
};

template <class Value, std::size_t size>
std::optional<Value> choose(std::string_view text, const std::array<Choice<Value>, size>& choices, Result& wrong) {
  std::vector<std::string_view> words;
  std::string listed;
  for (const auto& choice : choices) {
    if (choice.word == text) return choice.value;
    words.push_back(choice.word);
    listed += fmt::format("{}{}", listed.empty() ? "one of " : ", ", choice.word);
  }
  wrong = Wrong{fmt::format("unknown value {}", in_quotes(text)), did_you_mean(text, words, listed)};
  return std::nullopt;
}

template <class Member, class Value, std::size_t size>
Result set_choice(Member& member, std::string_view text, const std::array<Choice<Value>, size>& choices) {
  Result wrong;
  if (const auto chosen = choose(text, choices, wrong)) member = *chosen;
  return wrong;
}

[[nodiscard]] Result set_transfer(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_lowering(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_overlap_p2p(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_p2p(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_pytorch_version(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_comm_slowdown(Inputs& inputs, std::string_view text);

[[nodiscard]] Result set_optimizer_step(Inputs& inputs, std::string_view text);

[[nodiscard]] Result set_backward_order(Inputs& inputs, std::string_view text);

[[nodiscard]] Result set_pair(Inputs& inputs, std::string_view text);

[[nodiscard]] Result set_schedule(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_schedules(Inputs& inputs, std::string_view text);

[[nodiscard]] Result set_layout(Inputs& inputs, std::string_view text);

/// A flag without a value; in a scenario file it is true or false.
template <auto member>
Result set_flag(Inputs& inputs, std::string_view text) {
  if (text != "true" && text != "false")
    return Wrong{fmt::format("takes no value, got {}", in_quotes(text)),
                 "write the flag alone; in a scenario file, true or false"};
  inputs.*member = text == "true";
  return std::nullopt;
}

[[nodiscard]] Result set_recompute(Inputs& inputs, std::string_view text);

[[nodiscard]] Result set_vary(Inputs& inputs, std::string_view text);

[[nodiscard]] Result add_fail_if(Inputs& inputs, std::string_view text);

} // namespace ppsim::cli
