#pragma once
// Reads the values of options. Each setter returns the problem with the value, or nothing.

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "options.hpp"

namespace ppsim::cli {

using Result = std::optional<Wrong>;

/// Calls `read` and returns the problem that it throws.
template <class Read>
Result caught(Read read) {
  try {
    read();
    return std::nullopt;
  } catch (const Error& error) {
    return Wrong{error.problems().front().what, error.problems().front().hint};
  }
}

/// The accepted integers.
struct CountRange {
  std::size_t least = 1;
  std::size_t most = std::numeric_limits<std::size_t>::max();
};
[[nodiscard]] Result parse_count(std::string_view text, const CountRange& range, std::size_t& value);

/// The object with the member.
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
/// Reads a count into a member of Inputs, Training or Workload. Each has a limit, so that no product can overflow
/// unnoticed; other checks compare them with each other.
template <auto member, std::size_t most, std::size_t least = 1>
inline constexpr Setter count{set_count<member, most, least>, most};

/// "nvlink": the link between devices of one node, of any generation; load_model() sets it.
inline constexpr std::string_view device_link = "nvlink";
/// A shipped link by name, or device_link.
[[nodiscard]] Result parse_link(std::string_view text, std::optional<LinkSheet>& value);
template <auto member>
Result set_link(Inputs& inputs, std::string_view text) {
  return parse_link(text, place_in(inputs, member));
}

/// Whether a link's value is a file of nccl-tests: no link has a '/' or '.' in its name.
[[nodiscard]] bool names_link_file(std::string_view text);
/// A link, files of its measured collectives, or both, separated by commas. load_model() reads the files, and sets the
/// default link if none is named.
[[nodiscard]] Result parse_measured_link(std::string_view text, std::optional<LinkSheet>& link,
                                         std::vector<std::string>& files);
template <auto member, auto files>
Result set_measured_link(Inputs& inputs, std::string_view text) {
  return parse_measured_link(text, place_in(inputs, member), inputs.*files);
}

/// Refuses an empty text, and control characters.
[[nodiscard]] Result check_text(std::string_view text);
template <auto member>
Result set_text(Inputs& inputs, std::string_view text) {
  if (auto wrong = check_text(text)) return wrong;
  inputs.*member = std::string{text};
  return std::nullopt;
}

/// All of `text` as a finite number.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

[[nodiscard]] bool is_bare_number(std::string_view text);

/// "12,4ms": one comma between digits.
[[nodiscard]] bool is_decimal_comma(std::string_view text);

[[nodiscard]] Result parse_unit(std::string_view text, Duration& value);

[[nodiscard]] Result parse_unit(std::string_view text, Bytes& value);

[[nodiscard]] Result parse_unit(std::string_view text, Bandwidth& value);

[[nodiscard]] Result parse_unit(std::string_view text, FlopCount& value);

template <auto member>
Result set_unit(Inputs& inputs, std::string_view text) {
  typename std::remove_reference_t<decltype(inputs.*member)>::value_type value{1};
  if (auto wrong = parse_unit(text, value)) return wrong;
  inputs.*member = value;
  return std::nullopt;
}

/// `text` without the spaces around it.
[[nodiscard]] std::string_view trimmed(std::string_view text);
/// The parts between commas, without the spaces around them.
[[nodiscard]] std::vector<std::string_view> split_list(std::string_view text);

/// One value, or a comma-separated list; `parse` reads one.
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

/// One word of a closed set, with its meaning.
template <class Value>
struct Choice {
  std::string_view word;
  Value value;
};
template <class Value>
Choice(const char*, Value) -> Choice<Value>;

template <const auto& choices>
std::vector<std::string_view> words_of() {
  std::vector<std::string_view> words;
  for (const auto& choice : choices) words.push_back(choice.word);
  return words;
}
[[nodiscard]] Wrong unknown_word(std::string_view text, const std::vector<std::string_view>& words);

template <auto member, const auto& choices>
Result set_choice(Inputs& inputs, std::string_view text) {
  for (const auto& choice : choices)
    if (choice.word == text) {
      place_in(inputs, member) = choice.value;
      return std::nullopt;
    }
  return unknown_word(text, words_of<choices>());
}
/// Reads a member with a closed set of values.
template <auto member, const auto& choices>
inline constexpr Setter choice{set_choice<member, choices>, words_of<choices>};

inline constexpr std::array pair_rules{
    Choice{"sum", PairRule{PairRule::Kind::sum}}, Choice{"max", PairRule{PairRule::Kind::max}},
    Choice{"serial", PairRule{PairRule::Kind::serial}}, Choice{"hide", PairRule{PairRule::Kind::hide}}};
/// One of pair_rules, or a factor.
[[nodiscard]] Result set_pair(Inputs& inputs, std::string_view text);

/// None: memory; only for a plan.
inline constexpr std::array rank_figures{Choice{"step-time", std::optional{StepFigure::step_time}},
                                         Choice{"mean", std::optional{StepFigure::mean}},
                                         Choice{"p50", std::optional{StepFigure::p50}},
                                         Choice{"p95", std::optional{StepFigure::p95}},
                                         Choice{"p99", std::optional{StepFigure::p99}},
                                         Choice{"memory", std::optional<StepFigure>{}}};
[[nodiscard]] Result set_rank_by(Inputs& inputs, std::string_view text);

[[nodiscard]] std::vector<std::string_view> backend_names();
[[nodiscard]] Result set_backend(Inputs& inputs, std::string_view text);

/// A time, and properties of the run that took it.
[[nodiscard]] Result set_measured_step(Inputs& inputs, std::string_view text);
/// Modules by name, each at most once.
[[nodiscard]] Result set_recompute_modules(Inputs& inputs, std::string_view text);

[[nodiscard]] Result set_lowering(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_overlap_p2p(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_comm_slowdown(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_jitter(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_seed(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_slow(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_slow_link(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_efficiency(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_schedule(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_schedules(Inputs& inputs, std::string_view text);
/// The choices of a plan: "tp=4/8,recompute=none".
[[nodiscard]] Result set_fixed(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_layout(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_learning_rate(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_timeout(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_fault(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_calibrate(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_gap(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_placements(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_tolerance(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_vary(Inputs& inputs, std::string_view text);
[[nodiscard]] Result add_fail_if(Inputs& inputs, std::string_view text);

/// A flag without a value; true or false in a scenario file.
template <auto member>
Result set_flag(Inputs& inputs, std::string_view text) {
  if (text != "true" && text != "false")
    return Wrong{fmt::format("takes no value, got {}", in_quotes(text)),
                 "write the flag without a value; in a scenario file, true or false"};
  inputs.*member = text == "true";
  return std::nullopt;
}

} // namespace ppsim::cli
