#include "axis.hpp"

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "setters.hpp"

namespace ppsim::cli {
namespace {

using Unit = Axis::Unit;

constexpr std::string_view examples = "comm=0..2ms, mb=8..256, memory-limit=20GiB..80GiB, pair=0.7..1";

/// What the numbers of an option count; nothing where it takes no single number.
std::optional<Unit> unit_of(const Option& option) {
  const RunField* const field = find_run_field(option.name);
  return field == nullptr ? std::nullopt : field->unit;
}

std::optional<std::int64_t> parse_factor(std::string_view text) {
  constexpr double most = 1e6;
  const auto factor = parse_number(text);
  return factor && *factor >= 0 && *factor <= most ? std::optional{std::llround(*factor * 1e6)} : std::nullopt;
}

std::optional<std::int64_t> parse_whole(std::string_view text) {
  std::size_t count = 0;
  if (parse_count(text, {.least = 0, .most = std::numeric_limits<std::int64_t>::max()}, count)) return std::nullopt;
  return static_cast<std::int64_t>(count);
}

std::optional<std::int64_t> parse_amount(std::string_view text, Unit unit) {
  switch (unit) {
  case Unit::time:
    if (const auto time = parse_duration(text)) return time->count();
    break;
  case Unit::bytes:
    if (const auto bytes = parse_bytes(text)) return bytes->count();
    break;
  case Unit::rate:
    if (const auto rate = parse_bandwidth(text)) return rate->bytes_per_second();
    break;
  case Unit::count:
    return parse_whole(text);
  case Unit::factor:
    return parse_factor(text);
  }
  return std::nullopt;
}

/// One end of the range: a number in the unit of the axis that its option takes.
Result parse_end(const Option& option, std::string_view text, const Axis& axis, std::int64_t& end) {
  const auto number = parse_amount(text, axis.unit);
  Inputs scratch;
  auto wrong = option.set(scratch, number ? axis.flag_value(*number) : std::string{text});
  if (wrong) wrong->what = fmt::format("{}: {}", option.name, wrong->what);
  if (wrong) return wrong;
  if (!number && text.find(',') != std::string_view::npos)
    return Wrong{fmt::format("{}: {} is a list", option.name, in_quotes(text)),
                 "give one number for each end; it holds for all chunks or boundaries"};
  if (!number)
    return Wrong{fmt::format("{}: {} is no number, or too large", option.name, in_quotes(text)),
                 fmt::format("for example {}", examples)};
  end = *number;
  return std::nullopt;
}

Result parse_range(const Option& option, std::string_view range, Axis& axis) {
  const std::size_t dots = range.find("..");
  if (dots == std::string_view::npos)
    return Wrong{fmt::format("{}: {} is no range", option.name, in_quotes(range)),
                 fmt::format("two points between its ends: {}", examples)};
  const std::string_view from = range.substr(0, dots);
  const std::string_view to = range.substr(dots + 2);
  const bool has_unit = axis.unit == Unit::time || axis.unit == Unit::bytes;
  if (!(from == "0" && has_unit))
    if (auto wrong = parse_end(option, from, axis, axis.from)) return wrong;
  if (auto wrong = parse_end(option, to, axis, axis.to)) return wrong;
  if (axis.from == axis.to)
    return Wrong{fmt::format("{}: both ends are {}", option.name, axis.format(axis.to)), "give a range of values"};
  if (axis.from > axis.to)
    return Wrong{fmt::format("{}: {} is more than {}", option.name, in_quotes(from), in_quotes(to)),
                 fmt::format("the smaller end first: {}={}..{}", option.name, to, from)};
  return std::nullopt;
}

Result unknown_name(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Option& option : options())
    if (unit_of(option)) {
      names.push_back(option.name);
      std::ranges::copy(option.aliases(), std::back_inserter(names));
    }
  const bool known = find_option(name) != nullptr;
  const std::string remedy = fmt::format("any option that takes a number can vary: {}", examples);
  return Wrong{fmt::format("{} {}", in_quotes(name), known ? "takes no number that could vary" : "is no option"),
               known ? remedy : did_you_mean(name, names, remedy)};
}

} // namespace

Result set_vary(Inputs& inputs, std::string_view text) {
  Axis axis;
  auto wrong = parse_axis(text, axis);
  if (!wrong) inputs.vary = std::move(axis);
  return wrong;
}

const Option* varied_option(std::string_view text) {
  return find_option(text.substr(0, text.find('=')));
}

Result parse_axis(std::string_view text, Axis& axis) {
  const std::size_t equals = text.find('=');
  const Option* option = varied_option(text);
  const auto unit = option != nullptr ? unit_of(*option) : std::nullopt;
  if (!unit) return unknown_name(text.substr(0, equals));
  if (equals == std::string_view::npos)
    return Wrong{fmt::format("{} has no range", in_quotes(text)), fmt::format("NAME=FROM..TO: {}", examples)};
  axis = {.option = std::string{option->name}, .unit = *unit};
  return parse_range(*option, text.substr(equals + 1), axis);
}

Result parse_step(std::string_view text, const Axis& axis, std::int64_t& step) {
  const auto number = parse_amount(text, axis.unit);
  if (!number || *number < 1)
    return Wrong{
        fmt::format("{} is no step of --{}", in_quotes(text), axis.option),
        fmt::format("an amount above 0 in its unit, for example {}", axis.flag_value(default_precision(axis)))};
  step = *number;
  return std::nullopt;
}

} // namespace ppsim::cli
