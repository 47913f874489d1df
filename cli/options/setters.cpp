#include "setters.hpp"

#include "ppsim/base/words.hpp"
#include "ppsim/operations/lowering.hpp"
#include "ppsim/report/report.hpp"
#include "ppsim/scenario/layout.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/run_report.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "condition.hpp"

namespace ppsim::cli {
namespace {

/// "0.05" or "5%".
std::optional<double> parse_share(std::string_view text) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  const auto number = parse_number(text);
  return number ? std::optional{*number / (percent ? 100 : 1)} : std::nullopt;
}

Wrong unknown_name(std::string_view kind, std::string_view text, const std::vector<std::string_view>& names) {
  return {fmt::format("unknown {} {}", kind, in_quotes(text)),
          did_you_mean(text, names, fmt::format("one of {}; 'ppsim list {}s' says more", joined(names, ", "), kind))};
}

} // namespace

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

Result check_text(std::string_view text) {
  if (text.empty()) return Wrong{"is empty", "leave it out"};
  if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }))
    return Wrong{fmt::format("{} has control characters", in_quotes(text)), "leave them out"};
  return std::nullopt;
}

std::optional<double> parse_number(std::string_view text) {
  const std::optional<double> number = decimal_of(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
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

Result parse_unit(std::string_view text, FlopCount& value) {
  const auto parsed = parse_flop_count(text);
  if (parsed) value = *parsed;
  if (parsed) return std::nullopt;
  return Wrong{fmt::format("{} is not a number of operations", in_quotes(text)),
               "a number above 0, by itself or with GFLOP, TFLOP, PFLOP or EFLOP, up to 9e18: 1.2PFLOP, 1.2e15"};
}

Wrong unknown_word(std::string_view text, const std::vector<std::string_view>& words) {
  return {fmt::format("unknown value {}", in_quotes(text)),
          did_you_mean(text, words, fmt::format("one of {}", joined(words, ", ")))};
}

Result set_lowering(Inputs& inputs, std::string_view text) {
  std::vector<std::string_view> names;
  for (const Lowering* lowering : lowerings()) names.push_back(lowering->name);
  if (find_lowering(text) == nullptr) return unknown_name("lowering", text, names);
  inputs.lowering = std::string{text};
  return std::nullopt;
}

std::vector<std::string_view> backend_names() {
  std::vector<std::string_view> names;
  for (const runtime::BackendEntry& entry : runtime::backends()) names.push_back(entry.name);
  return names;
}

Result set_backend(Inputs& inputs, std::string_view text) {
  const std::vector<std::string_view> names = backend_names();
  if (std::ranges::find(names, text) == names.end()) return unknown_name("backend", text, names);
  inputs.backend = std::string{text};
  return std::nullopt;
}

Result set_overlap_p2p(Inputs& inputs, std::string_view text) {
  static constexpr std::array overlaps{Choice{"none", Overlap::none}, Choice{"steady", Overlap::steady},
                                       Choice{"all", Overlap::all}};
  if (text == "-" || text == "true") text = "steady"; // the flag alone, on the command line and in a scenario file
  if (text == "false") text = "none";
  return set_choice<&Inputs::overlap_p2p, overlaps>(inputs, text);
}

Result set_comm_slowdown(Inputs& inputs, std::string_view text) {
  constexpr double most = 100;
  const double factor = parse_number(text).value_or(0);
  if (factor < 1 || factor > most)
    return Wrong{fmt::format("{} is not a slowdown", in_quotes(text)),
                 fmt::format("a factor from 1, no slowdown, to {}: 1.15", most)};
  inputs.comm_slowdown_ppm = std::llround(factor * 1e6);
  return std::nullopt;
}

/// `text` after its '=', or all of it, as a factor.
Result parse_factor_behind(std::string_view text, std::int64_t& ppm) {
  constexpr double most = 100;
  const std::size_t sign = text.find('=');
  const std::string_view factor = sign == std::string_view::npos ? text : text.substr(sign + 1);
  const double value = parse_number(factor).value_or(0);
  if (value < 1e-3 || value > most)
    return Wrong{fmt::format("{} is not a factor", in_quotes(factor)),
                 fmt::format("give the factor by which it takes longer, from 0.001 to {}: 1.1", most)};
  ppm = std::llround(value * 1e6);
  return std::nullopt;
}

Result parse_stage(std::string_view text, std::size_t& stage) {
  return parse_count(text, {.least = 0, .most = Limits::stages - 1}, stage);
}

/// "3", or "2:3" for stage 3 of copy 2.
Result parse_slow_place(std::string_view text, SlowStage& slow) {
  const std::size_t colon = text.find(':');
  Result wrong = std::nullopt;
  if (colon != std::string_view::npos)
    wrong = parse_count(text.substr(0, colon), {.least = 0, .most = ModelLimits::ranks - 1}, slow.copy.emplace());
  if (!wrong) wrong = parse_stage(text.substr(colon == std::string_view::npos ? 0 : colon + 1), slow.stage.emplace());
  if (wrong) wrong->hint = "name a stage: 3=1.1; or one of a data-parallel copy: 2:3=1.1";
  return wrong;
}

Result set_slow(Inputs& inputs, std::string_view text) {
  std::vector<SlowStage> all;
  for (const std::string_view item : split_list(text)) {
    SlowStage slow;
    if (auto wrong = parse_factor_behind(item, slow.ppm)) return wrong;
    const std::size_t sign = item.find('=');
    if (sign != std::string_view::npos)
      if (auto wrong = parse_slow_place(item.substr(0, sign), slow)) return wrong;
    const auto is_same = [&](const SlowStage& other) { return other.copy == slow.copy && other.stage == slow.stage; };
    if (std::ranges::any_of(all, is_same))
      return Wrong{fmt::format("{} names a stage twice", in_quotes(text)), "name each once: 3=1.1,5=1.2"};
    // entries for all stages come first
    all.insert(slow.stage ? all.end() : all.begin(), slow);
  }
  inputs.slow = std::move(all);
  return std::nullopt;
}

Result set_slow_link(Inputs& inputs, std::string_view text) {
  std::vector<SlowLink> all;
  for (const std::string_view item : split_list(text)) {
    SlowLink slow;
    const std::size_t sign = item.find('=');
    if (sign == std::string_view::npos)
      return Wrong{fmt::format("{} names no link", in_quotes(item)),
                   "3=2 is the link between stages 3 and 4, 7-0=2 that between 7 and 0"};
    if (auto wrong = parse_factor_behind(item, slow.ppm)) return wrong;
    const std::string_view ends = item.substr(0, sign);
    const std::size_t dash = ends.find('-');
    if (auto wrong = parse_stage(ends.substr(0, dash), slow.from)) return wrong;
    slow.to = slow.from + 1;
    if (dash != std::string_view::npos)
      if (auto wrong = parse_stage(ends.substr(dash + 1), slow.to)) return wrong;
    if (slow.from == slow.to)
      return Wrong{fmt::format("{} joins a stage to itself", in_quotes(item)), "name two stages: 7-0=2"};
    const auto joins_same = [&](const SlowLink& other) {
      return std::minmax(other.from, other.to) == std::minmax(slow.from, slow.to);
    };
    if (std::ranges::any_of(all, joins_same))
      return Wrong{fmt::format("{} names a link twice", in_quotes(text)), "name each once: 3=2,4=1.5"};
    all.push_back(slow);
  }
  if (all.size() > Network::max_unusual_links)
    return Wrong{fmt::format("{} links", all.size()), fmt::format("at most {}", Network::max_unusual_links)};
  inputs.slow_link = std::move(all);
  return std::nullopt;
}

Result set_rank_by(Inputs& inputs, std::string_view text) {
  for (const auto& [word, figure] : rank_figures) {
    if (word != text) continue;
    inputs.by_memory = !figure;
    inputs.rank_by = figure.value_or(StepFigure::step_time);
    return std::nullopt;
  }
  return unknown_word(text, words_of<rank_figures>());
}

Result set_pair(Inputs& inputs, std::string_view text) {
  const auto factor = parse_number(text);
  if (!factor) {
    auto wrong = set_choice<&Inputs::pair, pair_rules>(inputs, text);
    if (wrong) wrong->hint += ", or a factor of the sum such as 0.8";
    return wrong;
  }
  if (*factor <= 0 || *factor > 100)
    return Wrong{fmt::format("factor {} is out of range", in_quotes(text)), "a number above 0 and at most 100: 0.8"};
  inputs.pair = PairRule{PairRule::Kind::factor, std::llround(*factor * 1e6)};
  return std::nullopt;
}

Result parse_link(std::string_view text, std::optional<LinkSheet>& value) {
  if (text == device_link) {
    value =
        LinkSheet{.name = std::string{device_link}, .latency = Duration{0}, .bandwidth = Bandwidth{1}, .source = {}};
    return std::nullopt;
  }
  return caught([&] { value = find_link(text); });
}

bool names_link_file(std::string_view text) {
  return text.find_first_of("/.") != std::string_view::npos;
}

Result parse_measured_link(std::string_view text, std::optional<LinkSheet>& link, std::vector<std::string>& files) {
  link.reset();
  files.clear();
  for (const std::string_view item : split_list(text)) {
    if (names_link_file(item)) {
      if (auto wrong = check_text(item)) return wrong;
      files.emplace_back(item);
      continue;
    }
    if (link)
      return Wrong{fmt::format("names two links, {} and {}", link->name, item),
                   "give one link, and files of nccl-tests over it"};
    if (auto wrong = parse_link(item, link)) return wrong;
  }
  return std::nullopt;
}

Result set_efficiency(Inputs& inputs, std::string_view text) {
  const double share = parse_number(text).value_or(0);
  if (share < 0.001 || share > 1)
    return Wrong{fmt::format("{} is not an efficiency", in_quotes(text)),
                 "a share of the datasheet's rates from 0.001 to 1: 0.7"};
  inputs.training.efficiency_ppm = std::llround(share * 1e6);
  return std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> items;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    items.push_back(trimmed(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return items;
}

Result set_measured_step(Inputs& inputs, std::string_view text) {
  MeasuredStep step;
  const std::vector<std::string_view> parts = split_list(text);
  if (auto wrong = parse_unit(parts.front(), step.time)) return wrong;
  if (step.time == Duration{0}) return Wrong{"a step cannot take 0 time", "give what was measured: 12.1s"};
  for (std::size_t at = 1; at < parts.size(); ++at) {
    const std::size_t sign = std::min(parts[at].find('='), parts[at].size());
    const std::string_view name = parts[at].substr(0, sign);
    const std::string_view value = parts[at].substr(std::min(sign + 1, parts[at].size()));
    Result wrong;
    if (name == "mb")
      wrong = parse_count(value, {.least = 1, .most = Limits::tasks}, step.microbatches.emplace());
    else if (name == "vpp")
      wrong = parse_count(value, {.least = 1, .most = Limits::tasks}, step.vpp.emplace());
    else if (name == "schedule")
      wrong = caught([&] { step.schedule = find_generator(value).name; });
    else
      wrong = Wrong{"unknown name", did_you_mean(name, {"mb", "vpp", "schedule"}, "one of mb, vpp, schedule")};
    if (wrong) return Wrong{fmt::format("{}: {}", in_quotes(parts[at]), wrong->what), std::move(wrong->hint)};
  }
  inputs.measured_step = std::move(step);
  return std::nullopt;
}

Result set_recompute_modules(Inputs& inputs, std::string_view text) {
  std::vector<RecomputeModule> all;
  std::vector<std::string_view> names;
  for (std::size_t at = 0; at < recompute_module_count; ++at) {
    all.push_back(static_cast<RecomputeModule>(at));
    names.push_back(to_string(all.back()));
  }
  std::vector<RecomputeModule> modules;
  for (const std::string_view name : split_list(text)) {
    const auto at = std::ranges::find(names, name);
    if (at == names.end()) return unknown_name("module", name, names);
    const RecomputeModule module = all[static_cast<std::size_t>(at - names.begin())];
    if (std::ranges::find(modules, module) != modules.end())
      return Wrong{fmt::format("{} is named twice", name), "name each once"};
    modules.push_back(module);
  }
  inputs.training.recompute_modules = std::move(modules);
  return std::nullopt;
}

Result set_schedule(Inputs& inputs, std::string_view text) {
  return caught([&] { inputs.schedule = find_generator(text).name; });
}

Result set_schedules(Inputs& inputs, std::string_view text) {
  std::vector<std::string> names;
  for (const std::string_view item : split_list(text)) {
    if (auto wrong = caught([&] { names.emplace_back(find_generator(item).name); })) return wrong;
    if (std::ranges::count(names, item) > 1)
      return Wrong{fmt::format("{} appears twice", in_quotes(item)), "name each schedule once"};
  }
  inputs.schedules = std::move(names);
  return std::nullopt;
}

Result set_layout(Inputs& inputs, std::string_view text) {
  return caught([&] { inputs.layout = parse_layout(text); });
}

Result set_learning_rate(Inputs& inputs, std::string_view text) {
  const auto rate = parse_number(text);
  if (!rate || *rate <= 0 || *rate > 1)
    return Wrong{fmt::format("{} is not a learning rate", in_quotes(text)), "a number above 0, up to 1: 0.05"};
  inputs.workload.learning_rate = *rate;
  return std::nullopt;
}

Result set_timeout(Inputs& inputs, std::string_view text) {
  Duration time{0};
  if (auto wrong = parse_unit(text, time)) return wrong;
  if (time == Duration{0}) return Wrong{"must be more than 0", "for example 30s"};
  inputs.timeout = time;
  return std::nullopt;
}

Result set_fault(Inputs& inputs, std::string_view text) {
  inputs.fault = runtime::parse_fault(text);
  if (inputs.fault) return std::nullopt;
  static const std::vector<std::string_view> kinds{"fail", "stall", "no-memory", "lose", "resize"};
  const std::string_view kind = text.substr(0, text.find('@'));
  return Wrong{fmt::format("{} is not a fault", in_quotes(text)),
               std::ranges::find(kinds, kind) == kinds.end()
                   ? did_you_mean(kind, kinds, "one of fail, stall, no-memory, lose, resize") +
                         " with @ and a task: fail@1F3"
                   : fmt::format("{0}@ and a suitable task: {0}@1F3; only F allocates, and W sends nothing", kind)};
}

Result set_calibrate(Inputs& inputs, std::string_view text) {
  const double share = parse_share(text).value_or(0);
  if (share <= 0 || share >= 1)
    return Wrong{fmt::format("{} is not a share of the steps", in_quotes(text)),
                 "a share or a percentage above 0 and below 100%: 0.25, 25%"};
  inputs.calibrate = share;
  return std::nullopt;
}

Result set_tolerance(Inputs& inputs, std::string_view text) {
  const bool percent = text.ends_with('%');
  const double share = parse_share(text).value_or(-1);
  if (share < 0 || share > 10)
    return Wrong{fmt::format("{} is not a share", in_quotes(text)), "a share or a percentage, up to 1000%: 0.05, 5%"};
  if (!percent && share > 1)
    return Wrong{fmt::format("{} is more than 100 %", in_quotes(text)), fmt::format("for percent, write {}%", text)};
  inputs.tolerance = share;
  return std::nullopt;
}

Result set_gap(Inputs& inputs, std::string_view text) {
  const double share = parse_share(text).value_or(-1);
  if (share < 0 || share > 1)
    return Wrong{fmt::format("{} is not a share", in_quotes(text)), "a share or a percentage, up to 100%: 0.01, 1%"};
  inputs.gap = share;
  return std::nullopt;
}

Result set_jitter(Inputs& inputs, std::string_view text) {
  const double share = parse_share(text).value_or(-1);
  if (share <= 0 || share > 1)
    return Wrong{fmt::format("{} is not a share", in_quotes(text)),
                 "a share or a percentage above 0, up to 100%: 0.05, 5%"};
  inputs.jitter_ppm = std::llround(share * 1e6);
  return std::nullopt;
}

Result set_seed(Inputs& inputs, std::string_view text) {
  std::size_t seed = 0;
  if (auto wrong = parse_count(text, {.least = 0, .most = std::numeric_limits<std::uint32_t>::max()}, seed))
    return wrong;
  inputs.workload.seed = static_cast<std::uint32_t>(seed);
  inputs.RunSpec::seed = seed;
  return std::nullopt;
}

Result set_placements(Inputs& inputs, std::string_view text) {
  inputs.placements.clear();
  for (const std::string_view name : text == "all" ? split_list("linear,v,loop:2,loop:4") : split_list(text)) {
    std::optional<ChunkPlacement> placement = find_chunk_placement(name);
    if (!placement)
      return Wrong{fmt::format("{} is not a placement", in_quotes(name)),
                   "linear, v, loop:N with N chunks per stage from 2 on, several with commas, or all"};
    if (std::ranges::find(inputs.placements, placement->name, &ChunkPlacement::name) != inputs.placements.end())
      return Wrong{fmt::format("{} appears twice", in_quotes(name)), "name each placement once"};
    inputs.placements.push_back(*std::move(placement));
  }
  return std::nullopt;
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
                                     metric.unit() == "ns" ? "time" : "number", tag,
                                     metric.unit() == "ns"      ? "30ms"
                                     : metric.unit() == "ratio" ? "0.1"
                                                                : "100")};
  }
  return Wrong{
      what,
      did_you_mean(tag, tags,
                   "write METRIC > NUMBER or METRIC < NUMBER: 'bubble_ratio > 0.1', 'step_time_ns > 30ms'; 'ppsim list "
                   "metrics' shows the metrics")};
}

} // namespace ppsim::cli
