#include "setters.hpp"

#include "ppsim/base/words.hpp"
#include "ppsim/operations/lowering.hpp"
#include "ppsim/report/report.hpp"
#include "ppsim/scenario/layout.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/run_report.hpp"

#include <charconv>
#include <cmath>

#include "condition.hpp"

namespace ppsim::cli {

Result parse_count(std::string_view text, const CountRange& range, std::size_t& value) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument)
    return Wrong{fmt::format("expected a whole number, got {}", in_quotes(text)), "for example 8"};
  if (error != std::errc{} || number > range.most)
    return Wrong{fmt::format("{} is too large", in_quotes(text)), fmt::format("at most {}", range.most)};
  if (number < range.least)
    return Wrong{fmt::format("must be at least {}, got {}", range.least, number),
                 fmt::format("give a whole number from {} up", range.least)};
  value = number;
  return std::nullopt;
}

bool is_bare_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos &&
         std::ranges::count(text, '.') < 2;
}

bool is_decimal_comma(std::string_view text) {
  const std::size_t comma = text.find(',');
  return comma != std::string_view::npos && is_bare_number(text.substr(0, comma)) &&
         text.find(',', comma + 1) == std::string_view::npos;
}

Result parse_unit(std::string_view text, Duration& value) {
  const auto parsed = parse_duration(text);
  if (parsed) value = *parsed;
  if (parsed) return std::nullopt;
  if (is_bare_number(text))
    return Wrong{fmt::format("{} has no unit", in_quotes(text)), fmt::format("give ns, us, ms or s: {}ms", text)};
  if (text.starts_with('-')) return Wrong{fmt::format("{} is negative", in_quotes(text)), "times are 0 or more"};
  return Wrong{fmt::format("{} is not a duration", in_quotes(text)),
               "a number and ns, us, ms or s, up to a day: 1.5ms"};
}

Result parse_unit(std::string_view text, Bytes& value) {
  const auto parsed = parse_bytes(text);
  if (parsed) value = *parsed;
  if (parsed) return std::nullopt;
  if (is_bare_number(text))
    return Wrong{fmt::format("{} has no unit", in_quotes(text)),
                 fmt::format("give B, KiB, MiB, GiB or kB, MB, GB: {}MiB", text)};
  if (text.starts_with('-')) return Wrong{fmt::format("{} is negative", in_quotes(text)), "sizes are 0 or more"};
  return Wrong{fmt::format("{} is not a size", in_quotes(text)),
               "a number and B, kB, MB, GB, TB, KiB, MiB, GiB or TiB: 16MiB"};
}

Result parse_unit(std::string_view text, Bandwidth& value) {
  const auto parsed = parse_bandwidth(text);
  if (parsed) value = *parsed;
  if (parsed) return std::nullopt;
  return Wrong{fmt::format("{} is not a bandwidth", in_quotes(text)),
               "a number above 0 and a unit per second: 50GB/s, 400Gbit/s"};
}

Result set_transfer(Inputs& inputs, std::string_view text) {
  static constexpr std::array choices{Choice<TransferModel>{"latency", TransferModel::latency},
                                      Choice<TransferModel>{"link", TransferModel::link},
                                      Choice<TransferModel>{"blocking", TransferModel::blocking},
                                      Choice<TransferModel>{"streams", TransferModel::streams}};
  return set_choice(inputs.transfer, text, choices);
}

Result set_lowering(Inputs& inputs, std::string_view text) {
  std::vector<std::string_view> names;
  for (const Lowering* lowering : lowerings()) names.push_back(lowering->name);
  if (find_lowering(text) == nullptr)
    return Wrong{
        fmt::format("unknown lowering {}", in_quotes(text)),
        did_you_mean(text, names, fmt::format("one of {}; 'ppsim list lowerings' says more", joined(names, ", ")))};
  inputs.lowering = std::string{text};
  return std::nullopt;
}

