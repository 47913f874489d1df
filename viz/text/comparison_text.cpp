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

#include "tables.hpp"
#include "words/comparison_words.hpp"

namespace ppsim::viz {

namespace {

/// Makes the cells of one column, contender by contender.
template <class Cell>
TableColumn column(const Comparison& comparison, std::string_view header, int rank, Cell cell) {
  TableColumn made{std::string{header}, {}, rank, false};
  for (const Contender& contender : comparison.contenders) made.cells.push_back(cell(contender));
  return made;
}

bool is_best(const Comparison& comparison, std::size_t position) {
  return comparison.recommendation && comparison.recommendation->best == position;
}

/// What the order asks of the runtime, in the fewest words; the notes say what they mean.
std::string asked(const Demands& demands) {
  const std::string words = joined(demand_words(demands), ", ");
  return words.empty() ? "-" : words;
}

void add_memory(std::vector<TableColumn>& columns, const Comparison& comparison) {
  if (!comparison.knows_memory) {
    columns.push_back(column(comparison, "live", 2, [](const Contender& contender) {
      return fmt::format("{:.4g}", contender.peak_stage_activations());
    }));
    return;
  }
  columns.push_back(
      column(comparison, "memory", 0, [](const Contender& contender) { return format_bytes(contender.peak_bytes()); }));
  if (const std::optional<Bytes> limit = comparison.memory_limit)
    columns.push_back(column(comparison, "free", 0, [limit](const Contender& contender) {
      return contender.fits() ? format_bytes(*limit - std::min(*limit, contender.peak_bytes())) : std::string{"no"};
    }));
}

/// All columns but the first, which only a terminal marks. What tells most has the lowest rank.
std::vector<TableColumn> columns_of(const Comparison& comparison) {
  const Contender* reference = reference_of(comparison);
  std::vector<TableColumn> columns;
  columns.push_back(column(comparison, "step time", 0,
                           [](const Contender& contender) { return format_duration(contender.report.step_time); }));
  columns.push_back(column(comparison, "slower", 1, [reference](const Contender& contender) {
    return &contender == reference ? std::string{}
                                   : difference(contender.report.step_time, reference->report.step_time);
  }));
  if (std::ranges::any_of(comparison.contenders, [](const Contender& contender) {
        return contender.report.makespan != contender.report.step_time;
      }))
    columns.push_back(column(comparison, "makespan", 7, [](const Contender& contender) {
      const RunReport& report = contender.report;
      return report.makespan == report.step_time ? std::string{} : format_duration(report.makespan);
    }));
  if (std::ranges::any_of(comparison.contenders, [](const Contender& contender) {
        return contender.report.stalls && contender.report.stalls->count > 0;
      }))
    columns.push_back(column(comparison, "stalls", 2, [](const Contender& contender) {
      const auto& stalls = contender.report.stalls;
      return stalls && stalls->count > 0 ? format_duration(stalls->sum) : std::string{"-"};
    }));
  columns.push_back(column(comparison, "bubble", 3,
                           [](const Contender& contender) { return percent(contender.report.bubble_ratio); }));
  columns.push_back(column(comparison, "over", 5,
                           [](const Contender& contender) { return percent(contender.report.bubble_overhead); }));
  columns.push_back(column(comparison, "span", 6,
                           [](const Contender& contender) { return percent(contender.report.stage_span_bubble); }));
  add_memory(columns, comparison);
  columns.push_back(column(comparison, "transfers", 10,
                           [](const Contender& contender) { return fmt::format("{}", contender.report.transfers); }));
  if (std::ranges::any_of(comparison.contenders,
                          [](const Contender& contender) { return contender.report.transfer_volume > Bytes{}; }))
    columns.push_back(column(comparison, "sent", 8, [](const Contender& contender) {
      return format_bytes(contender.report.transfer_volume);
    }));
  columns.push_back(column(comparison, "copies", 9, [](const Contender& contender) {
    return fmt::format("{}", contender.demands.parameter_copies);
  }));
  columns.push_back(column(comparison, "asks", 4, [](const Contender& contender) { return asked(contender.demands); }));
  columns.back().left = true;
  return columns;
}

std::string meaning_of(std::string_view header) {
  if (header == "makespan") return "of one step by itself, where the step time is the interval between steps";
  if (header == "stalls")
    return "waits for sends and receives behind others or posted late, over all stages; 'ppsim place' moves them";
  if (header == "bubble") return "idle share of device time (bubble ratio)";
  if (header == "over") return "what one step takes over the ideal (bubble overhead)";
  if (header == "span") return "idle share of the longest span of a stage (stage span bubble)";
  if (header == "live") return "activations of a whole stage, of the stage that holds most";
  if (header == "memory") return "of the stage that needs most";
  if (header == "free") return "what that leaves of the limit";
  if (header == "sent") return "by all transfers of a step";
  if (header == "copies") return "of the parameters: stages that hold them, times versions";
  return {};
}

/// What the words under "asks" mean, as far as they occur.
std::string meaning_of_asks(const Comparison& comparison) {
  const auto any = [&comparison](auto has) {
    return std::ranges::any_of(comparison.contenders,
                               [has](const Contender& contender) { return has(contender.demands); });
  };
  std::vector<std::string> parts;
  if (any([](const Demands& demands) { return demands.chunks_per_stage > 1; })) parts.emplace_back("chunks per stage");
  if (any([](const Demands& demands) { return demands.folds; })) parts.emplace_back("placed in a V or in waves");
  if (any([](const Demands& demands) { return demands.splits_backward; }))
    parts.emplace_back("a backward split into input and weight gradient");
  if (any([](const Demands& demands) { return demands.overlaps_pairs; }))
    parts.emplace_back("pairs of a forward and a backward at the same time");
  if (any([](const Demands& demands) { return demands.asynchronous; }))
    parts.emplace_back("async: no flush, so gradients of older weights");
  return joined(parts, ", ");
}

/// Who waits for whom differs from schedule to schedule, and is of no use to one who chooses among them.
std::string reason_of(const NotApplicable& entry, TransferModel model) {
  if (!entry.is_held_by_transfers) return in_flags(entry.reason);
  return fmt::format("deadlock under '{}', and would not with --transfer latency ('ppsim --schedule NAME' with these "
                     "inputs says who waits for whom)",
                     to_string(model));
}

/// The schedules that do not apply, those with the same reason together.
struct Refusal {
  std::string names;
  std::string reason;
};
std::vector<Refusal> refusals_of(const Comparison& comparison) {
  std::vector<Refusal> refusals;
  for (const NotApplicable& entry : comparison.not_applicable) {
    const std::string reason = reason_of(entry, comparison.transfer_model);
    const auto same = std::ranges::find(refusals, reason, &Refusal::reason);
    if (same == refusals.end())
      refusals.push_back({entry.name, reason});
    else
      same->names += ", " + entry.name;
  }
  return refusals;
}

std::string headline(const Comparison& comparison) {
  return fmt::format("{}: {}", counted(comparison.contenders.size(), "schedule"), joined(conditions(comparison), ", "));
}

/// The table: a row per contender, the recommended one marked.
std::string table(const Comparison& comparison, const std::vector<TableColumn>& columns, bool colour) {
  std::string out;
  const std::vector<std::string> lines = table_lines(columns, column_gap);
  out += lines.front() + '\n';
  for (std::size_t i = 0; i < comparison.contenders.size(); ++i) {
    const bool bold = is_best(comparison, i);
    out += in_colour(lines[i + 1], bold ? "1" : "31", colour && (bold || !comparison.contenders[i].fits())) + '\n';
  }
  return out;
}

/// What the columns mean, a line each; what is not shown in a last one.
std::vector<std::string> notes(const Comparison& comparison, const std::vector<TableColumn>& all,
                               const std::vector<TableColumn>& shown) {
  std::vector<std::string> lines;
  std::vector<std::string> missing;
  for (const TableColumn& column : all) {
    const bool is_shown =
        std::ranges::any_of(shown, [&](const TableColumn& other) { return other.header == column.header; });
    if (!is_shown) missing.push_back(column.header);
    const std::string meaning = column.header == "asks" ? meaning_of_asks(comparison) : meaning_of(column.header);
    if (is_shown && !meaning.empty()) lines.push_back(column.header + ": " + meaning);
  }
  if (!missing.empty()) lines.push_back("in a wider terminal, --markdown and --json also: " + joined(missing, ", "));
  return lines;
}

} // namespace

std::string comparison_text(const Comparison& comparison, const std::string& recommendation,
                            const TextOptions& options) {
  const std::size_t width = std::max(options.width, least_text_width);
  std::string out = in_colour(wrapped_lines(headline(comparison), width, 2), "1", options.colour);
  if (!comparison.title.empty()) out += comparison.title + '\n';
  if (!comparison.source.empty()) out += "costs: " + comparison.source + '\n';

  if (!comparison.contenders.empty()) {
    std::vector<TableColumn> all = columns_of(comparison);
    TableColumn names{"  schedule", {}, 0, true};
    for (std::size_t i = 0; i < comparison.contenders.size(); ++i)
      names.cells.push_back((is_best(comparison, i) ? "> " : "  ") + comparison.contenders[i].name);
    all.insert(all.begin(), std::move(names));
    const std::vector<TableColumn> shown = columns_that_fit(all, width, column_gap);
    out += '\n' + table(comparison, shown, options.colour);
    out += '\n' + wrapped_lines(recommendation, width, 0);
    out += '\n';
    for (const std::string& line : notes(comparison, all, shown)) out += "  " + wrapped_lines(line, width - 2, 4);
  } else {
    out += '\n' + wrapped_lines(recommendation, width, 0);
  }
  if (comparison.not_applicable.empty()) return out;
  out += "\nnot applicable:\n";
  for (const Refusal& refusal : refusals_of(comparison))
    out += "  " + wrapped_lines(refusal.names + ": " + refusal.reason, width - 2, 4);
  return out;
}

std::string comparison_markdown(const Comparison& comparison, const std::string& recommendation) {
  std::string out = "### " + markdown_text(comparison.title.empty() ? headline(comparison) : comparison.title) + "\n\n";
  if (!comparison.title.empty()) out += markdown_text(headline(comparison)) + "\n\n";
  if (!comparison.source.empty()) out += "costs: " + markdown_text(comparison.source) + "\n\n";
  if (!comparison.contenders.empty()) {
    std::vector<TableColumn> columns = columns_of(comparison);
    TableColumn names{"schedule", {}, 0, true};
    for (std::size_t i = 0; i < comparison.contenders.size(); ++i)
      names.cells.push_back(comparison.contenders[i].name + (is_best(comparison, i) ? " (recommended)" : ""));
    columns.insert(columns.begin(), std::move(names));
    out += markdown_table(columns) + '\n';
  }
  out += markdown_text(recommendation) + '\n';
  if (!comparison.contenders.empty()) {
    out += '\n';
    for (const std::string& line : notes(comparison, columns_of(comparison), columns_of(comparison)))
      out += "- " + markdown_text(line) + '\n';
  }
  if (comparison.not_applicable.empty()) return out;
  out += "\nNot applicable:\n\n";
  for (const Refusal& refusal : refusals_of(comparison))
    out += "- " + markdown_text(refusal.names + ": " + refusal.reason) + '\n';
  return out;
}

} // namespace ppsim::viz
