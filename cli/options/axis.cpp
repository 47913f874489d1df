#include "axis.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/schedule/generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>

#include "setters.hpp"

namespace ppsim::cli {
namespace {

using Unit = Axis::Unit;

constexpr std::string_view examples = "comm=0..2ms, mb=8..256, memory-limit=20GiB..80GiB, pair=0.7..1";

/// The unit of an option's numbers; none if it does not take a single number.
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
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  constexpr CountRange range{.least = 0,
                             .most = std::min<std::uint64_t>(most, std::numeric_limits<std::size_t>::max())};
  std::size_t count = 0;
  if (parse_count(text, range, count)) return std::nullopt;
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

/// One end of the range: a number in the unit of the axis.
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
    return Wrong{fmt::format("{}: {} is not a number, or is too large", option.name, in_quotes(text)),
                 fmt::format("for example {}", examples)};
  end = *number;
  return std::nullopt;
}

Result parse_range(const Option& option, std::string_view range, Axis& axis) {
  const std::size_t dots = range.find("..");
  if (dots == std::string_view::npos)
    return Wrong{fmt::format("{}: {} is not a range", option.name, in_quotes(range)),
                 fmt::format("write two dots between its ends: {}", examples)};
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
  return Wrong{
      fmt::format("{} {}", in_quotes(name), known ? "does not take a number, so it cannot vary" : "is not an option"),
      known ? remedy : did_you_mean(name, names, remedy)};
}

constexpr std::string_view sweep_examples = "tensor-parallel=1,2,4, mb=8..256:x2, comm=0..2ms:+500us, schedule=all";

/// The most values of an axis; more are a mistake.
constexpr std::size_t most_axis_values = 100'000;
/// The most points of a plot.
constexpr std::size_t most_compared_values = 10'000;

/// Whether it belongs to a single run: options about reading or describing a run do not vary.
bool can_sweep(const Option& option) {
  constexpr std::array<std::string_view, 3> never{"schedule-file", "title", "source"};
  return is_scenario_key(option) && option.section != Section::workload &&
         std::ranges::find(never, option.name) == never.end();
}

Result unknown_sweep_name(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Option& option : options())
    if (can_sweep(option)) {
      names.push_back(option.name);
      std::ranges::copy(option.aliases(), std::back_inserter(names));
    }
  const bool known = find_option(name) != nullptr;
  const std::string remedy = fmt::format("any option of a run that takes a value can vary: {}", sweep_examples);
  return Wrong{fmt::format("{} {}", in_quotes(name),
                           known ? "is not an option of a run, so it cannot vary" : "is not an option"),
               known ? remedy : did_you_mean(name, names, remedy)};
}

SweepValue sweep_value(const Axis& axis, std::int64_t number, std::string said) {
  return {.said = std::move(said),
          .shown = axis.unit == Unit::factor ? axis.flag_value(number) : fmt::format("{}", number),
          .is_number = true};
}

/// One value as the option takes it; a number is shown as one.
Result add_value(const Option& option, std::string_view text, SweepAxis& axis) {
  Inputs scratch;
  Result wrong = text.empty() ? Wrong{"a value is empty", "leave out the comma with nothing before or after it"}
                              : option.set(scratch, text);
  if (wrong) wrong->what = fmt::format("{}: {}", option.name, wrong->what);
  if (wrong) return wrong;
  const auto unit = unit_of(option);
  const auto number = unit ? parse_amount(text, *unit) : std::nullopt;
  axis.values.push_back(number ? sweep_value({.option = axis.option, .unit = *unit}, *number, std::string{text})
                               : SweepValue{.said = std::string{text}, .shown = std::string{text}});
  return std::nullopt;
}

Result too_many_values(const Option& option, std::string_view range) {
  return Wrong{fmt::format("{}: {} has more than {} values", option.name, in_quotes(range), most_axis_values),
               "take larger steps"};
}

/// Values from one end to the other, each `factor` times the one before.
Result add_multiples(const Option& option, std::string_view range, const Axis& ends, double factor, SweepAxis& axis) {
  if (ends.from == 0)
    return Wrong{fmt::format("{}: {} starts at 0, and 0 times anything is 0", option.name, in_quotes(range)),
                 "start above 0, or add a step: :+STEP"};
  std::int64_t last = -1;
  auto value = static_cast<double>(ends.from);
  for (std::size_t tried = 0; value <= static_cast<double>(ends.to); ++tried) {
    if (tried == most_axis_values) return too_many_values(option, range);
    const std::int64_t rounded = std::min<std::int64_t>(std::llround(value), ends.to);
    if (rounded != last) axis.values.push_back(sweep_value(ends, rounded, ends.flag_value(rounded)));
    last = rounded;
    value *= factor;
  }
  return std::nullopt;
}

