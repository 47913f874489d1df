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
#include "ppsim/viz/plan.hpp"
#include "ppsim/viz/variation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

std::string order_words(const Configuration& configuration) {
  if (configuration.schedule == nullptr) return "any schedule";
  const bool chooses = configuration.schedule->vpp.multiple > 0 && configuration.schedule->vpp.matters;
  return fmt::format("{}{}{}", configuration.schedule->name,
                     chooses ? fmt::format(" v={}", configuration.chunks) : std::string{},
                     configuration.layout.empty() ? "" : ", ends as layers");
}

std::string kept_words(const Keeping& keeping) {
  if (keeping.kind == RecomputeKind::none) return "-";
  if (keeping.kind == RecomputeKind::selective) return "selective";
  return keeping.block_layers == 0 ? "full" : fmt::format("full {} of a chunk", keeping.block_layers);
}

/// "tp 4, dp 32, pp 4, microbatches of 1, zb-interleaved v=20".
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

std::string metric_text(const RunReport& report, std::string_view tag, std::string (*text)(double)) {
  const auto value = find_metric(tag).value(report);
  return value ? text(*value) : "-";
}

std::vector<TableColumn> columns_of(const PlanShown& shown) {
  const std::vector<PlanRow>& rows = shown.plan.rows;
  std::vector<TableColumn> columns;
  const auto add = [&](std::string_view header, int rank, auto cell) {
    columns.push_back(column_of(header, rank, rows, cell));
  };
  const auto add_degree = [&](std::string_view header, std::int64_t Degrees::*degree, std::int64_t usual) {
    const auto value = [&](const PlanRow& row) { return row.configuration.degrees.*degree; };
    if (std::ranges::all_of(rows, [&](const PlanRow& row) { return value(row) == usual; })) return;
    add(header, 0, [&](const PlanRow& row) { return fmt::format("{}", value(row)); });
  };
  std::size_t number = 0;
  add("row", 0, [&](const PlanRow&) { return fmt::format("{}", ++number); });
  add("step time", 0, [](const PlanRow& row) { return format_duration(row.report.step_time); });
  const StepFigure figure = shown.request.run.rank_by;
  if (figure != StepFigure::step_time)
    add(to_string(figure), 0, [](const PlanRow& row) { return format_duration(Duration{row.figure}); });
  add("slower", 2, [&](const PlanRow& row) {
    return &row == &rows.front() ? std::string{} : difference(Duration{row.figure}, Duration{rows.front().figure});
  });
  add("MFU", 1, [](const PlanRow& row) { return metric_text(row.report, "mfu", percent); });
  add("tokens/s", 3, [](const PlanRow& row) {
    return metric_text(row.report, "tokens_per_second_per_device",
                       [](double rate) { return grouped(static_cast<std::uint64_t>(std::llround(rate))); });
  });
  add("memory", 0, [](const PlanRow& row) { return format_bytes(row.report.peak_bytes()); });
  if (const auto limit = shown.plan.memory_limit)
    add("free", 4, [&](const PlanRow& row) { return format_bytes(*limit - row.report.peak_bytes()); });
  add_degree("tp", &Degrees::tensor, 1);
  add_degree("cp", &Degrees::context, 1);
  add_degree("ep", &Degrees::expert, 1);
  add_degree("dp", &Degrees::data, 0);
  add_degree("pp", &Degrees::stages, 0);
  add_degree("mbs", &Degrees::microbatch_size, 0);
  add_degree("mb", &Degrees::microbatches, 0);
  add("schedule", 0, [](const PlanRow& row) { return order_words(row.configuration); });
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

std::string headline(const PlanShown& shown) {
  const RankedPlan& plan = shown.plan;
  const std::string text =
      fmt::format("{} configurations of {} x {}, {} simulated", grouped(plan.configurations), shown.request.gpus,
                  shown.request.run.device_sheet->name, grouped(plan.simulated));
  if (plan.rows.empty()) return text + ": none fits";
  if (plan.rows.size() < shown.request.top) return text + ": these are all that fit";
  return text + fmt::format(": none of the others fits and is faster than row {}", plan.rows.size());
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

/// The first row that differs in more than chunks and what is divided.
const PlanRow* other_kind(const RankedPlan& plan) {
  const Configuration& winner = plan.rows.front().configuration;
  for (const PlanRow& row : plan.rows) {
    const Degrees& degrees = row.configuration.degrees;
    if (row.configuration.schedule != winner.schedule || degrees.tensor != winner.degrees.tensor ||
        degrees.stages != winner.degrees.stages || row.configuration.keeping.kind != winner.keeping.kind)
      return &row;
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

struct Answer {
  std::string_view what;
  std::string text;
};

std::vector<Answer> answers_of(const PlanShown& shown) {
  std::vector<Answer> list;
  const RankedPlan& plan = shown.plan;
  const PlanRow& winner = plan.rows.front();
  list.push_back({"run row 1", as_flags(shown.fields.front())});
  std::string terms;
  for (const PlanTerm& term : terms_of(winner.report))
    if (term.time > Duration{0})
      terms += fmt::format("{}{} {}", terms.empty() ? "" : ", ", term.name, format_duration(term.time));
  list.push_back({"row 1", terms + " (means over its stages)"});
  if (const PlanRow* const other = other_kind(plan)) list.push_back({"another", compared(*other, winner)});
  if (shown.answers.simpler) list.push_back({"simpler", compared(*shown.answers.simpler, winner)});
  for (const PlanFrontPoint& point : shown.answers.front)
    list.push_back({&point == shown.answers.front.data() ? "less memory" : "",
                    fmt::format("in {}: {}, {}", format_bytes(point.limit), format_duration(point.row.report.step_time),
                                configuration_words(point.row.configuration))});
  for (const OtherConstants& change : shown.answers.changes)
    list.push_back({&change == shown.answers.changes.data() ? "how sure" : "", change_words(change)});
  return list;
}

std::string nothing_fits(const RankedPlan& plan) {
  if (!plan.closest) return "no configuration can be simulated";
  const ClosestFit& closest = *plan.closest;
  std::string text = fmt::format("{} comes closest: it needs at least {}", configuration_words(closest.configuration),
                                 format_bytes(closest.needs));
  if (plan.memory_limit && closest.needs > *plan.memory_limit)
    text += fmt::format(", {} more than the {} there are", format_bytes(closest.needs - *plan.memory_limit),
                        format_bytes(*plan.memory_limit));
  return text;
}

} // namespace

std::string plan_text(const PlanShown& shown, const TextOptions& options) {
  const std::size_t width = std::max(options.width, least_text_width);
  std::string text = headline_lines(headline(shown), width, "1", options.colour) + "\n";
  if (shown.plan.rows.empty()) return text + list_lines({nothing_fits(shown.plan)}, width);
  text += indented_table(columns_that_fit(columns_of(shown), width), options.colour) + "\n";
  for (const auto& [what, answer] : answers_of(shown)) text += answer_lines(what, answer, width);
  const std::string settings =
      settings_for(shown.request.framework, shown.request, shown.plan.rows.front().configuration);
  if (!settings.empty()) text += fmt::format("\n{} of row 1:\n{}", to_string(shown.request.framework), settings);
  return text;
}

std::string plan_markdown(const PlanShown& shown) {
  std::string text = markdown_text(headline(shown)) + "\n\n";
  if (shown.plan.rows.empty()) return text + markdown_list({nothing_fits(shown.plan)});
  text += markdown_table(columns_of(shown)) + "\n";
  std::vector<std::string> items;
  for (const auto& [what, answer] : answers_of(shown))
    items.push_back(what.empty() ? answer : fmt::format("{}: {}", what, answer));
  return text + markdown_list(items);
}

std::string svg_plan(const PlanShown& shown) {
  Variation front{.axis = {.option = "memory-limit", .unit = Axis::Unit::bytes, .from = 0, .to = 0},
                  .title = fmt::format("{} x {}: the fastest configuration within a memory limit", shown.request.gpus,
                                       shown.request.run.device_sheet->name),
                  .source = "",
                  .points = {},
                  .lines = {{"fastest", false, {}}},
                  .best = {},
                  .crossings = {}};
  const auto add = [&](Bytes limit, const PlanRow& row) {
    front.points.push_back(limit.count());
    front.lines.front().samples.emplace_back(Sample{.step_time = row.report.step_time});
  };
  for (const PlanFrontPoint& point : shown.answers.front) add(point.limit, point.row);
  add(*shown.plan.memory_limit, shown.plan.rows.front());
  front.axis.from = front.points.front();
  front.axis.to = front.points.back();
  front.best.push_back({front.axis.from, front.axis.to, std::size_t{0}});
  return svg_variation(front);
}

} // namespace ppsim::viz
