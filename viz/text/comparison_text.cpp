// A comparison as text. How it reads, for `ppsim compare --stages 4 --mb 8 --schedules gpipe,1f1b,zb-v`:
//
//   3 schedules: 4 stages, 8 microbatches, transfers: latency
//
//     schedule  step time   slower  bubble    over    span  live  transfers  copies  asks
//   > zb-v        25.5 ms           5.88 %  6.25 %   0.0 %     4         96       1  V, split
//     1f1b          33 ms  +29.4 %  27.3 %  37.5 %  27.3 %     4         48       1  -
//     gpipe         33 ms  +29.4 %  27.3 %  37.5 %  27.3 %     8         48       1  -
//
//   take zb-v: ...
//
//   not applicable:
//     chimera: ...

#include "ppsim/base/words.hpp"
#include "ppsim/study/run_report.hpp"
#include "ppsim/viz/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "text_blocks.hpp"
#include "words/figures.hpp"

namespace ppsim::viz {

namespace {

bool is_best(const Comparison& comparison, const Contender& contender) {
  return comparison.recommendation && &contender == &comparison.contenders[comparison.recommendation->best];
}

/// What the words under "asks" mean, as far as they occur.
std::string meaning_of_asks(const Comparison& comparison) {
  const auto any = [&comparison](auto has) {
    return std::ranges::any_of(comparison.contenders, has, &Contender::demands);
  };
  std::vector<std::string> parts;
  if (any([](const Demands& demands) { return demands.chunks_per_stage > 1; })) parts.emplace_back("chunks per stage");
  if (any(&Demands::folds)) parts.emplace_back("placed in a V or in waves");
  if (any(&Demands::splits_backward)) parts.emplace_back("a backward split into input and weight gradient");
  if (any(&Demands::overlaps_pairs)) parts.emplace_back("pairs of a forward and a backward at the same time");
  if (any(&Demands::asynchronous)) parts.emplace_back("async: no flush, so gradients of older weights");
  return joined(parts, ", ");
}

/// `add` takes a column's header, its rank, what it means, and what its cells say.
template <class Add>
void add_memory(const Comparison& comparison, Add add) {
  if (!comparison.knows_memory)
    return add("live", 2, "activations of a whole stage, on the stage that holds most",
               [](const Contender& each) { return fmt::format("{:.4g}", each.peak_stage_activations()); });
  add("memory", 0, "on the stage that needs most",
      [](const Contender& each) { return format_bytes(each.report.peak_bytes()); });
  if (const std::optional<Bytes> limit = comparison.memory_limit)
    add("free", 0, "what is left of the limit", [limit](const Contender& each) {
      return each.fits() ? format_bytes(*limit - std::min(*limit, each.report.peak_bytes())) : "no";
    });
}

/// How far from the best order each is, where that was asked for.
template <class Add>
void add_bound(const Comparison& comparison, Add& add) {
  if (std::ranges::none_of(comparison.contenders, [](const Contender& each) { return each.report.bound.has_value(); }))
    return;
  add("above", 2,
      "distance from the best order with its placement and its kind of backwards (whole or split), within the memory "
      "limit, or else within its own memory; at most (proven)",
      [](const Contender& each) {
        const std::optional<double> gap = find_metric("gap").value(each.report);
        return gap ? percent(*gap) : "-";
      });
}

/// A figure of the samples.
template <class Add>
void add_figure(StepFigure figure, int rank, Add& add) {
  const std::string description{find_metric(metric_tag(figure)).description};
  add(to_string(figure), rank, description + ", with --jitter or --jitter-from", [figure](const Contender& each) {
    const std::optional<Duration> time = find_figure(each.report, figure);
    return time ? format_duration(*time) : "-";
  });
}

/// How much longer than the reference each takes, after the figure by which they are ranked where that is not a step
/// time; and what 95 % of all steps take at most, with jitter.
template <class Add>
void add_ranking(const Comparison& comparison, const Contender& reference, Add& add) {
  const StepFigure figure = comparison.ranked_by;
  const std::optional<Duration> least = comparison.figure_of(reference);
  if (figure != StepFigure::step_time) add_figure(figure, 0, add);
  add("slower", 1, figure == StepFigure::step_time ? "" : fmt::format("by {}", to_string(figure)),
      [&](const Contender& each) {
        const std::optional<Duration> time = comparison.figure_of(each);
        if (&each == &reference) return std::string{};
        return time && least ? difference(*time, *least) : "-";
      });
  const bool sampled =
      std::ranges::any_of(comparison.contenders, [](const Contender& each) { return each.report.spread.has_value(); });
  if (sampled && figure != StepFigure::p95) add_figure(StepFigure::p95, 1, add);
}

/// All columns of the table, that of the names first. What tells most has the lowest rank.
std::vector<TableColumn> columns_of(const Comparison& comparison, TableColumn names) {
  const std::vector<Contender>& contenders = comparison.contenders;
  const Contender& reference = contenders[comparison.recommendation ? comparison.recommendation->best : 0];
  std::vector<TableColumn> columns{std::move(names)};
  const auto add = [&](std::string_view header, int rank, std::string meaning, auto cell) {
    columns.push_back(column_of(header, rank, contenders, cell));
    columns.back().meaning = std::move(meaning);
  };
  const auto any = [&](auto is) { return std::ranges::any_of(contenders, is, &Contender::report); };
  const auto stalls = [](const RunReport& report) { return report.stalls && report.stalls->count > 0; };
  add("step time", 0, "", [](const Contender& each) { return format_duration(each.report.step_time); });
  add_ranking(comparison, reference, add);
  if (any([](const RunReport& report) { return report.makespan != report.step_time; }))
    add("makespan", 7, "of one step alone, if the step time is the interval between steps", [](const Contender& each) {
      return each.report.makespan == each.report.step_time ? "" : format_duration(each.report.makespan);
    });
  if (any(stalls))
    add("stalls", 2,
        "waits for sends and receives that were queued or posted late, over all stages; 'ppsim place' moves them",
        [&](const Contender& each) { return stalls(each.report) ? format_duration(each.report.stalls->sum) : "-"; });
  add_bound(comparison, add);
  add("bubble", 3, "idle share of device time (bubble ratio)",
      [](const Contender& each) { return percent(each.report.bubble_ratio); });
  add("over", 5, "time of one step over the ideal (bubble overhead)",
      [](const Contender& each) { return percent(each.report.bubble_overhead); });
  add("span", 6, "idle share of the longest span of a stage (stage span bubble)",
      [](const Contender& each) { return percent(each.report.stage_span_bubble); });
  add_memory(comparison, add);
  const Metric& mfu = find_metric("mfu");
  if (any([&](const RunReport& report) { return mfu.value(report).has_value(); }))
    add("MFU", 8, "model FLOPs utilisation", [&](const Contender& each) {
      const std::optional<double> value = mfu.value(each.report);
      return value ? percent(*value) : "-";
    });
  add("transfers", 10, "", [](const Contender& each) { return std::to_string(each.report.transfers); });
  if (any([](const RunReport& report) { return report.transfer_volume > Bytes{}; }))
    add("sent", 8, "by all transfers of a step",
        [](const Contender& each) { return format_bytes(each.report.transfer_volume); });
  add("copies", 9, "of the parameters: stages that hold them, times versions",
      [](const Contender& each) { return std::to_string(each.demands.parameter_copies); });
  add("asks", 4, meaning_of_asks(comparison), [](const Contender& each) { return asked(each.demands); });
  columns.back().left = true;
  return columns;
}

/// Who waits for whom differs from schedule to schedule, and is of no use to one who chooses among them.
std::string reason_of(const NotApplicable& entry, TransferModel model) {
  if (!entry.is_held_by_transfers) return as_flags(entry.reason);
  return fmt::format("does not run under '{}', but with --transfer latency (a run of it alone shows what waits for "
                     "what, or goes astray)",
                     to_string(model));
}

/// The schedules that do not apply and why, those with the same reason together.
std::vector<std::string> refusals_of(const Comparison& comparison) {
  std::vector<std::pair<std::string, std::string>> refusals; // names and reason
  for (const NotApplicable& entry : comparison.not_applicable) {
    const std::string reason = reason_of(entry, comparison.transfer_model);
    const auto same = std::ranges::find(refusals, reason, &std::pair<std::string, std::string>::second);
    if (same == refusals.end())
      refusals.emplace_back(entry.name, reason);
    else
      same->first += ", " + entry.name;
  }
  std::vector<std::string> lines;
  std::ranges::transform(refusals, std::back_inserter(lines),
                         [](const auto& refusal) { return fmt::format("{}: {}", refusal.first, refusal.second); });
  return lines;
}

std::string headline(const Comparison& comparison) {
  std::vector<std::string> conditions{counted(comparison.stages, "stage"),
                                      counted(comparison.microbatches, "microbatch", "es"),
                                      fmt::format("transfers: {}", to_string(comparison.transfer_model))};
  if (comparison.memory_limit) conditions.push_back("limit " + format_bytes(*comparison.memory_limit));
  if (const Jitter* const jitter = sampled_as(comparison))
    std::ranges::copy(sampled_words(*jitter), std::back_inserter(conditions));
  return fmt::format("{}: {}", counted(comparison.contenders.size(), "schedule"), joined(conditions, ", "));
}

/// The table: a row per contender, the recommended one marked.
std::string table(const Comparison& comparison, const std::vector<TableColumn>& columns, bool colour) {
  std::string out;
  const std::vector<std::string> lines = table_lines(columns);
  out += lines.front() + '\n';
  for (std::size_t i = 0; i < comparison.contenders.size(); ++i) {
    const Contender& contender = comparison.contenders[i];
    const bool bold = is_best(comparison, contender);
    out += in_colour(lines[i + 1], bold ? "1" : "31", colour && (bold || !contender.fits())) + '\n';
  }
  return out;
}

/// What the columns mean, a line each; what is not shown in a last one.
std::vector<std::string> notes(const std::vector<TableColumn>& all, const std::vector<TableColumn>& shown) {
  std::vector<std::string> lines;
  for (const TableColumn& column : shown)
    if (!column.meaning.empty()) lines.push_back(column.header + ": " + column.meaning);
  if (std::string others = left_out(all, shown); !others.empty()) lines.push_back(std::move(others));
  return lines;
}

} // namespace

std::string comparison_text(const Comparison& comparison, const std::string& recommendation,
                            const TextOptions& options) {
  const std::size_t width = std::max(options.width, least_text_width);
  std::string out = in_colour(wrapped_lines(headline(comparison), width, 2), "1", options.colour);
  if (!comparison.title.empty()) out += comparison.title + '\n';
  if (!comparison.source.empty()) out += "costs: " + comparison.source + '\n';

  const auto name = [&](const Contender& each) { return (is_best(comparison, each) ? "> " : "  ") + each.name; };
  std::vector<TableColumn> all;
  std::vector<TableColumn> shown;
  if (!comparison.contenders.empty()) {
    all = columns_of(comparison, left(column_of("  schedule", 0, comparison.contenders, name)));
    shown = columns_that_fit(all, width);
    out += '\n' + table(comparison, shown, options.colour);
  }
  out += '\n' + wrapped_lines(recommendation, width, 0);
  if (!comparison.contenders.empty()) out += '\n' + list_lines(notes(all, shown), width);
  if (comparison.not_applicable.empty()) return out;
  return out + "\nnot applicable:\n" + list_lines(refusals_of(comparison), width);
}

std::string comparison_markdown(const Comparison& comparison, const std::string& recommendation) {
  std::string out = "### " + markdown_text(comparison.title.empty() ? headline(comparison) : comparison.title) + "\n\n";
  if (!comparison.title.empty()) out += markdown_text(headline(comparison)) + "\n\n";
  if (!comparison.source.empty()) out += "costs: " + markdown_text(comparison.source) + "\n\n";
  const auto name = [&](const Contender& each) {
    return each.name + (is_best(comparison, each) ? " (recommended)" : "");
  };
  std::vector<TableColumn> columns;
  if (!comparison.contenders.empty()) {
    columns = columns_of(comparison, left(column_of("schedule", 0, comparison.contenders, name)));
    out += markdown_table(columns) + '\n';
  }
  out += markdown_text(recommendation) + '\n';
  if (!columns.empty()) out += '\n' + markdown_list(notes(columns, columns));
  if (comparison.not_applicable.empty()) return out;
  return out + "\nNot applicable:\n\n" + markdown_list(refusals_of(comparison));
}

} // namespace ppsim::viz