/// Values from one end to the other, each `step` more than the one before.
Result add_sums(const Option& option, std::string_view range, const Axis& ends, std::int64_t step, SweepAxis& axis) {
  if (static_cast<std::size_t>((ends.to - ends.from) / step) >= most_axis_values) return too_many_values(option, range);
  for (std::int64_t count = 0; count <= (ends.to - ends.from) / step; ++count)
    axis.values.push_back(sweep_value(ends, ends.from + count * step, ends.flag_value(ends.from + count * step)));
  return std::nullopt;
}

/// "8..256:x2", "0..2ms:+500us": the first value, and all after it up to the last.
Result add_steps(const Option& option, std::string_view range, Axis ends, SweepAxis& axis) {
  const std::size_t colon = range.find(':');
  const std::string_view step = colon == std::string_view::npos ? std::string_view{} : range.substr(colon + 1);
  if (auto wrong = parse_range(option, range.substr(0, colon), ends)) return wrong;
  if (step.starts_with('x')) {
    const auto factor = parse_number(step.substr(1));
    if (factor && *factor > 1) return add_multiples(option, range, ends, *factor, axis);
  }
  if (std::int64_t sum = 0; step.starts_with('+') && !parse_step(step.substr(1), ends, sum))
    return add_sums(option, range, ends, sum, axis);
  return Wrong{step.empty() ? fmt::format("{}: {} has no step", option.name, in_quotes(range))
                            : fmt::format("{}: {} is not a step", option.name, in_quotes(step)),
               fmt::format("{}{}:+{} adds", ends.from > 0 ? fmt::format("{}:x2 doubles, ", range.substr(0, colon)) : "",
                           range.substr(0, colon),
                           ends.flag_value(std::max<std::int64_t>(1, (ends.to - ends.from) / 8)))};
}

Result add_item(const Option& option, std::string_view item, SweepAxis& axis) {
  if (const auto unit = unit_of(option); unit && item.find("..") != std::string_view::npos)
    return add_steps(option, item, {.option = axis.option, .unit = *unit}, axis);
  if (option.name != "schedule" || item != "all") return add_value(option, item, axis);
  for (const Generator* generator : generators())
    axis.values.push_back({.said = std::string{generator->name}, .shown = std::string{generator->name}});
  return std::nullopt;
}

/// The only values of an axis, in a sweep's notation.
Result parse_points(std::string_view text, Axis& axis) {
  SweepAxis points;
  if (auto wrong = parse_sweep_axis(text, points)) return wrong;
  for (const SweepValue& value : points.values)
    if (const auto number = parse_amount(value.said, axis.unit))
      axis.values.push_back(*number);
    else
      return Wrong{fmt::format("{}: {} is not a number", axis.option, in_quotes(value.said)),
                   "leave it out; only 'ppsim sweep' varies words"};
  std::ranges::sort(axis.values);
  if (axis.values.size() < 2 || axis.values.size() > most_compared_values)
    return Wrong{
        fmt::format("{}: {} {}", axis.option, axis.values.size(), axis.values.size() == 1 ? "value" : "values"),
        fmt::format("give 2 to {}", most_compared_values)};
  axis.from = axis.values.front();
  axis.to = axis.values.back();
  return std::nullopt;
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
  if (text.find_first_of(",:", equals) != std::string_view::npos) return parse_points(text, axis);
  return parse_range(*option, text.substr(equals + 1), axis);
}

Result parse_sweep_axis(std::string_view text, SweepAxis& axis) {
  const std::size_t equals = text.find('=');
  const Option* const option = varied_option(text);
  if (option == nullptr || !can_sweep(*option)) return unknown_sweep_name(text.substr(0, equals));
  axis.option = option->name;
  if (equals == std::string_view::npos || equals + 1 == text.size())
    return Wrong{fmt::format("{} has no values", in_quotes(text)), fmt::format("NAME=VALUES: {}", sweep_examples)};
  for (const std::string_view item : split_list(text.substr(equals + 1)))
    if (auto wrong = add_item(*option, item, axis)) return wrong;
  std::set<std::string_view> seen;
  for (const SweepValue& value : axis.values)
    if (!seen.insert(value.shown).second)
      return Wrong{fmt::format("{}: {} appears twice", option->name, in_quotes(value.said)), "give each value once"};
  return std::nullopt;
}

Result parse_step(std::string_view text, const Axis& axis, std::int64_t& step) {
  const auto number = parse_amount(text, axis.unit);
  if (!number || *number < 1)
    return Wrong{
        fmt::format("{} is not a step of --{}", in_quotes(text), axis.option),
        fmt::format("give an amount above 0 in its unit, for example {}", axis.flag_value(default_precision(axis)))};
  step = *number;
  return std::nullopt;
}

} // namespace ppsim::cli