Result set_p2p(Inputs& inputs, std::string_view text) {
  static constexpr std::array choices{Choice<P2p>{"edge", P2p::edge}, Choice<P2p>{"pair", P2p::pair},
                                      Choice<P2p>{"direction", P2p::direction}, Choice<P2p>{"group", P2p::group},
                                      Choice<P2p>{"batched", P2p::batched}};
  return set_choice(inputs.p2p, text, choices);
}

Result set_overlap_p2p(Inputs& inputs, std::string_view text) {
  static constexpr std::array choices{Choice<Overlap>{"none", Overlap::none},
                                      Choice<Overlap>{"steady", Overlap::steady}, Choice<Overlap>{"all", Overlap::all}};
  Result wrong;
  if (text == "-" || text == "true") // the flag alone, on the command line and in a scenario file
    inputs.overlap_p2p = Overlap::steady;
  else if (text == "false")
    inputs.overlap_p2p = Overlap::none;
  else if (const auto overlap = choose(text, choices, wrong))
    inputs.overlap_p2p = *overlap;
  return wrong;
}

Result set_pytorch_version(Inputs& inputs, std::string_view text) {
  static constexpr std::array choices{Choice<bool>{"2.6", false}, Choice<bool>{"2.14", true}};
  return set_choice(inputs.pytorch_reduces, text, choices);
}

Result set_comm_slowdown(Inputs& inputs, std::string_view text) {
  constexpr double most = 100;
  double factor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  if (error != std::errc{} || end != text.data() + text.size() || std::isnan(factor) || factor < 1 || factor > most)
    return Wrong{fmt::format("{} is no slowdown", in_quotes(text)),
                 fmt::format("a factor from 1, no slowdown, to {}: 1.15", most)};
  inputs.comm_slowdown_ppm = std::llround(factor * 1e6);
  return std::nullopt;
}

Result set_optimizer_step(Inputs& inputs, std::string_view text) {
  static constexpr std::array choices{Choice<OptimizerStep>{"synchronous", OptimizerStep::synchronous},
                                      Choice<OptimizerStep>{"per-stage", OptimizerStep::per_stage}};
  return set_choice(inputs.optimizer_step, text, choices);
}

Result set_backward_order(Inputs& inputs, std::string_view text) {
  static constexpr std::array choices{Choice<bool>{"ascending", false}, Choice<bool>{"descending", true}};
  return set_choice(inputs.descending_backward, text, choices);
}

Result set_pair(Inputs& inputs, std::string_view text) {
  using Kind = PairRule::Kind;
  double factor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  if (error == std::errc{} && end == text.data() + text.size() && std::isfinite(factor)) {
    if (factor <= 0 || factor > 100)
      return Wrong{fmt::format("factor {} is out of range", in_quotes(text)), "a number above 0 and at most 100: 0.8"};
    inputs.pair = PairRule{Kind::factor, std::llround(factor * 1e6)};
    return std::nullopt;
  }
  static constexpr std::array choices{Choice<Kind>{"sum", Kind::sum}, Choice<Kind>{"max", Kind::max},
                                      Choice<Kind>{"serial", Kind::serial}, Choice<Kind>{"hide", Kind::hide}};
  Result wrong;
  if (const auto kind = choose(text, choices, wrong)) inputs.pair = PairRule{.kind = *kind};
  if (wrong) wrong->hint += ", or a factor of the sum such as 0.8";
  return wrong;
}

Result parse_switch(std::string_view text, bool& value) {
  static constexpr std::array choices{Choice<bool>{"on", true}, Choice<bool>{"off", false}};
  return set_choice(value, text, choices);
}

Result parse_link(std::string_view text, std::optional<LinkSheet>& value) {
  if (text == device_link) {
    value =
        LinkSheet{.name = std::string{device_link}, .latency = Duration{0}, .bandwidth = Bandwidth{1}, .source = {}};
    return std::nullopt;
  }
  try {
    value = find_link(text);
    return std::nullopt;
  } catch (const Error& error) {
    return Wrong{error.problems().front().what, error.problems().front().hint};
  }
}

