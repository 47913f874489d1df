// A plan as text. How it reads:
//
//   2,031,964 configurations of 512 h100, 3,379 simulated: none of the others fits and is faster than row 20
//
//   row  step time  slower     MFU  tokens/s   memory  tp  cp   dp  pp  mbs  mb  schedule             recompute  ZeRO
//     1     15.2 s          38.8 %       538  71.5 GiB   4   1   32   4    1  32  zb-interleaved v=20  -             1
//   ...
//   run row 1    ppsim --model ... --schedule zb-interleaved --vpp 20
//   why          ...

#include "ppsim/base/words.hpp"
#include "ppsim/plan/settings.hpp"
#include "ppsim/study/build_scenario.hpp"
#include "ppsim/viz/plan.hpp"
#include "ppsim/viz/variation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>
#include <utility>

#include "text_blocks.hpp"
#include "words/figures.hpp"

namespace ppsim::viz {
namespace {

/// "2,031,964".
std::string grouped(std::uint64_t number) {
  std::string digits = fmt::format("{}", number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string_view split_words(LayerSplit split) {
  constexpr std::array<std::string_view, 3> words{"", ", ends as layers", ", layers by work"};
  return words[static_cast<std::size_t>(split)];
}

std::string order_words(const Configuration& configuration) {
  if (configuration.schedule == nullptr) return "any schedule";
  const bool chooses = configuration.schedule->vpp.multiple > 0 && configuration.schedule->vpp.matters;
  return fmt::format("{}{}{}", configuration.schedule->name,
                     chooses ? fmt::format(" v={}", configuration.chunks) : std::string{},
                     split_words(configuration.split));
}

std::string kept_words(const Keeping& keeping) {
  if (keeping.kind == RecomputeKind::none) return "-";
  if (keeping.kind == RecomputeKind::selective) return "selective";
  return keeping.block_layers == 0 ? "full" : fmt::format("full {} of a chunk", keeping.block_layers);
}

std::string metric_text(const RunReport& report, std::string_view tag, std::string (*text)(double)) {
  const auto value = find_metric(tag).value(report);
  return value ? text(*value) : "-";
}

/// "rows 1 to 3 with cp 2, ...": of those that follow each other with the same equals.
std::vector<std::string> all_equals(const std::vector<PlanRow>& rows) {
  std::vector<std::string> lines;
  for (std::size_t first = 0; first < rows.size();) {
    const std::string words = equals_words(rows[first]);
    std::size_t end = first + 1;
    while (end < rows.size() && equals_words(rows[end]) == words) ++end;
    if (!words.empty())
      lines.push_back(end == first + 1 ? fmt::format("row {} with {}", end, words)
                                       : fmt::format("rows {} to {} with {}", first + 1, end, words));
    first = end;
  }
  return lines;
}

std::vector<TableColumn> columns_of(const PlanReport& shown) {
  const std::vector<PlanRow>& rows = shown.plan.rows;
  std::vector<TableColumn> columns;
  const auto add = [&](std::string_view header, int rank, auto cell) {
    columns.push_back(column_of(header, rank, rows, cell));
  };
  const auto add_degree = [&](std::string_view header, std::int64_t Degrees::*degree, std::int64_t usual) {
    const auto value = [=](const PlanRow& row) { return row.configuration.degrees.*degree; };
    if (std::ranges::all_of(rows, [&](const PlanRow& row) { return value(row) == usual; })) return;
    add(header, 0, [&](const PlanRow& row) { return fmt::format("{}", value(row)); });
  };
  std::size_t number = 0;
  add("row", 0, [&](const PlanRow&) { return fmt::format("{}", ++number); });
  add("step time", 0, [](const PlanRow& row) { return format_duration(row.report.step_time); });
  const StepFigure figure = shown.request.run.rank_by;
  if (figure != StepFigure::step_time && !shown.request.by_memory)
    add(to_string(figure), 0, [](const PlanRow& row) { return format_duration(Duration{row.figure}); });
  add(shown.request.by_memory ? "more" : "slower", 1, [&](const PlanRow& row) {
    return &row == &rows.front() ? std::string{} : difference(Duration{row.figure}, Duration{rows.front().figure});
  });
  add("MFU", 2, [](const PlanRow& row) { return metric_text(row.report, "mfu", percent); });
  add("tokens/s", 4, [](const PlanRow& row) {
    return metric_text(row.report, "tokens_per_second_per_device",
                       [](double rate) { return grouped(static_cast<std::uint64_t>(std::llround(rate))); });
  });
  add("memory", 0, [](const PlanRow& row) { return format_bytes(row.report.peak_bytes()); });
  if (const auto limit = shown.plan.memory_limit)
    add("free", 5, [&](const PlanRow& row) { return format_bytes(*limit - row.report.peak_bytes()); });
  add_degree("tp", &Degrees::tensor, 1);
  add_degree("cp", &Degrees::context, 1);
  add_degree("ep", &Degrees::expert, 1);
  add_degree("dp", &Degrees::data, 0);
  add_degree("pp", &Degrees::stages, 0);
  add_degree("mbs", &Degrees::microbatch_size, 0);
  add_degree("mb", &Degrees::microbatches, 0);
  add("schedule", 0, [](const PlanRow& row) { return order_words(row.configuration); });
  columns.back().left = true;
  add("asks", 3, [](const PlanRow& row) { return asked(row.demands); });
  columns.back().left = true;
  const auto recomputes = [](const PlanRow& row) { return row.configuration.keeping.kind != RecomputeKind::none; };
  if (std::ranges::any_of(rows, recomputes)) {
    add("recompute", 0, [](const PlanRow& row) { return kept_words(row.configuration.keeping); });
    columns.back().left = true;
  }
  add_degree("ZeRO", &Degrees::zero_stage, 1);
  const auto has_sp = [](const PlanRow& row) { return row.configuration.degrees.sequence_parallel; };
  if (!std::ranges::all_of(rows, has_sp)) add("sp", 0, [&](const PlanRow& row) { return has_sp(row) ? "on" : "off"; });
  return columns;
}

std::string headline(const PlanReport& shown) {
  const RankedPlan& plan = shown.plan;
  const std::string limit = plan.memory_limit ? fmt::format(" with {}", format_bytes(*plan.memory_limit)) : "";
  const std::string text =
      fmt::format("{} configurations of {} x {}{}, {} simulated", grouped(plan.configurations), shown.request.gpus,
                  shown.request.run.device_sheet->name, limit, grouped(plan.simulated));
  if (plan.rows.empty()) return text + ": none fits";
  const std::string refused =
      plan.refused > 0 ? fmt::format("; {} of them cannot run ({})", grouped(plan.refused), as_flags(plan.refusal))
                       : "";
  if (plan.rows.size() < shown.request.top) return text + ": these are all that fit" + refused;
  const bool is_sampled = shown.request.run.rank_by != StepFigure::step_time;
  const std::string last = fmt::format("row {}", plan.rows.size());
  const std::string comes = shown.request.by_memory ? "needs less than " + last
                            : is_sampled            ? "takes less without jitter than " + last + " with it"
                                                    : "is faster than " + last;
  return text + fmt::format(": no other one fits and {}{}", comes, refused);
}

/// What takes longer in `other`, the most first: "waiting for other stages 1.2 s more".
std::string why_slower(const RunReport& winner, const RunReport& other) {
  const auto mine = terms_of(winner);
  const auto its = terms_of(other);
  std::vector<std::pair<Duration, std::string>> parts;
  for (std::size_t i = 0; i < plan_term_count; ++i) {
    const Duration more = its[i].time - mine[i].time;
    if (more != Duration{0})
      parts.emplace_back(more, fmt::format("{} {} {}", mine[i].name, format_duration(std::chrono::abs(more)),
                                           more > Duration{0} ? "more" : "less"));
  }
  std::ranges::stable_sort(parts, std::greater{}, [](const auto& part) { return std::chrono::abs(part.first); });
  std::vector<std::string> words;
  for (const auto& [more, text] : parts)
    if (words.size() < 3) words.push_back(text);
  return words.empty() ? "the same" : joined(words, ", ");
}

std::string compared(const PlanRow& row, const PlanRow& winner) {
  return fmt::format("{}: {} ({}), {}; {}", configuration_words(row.configuration),
                     format_duration(row.report.step_time), difference(row.report.step_time, winner.report.step_time),
                     format_bytes(row.report.peak_bytes()), why_slower(winner.report, row.report));
}

/// The first row of another kind that has something for it: another schedule, or tensor or pipeline degree, or less
/// memory by other recomputation.
const PlanRow* other_kind(const RankedPlan& plan) {
  const PlanRow& winner = plan.rows.front();
  const Degrees& degrees = winner.configuration.degrees;
  for (const PlanRow& row : plan.rows) {
    const Degrees& its = row.configuration.degrees;
    const bool differs = row.configuration.schedule != winner.configuration.schedule || its.tensor != degrees.tensor ||
                         its.stages != degrees.stages;
    const bool is_as_good = row.figure == winner.figure && row.report.peak_bytes() == winner.report.peak_bytes();
    const bool saves = row.configuration.keeping.kind != winner.configuration.keeping.kind &&
                       row.report.peak_bytes() < winner.report.peak_bytes();
    if (saves || (differs && !is_as_good)) return &row;
  }
  return nullptr;
}

std::string change_words(const OtherConstants& change) {
  if (!change.best) return fmt::format("{}: nothing fits", change.what);
  const std::string best = fmt::format("{} takes {}", configuration_words(change.best->configuration),
                                       format_duration(Duration{change.best->figure}));
  if (!change.winner) return fmt::format("{}: row 1 does not fit; {}", change.what, best);
  if (change.stays())
    return fmt::format("{}: row 1 stays the fastest, {}", change.what,
                       format_duration(Duration{change.winner->figure}));
  return fmt::format(
      "{}: row 1 takes {}, {} more than the fastest: {}", change.what, format_duration(Duration{change.winner->figure}),
      percent(fraction(Duration{change.winner->figure - change.best->figure}, Duration{change.best->figure})), best);
}

/// Where costs come from, and which rows are as good as the first by what can be known.
std::string trust_words(const PlanReport& shown) {
  const std::vector<PlanRow>& rows = shown.plan.rows;
  std::string text = fmt::format("costs are {}; docs/validation.md shows the errors of such predictions",
                                 cost_source(spec_of(shown.request, rows.front().configuration)));
  constexpr std::int64_t known_to = 100; // a hundredth: costs are hardly known better
  const auto as_good = std::ranges::count_if(
      rows, [&](const PlanRow& row) { return row.figure <= rows.front().figure + rows.front().figure / known_to; });
  if (as_good > 1) text += fmt::format("; rows 1 to {}, within 1 %, are as good a choice", as_good);
  return text;
}

struct Answer {
  std::string_view what;
  std::string text;
};

std::vector<Answer> answers_of(const PlanReport& shown) {
  std::vector<Answer> list;
  const RankedPlan& plan = shown.plan;
  const PlanRow& winner = plan.rows.front();
  std::string terms;
  for (const PlanTerm& term : terms_of(winner.report))
    if (term.time > Duration{0})
      terms += fmt::format("{}{} {}", terms.empty() ? "" : ", ", term.name, format_duration(term.time));
  list.push_back({"row 1", terms + " (means over its stages)"});
  for (const std::string& equals : all_equals(plan.rows)) list.push_back({"the same", equals});
  const auto& simpler = shown.analysis.simpler;
  const PlanRow* const other = other_kind(plan);
  if (other != nullptr && !(simpler && simpler->configuration == other->configuration))
    list.push_back({"another", compared(*other, winner)});
  if (const auto& balanced = shown.analysis.balanced) {
    const auto& [position, row] = *balanced;
    list.push_back({"layers", fmt::format("row {} with --layout '{}' (--balance): {} ({}), {}", position + 1,
                                          row.configuration.layout, format_duration(row.report.step_time),
                                          difference(row.report.step_time, winner.report.step_time),
                                          format_bytes(row.report.peak_bytes()))});
  }
  if (simpler) list.push_back({"simpler", compared(*simpler, winner)});
  const Configuration* before = &winner.configuration;
  for (const PlanFrontPoint& point : shown.analysis.front | std::views::reverse) {
    if (point.row.configuration == *before) continue; // it fits into less
    before = &point.row.configuration;
    list.push_back({"less memory", fmt::format("within {}: {}, {} ({}), {}", format_bytes(point.limit),
                                               format_bytes(point.row.report.peak_bytes()),
                                               format_duration(point.row.report.step_time),
                                               difference(point.row.report.step_time, winner.report.step_time),
                                               configuration_words(point.row.configuration))});
  }
  for (const OtherConstants& change : shown.analysis.changes) list.push_back({"how sure", change_words(change)});
  list.push_back({"how sure", trust_words(shown)});
  return list;
}

std::string nothing_fits(const RankedPlan& plan) {
  if (!plan.closest) return fmt::format("none can run: {}", as_flags(plan.refusal));
  const Bytes needs = plan.closest->report.peak_bytes();
  std::string text =
      fmt::format("{} needs least: {}", configuration_words(plan.closest->configuration), format_bytes(needs));
  if (plan.memory_limit)
    text += fmt::format(", {} more than the {} available", format_bytes(needs - *plan.memory_limit),
                        format_bytes(*plan.memory_limit));
  return text;
}

/// A command that can be pasted, however long.
std::string pasted_lines(const std::string& command, std::size_t width) {
  std::string text;
  std::string line = " ";
  for (std::size_t begin = 0; begin < command.size();) {
    const std::size_t end = std::min(command.find(" --", begin + 1), command.size());
    const std::string word = command.substr(begin, end - begin);
    if (line.size() + word.size() + 3 > width && line.size() > 1) {
      text += line + " \\\n";
      line = "   ";
    }
    line += (begin == 0 ? " " : "") + word;
    begin = end;
  }
  return text + line + "\n";
}

} // namespace

std::string configuration_words(const Configuration& configuration) {
  const Degrees& degrees = configuration.degrees;
  std::vector<std::string> words;
  const auto add = [&](bool given, std::string_view name, std::int64_t value) {
    if (given) words.push_back(fmt::format("{} {}", name, value));
  };
  add(true, "tp", degrees.tensor);
  add(degrees.context > 1, "cp", degrees.context);
  add(degrees.expert > 1, "ep", degrees.expert);
  add(true, "dp", degrees.data);
  add(true, "pp", degrees.stages);
  words.push_back(fmt::format("{} of {}", counted(static_cast<std::size_t>(degrees.microbatches), "microbatch", "es"),
                              degrees.microbatch_size));
  words.push_back(order_words(configuration));
  if (configuration.keeping.kind != RecomputeKind::none)
    words.push_back("recompute " + kept_words(configuration.keeping));
  add(degrees.zero_stage != 1, "ZeRO", degrees.zero_stage);
  return joined(words, ", ");
}

std::string plan_text(const PlanReport& shown, const TextOptions& options) {
  const std::size_t width = std::max(options.width, least_text_width);
  std::string text = headline_lines(headline(shown), width, "1", options.colour) + "\n";
  if (shown.plan.rows.empty()) return text + list_lines({nothing_fits(shown.plan)}, width);
  const std::vector<TableColumn> columns = columns_of(shown);
  const std::vector<TableColumn> fitting = columns_that_fit(columns, width);
  text += indented_table(fitting, options.colour);
  if (const std::string others = left_out(columns, fitting); !others.empty()) text += list_lines({others}, width);
  text += '\n';
  std::string_view before;
  for (const auto& [what, answer] : answers_of(shown))
    text += answer_lines(what == std::exchange(before, what) ? "" : what, answer, width);
  text += "\nto run row 1:\n" + pasted_lines("ppsim " + shown.command, width);
  const std::string settings =
      settings_for(shown.request.framework, shown.request, shown.plan.rows.front().configuration);
  if (!settings.empty()) text += fmt::format("\n{} of row 1:\n{}", to_string(shown.request.framework), settings);
  return text;
}

std::string plan_markdown(const PlanReport& shown) {
  std::string text = markdown_text(headline(shown)) + "\n\n";
  if (shown.plan.rows.empty()) return text + markdown_list({nothing_fits(shown.plan)});
  text += markdown_table(columns_of(shown)) + "\n";
  std::vector<std::string> items;
  for (const auto& [what, answer] : answers_of(shown)) items.push_back(fmt::format("{}: {}", what, answer));
  text += markdown_list(items) + fmt::format("\n```sh\nppsim {}\n```\n", shown.command);
  const std::string settings =
      settings_for(shown.request.framework, shown.request, shown.plan.rows.front().configuration);
  if (!settings.empty()) text += fmt::format("\n{}:\n\n```\n{}```\n", to_string(shown.request.framework), settings);
  return text;
}

std::string svg_plan(const PlanReport& shown) {
  Variation front{.axis = {.option = "memory-limit", .unit = Axis::Unit::bytes, .from = 0, .to = 0},
                  .title = fmt::format("{} on {} x {}, batch {}: the fastest configuration within a memory limit",
                                       shown.request.run.model_shape->name, shown.request.gpus,
                                       shown.request.run.device_sheet->name, shown.request.global_batch),
                  .source = "",
                  .points = {},
                  .lines = {{"fastest", false, {}}},
                  .best = {},
                  .crossings = {}};
  // stairs: what fits into a limit is as fast as it is up to what the next one needs
  std::vector<const PlanRow*> rows;
  rows.reserve(shown.analysis.front.size() + 1);
  for (const PlanFrontPoint& point : shown.analysis.front) rows.push_back(&point.row);
  rows.push_back(&shown.plan.rows.front());
  constexpr std::int64_t steep = 200; // of the axis, that a step takes
  const std::int64_t width = (shown.plan.memory_limit->count() - rows.front()->report.peak_bytes().count()) / steep;
  std::optional<Duration> before;
  const auto add = [&](const PlanRow& row) {
    const std::int64_t needs = row.report.peak_bytes().count();
    if (!front.points.empty() && needs <= front.points.back()) return;
    const auto draw = [&](std::int64_t limit, Duration time) {
      front.points.push_back(limit);
      front.lines.front().samples.emplace_back(Sample{.step_time = time});
    };
    if (before && needs - width > front.points.back()) draw(needs - width, *before);
    draw(needs, row.report.step_time);
    before = row.report.step_time;
  };
  for (const PlanRow* row : rows) add(*row);
  front.points.push_back(shown.plan.memory_limit->count());
  front.lines.front().samples.emplace_back(Sample{.step_time = shown.plan.rows.front().report.step_time});
  front.axis.from = front.points.front();
  front.axis.to = front.points.back();
  front.best.push_back({front.axis.from, front.axis.to, std::size_t{0}});
  return svg_variation(front);
}

} // namespace ppsim::viz