Result set_data_type(Inputs& inputs, std::string_view text) {
  static constexpr std::array choices{Choice<DataType>{"bf16", DataType::bf16},
                                      Choice<DataType>{"fp16", DataType::fp16}, Choice<DataType>{"fp8", DataType::fp8},
                                      Choice<DataType>{"tf32", DataType::tf32},
                                      Choice<DataType>{"fp32", DataType::fp32}};
  return set_choice(inputs.training.data_type, text, choices);
}

Result set_attention(Inputs& inputs, std::string_view text) {
  static constexpr std::array choices{Choice<Attention>{"flash", Attention::flash},
                                      Choice<Attention>{"unfused", Attention::unfused}};
  return set_choice(inputs.training.attention, text, choices);
}

Result set_efficiency(Inputs& inputs, std::string_view text) {
  double share = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
  if (error != std::errc{} || end != text.data() + text.size() || std::isnan(share) || share < 0.001 || share > 1)
    return Wrong{fmt::format("{} is no efficiency", in_quotes(text)),
                 "a share of the datasheet's rates from 0.001 to 1: 0.7"};
  inputs.training.efficiency_ppm = std::llround(share * 1e6);
  return std::nullopt;
}

std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> items;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string_view& item = items.emplace_back(text.substr(begin, end - begin));
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    begin = end + 1;
  }
  return items;
}

Result set_schedule(Inputs& inputs, std::string_view text) {
  try {
    inputs.schedule = find_generator(text).name;
    return std::nullopt;
  } catch (const Error& error) {
    return Wrong{error.problems().front().what, error.problems().front().hint};
  }
}

Result set_schedules(Inputs& inputs, std::string_view text) {
  std::vector<std::string> names;
  for (const std::string_view item : split_list(text)) {
    try {
      names.emplace_back(find_generator(item).name);
    } catch (const Error& error) {
      return Wrong{error.problems().front().what, error.problems().front().hint};
    }
    if (std::ranges::count(names, item) > 1)
      return Wrong{fmt::format("{} is there twice", in_quotes(item)), "name each schedule once"};
  }
  inputs.schedules = std::move(names);
  return std::nullopt;
}

Result set_layout(Inputs& inputs, std::string_view text) {
  try {
    inputs.layout = parse_layout(text);
    return std::nullopt;
  } catch (const Error& error) {
    return Wrong{error.problems().front().what, error.problems().front().hint};
  }
}

Result set_recompute(Inputs& inputs, std::string_view text) {
  using Kind = RecomputeKind;
  static constexpr std::array choices{Choice<Kind>{"none", Kind::none}, Choice<Kind>{"selective", Kind::selective},
                                      Choice<Kind>{"full", Kind::full}};
  return set_choice(inputs.recompute, text, choices);
}

Result add_fail_if(Inputs& inputs, std::string_view text) {
  inputs.fail_if.emplace_back(text);
  if (parse_condition(text)) return std::nullopt;
  const std::string what = fmt::format("{} is not a condition", in_quotes(text));
  const std::string_view tag = text.substr(0, text.find_first_of(" <>="));
  std::vector<std::string_view> tags;
  for (const Metric& metric : metrics()) {
    tags.push_back(metric.tag);
    if (metric.tag == tag)
      return Wrong{what, fmt::format("a metric, > or <, and a {0}: '{1} > {2}', '{1} < {2}'",
                                     metric.time != nullptr ? "time" : "number", tag,
                                     metric.time != nullptr ? "30ms" : "0.1")};
  }
  return Wrong{
      what,
      did_you_mean(tag, tags,
                   "write METRIC > NUMBER or METRIC < NUMBER: 'bubble_ratio > 0.1', 'step_time_ns > 30ms'; 'ppsim list "
                   "metrics' shows the metrics")};
}
} // namespace ppsim::cli
