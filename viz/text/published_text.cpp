// Predictions held against published runs, as text. How it reads:
//
//   48 published step times in 4 sets, 47 predicted, 1 refused
//
//     set      runs  refused  median   worst    bias     fit  fit bias   check  check bias
//     Z-1f1b     12        0  4.02 %  +7.2 %  +4.0 %  3.90 %   +3.90 %  4.10 %     +4.10 %
//   ...
//
//     device  sets  runs  refused  median  worst  bias     fit  fit bias   check  check bias
//   ...
//     memory  runs  median  worst  bias
//   ...
//     set  worst run  measured  predicted  error
//   ...
//   refused:
//     B: 235b h100: `expert-parallel`: ...

#include "ppsim/base/words.hpp"
#include "ppsim/viz/published.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text_blocks.hpp"
#include "words/figures.hpp"

namespace ppsim::viz {
namespace {

using Columns = std::vector<TableColumn>;
using Groups = std::vector<PublishedGroup>;

std::string or_dash(bool is_known, const std::string& figure) {
  return is_known ? figure : "-";
}

std::string count_words(std::size_t count) {
  return fmt::format("{}", count);
}

bool knows_halves(const PublishedErrors& errors) {
  return std::ranges::any_of(errors.runs, [](const PublishedPrediction& held) { return held.run.half != Half::none; });
}

std::string headline_of(const PublishedErrors& errors) {
  const std::size_t refused = errors.refused();
  std::string words =
      fmt::format("{} in {}, {} predicted, {} refused", counted(errors.runs.size(), "published step time"),
                  counted(errors.sets.size(), "set"), errors.runs.size() - refused, refused);
  if (!errors.tolerance) return words;
  const std::string tolerated = given_percent(*errors.tolerance);
  if (refused == errors.runs.size()) return "no validation: " + words;
  if (errors.holds()) return fmt::format("valid: {}, all of them within {}", words, tolerated);
  return fmt::format("not valid: {}, {} of them off by more than {}", words, errors.beyond(), tolerated);
}

/// Median, worst and bias of one kind of error.
void add_figures(Columns& columns, const Groups& groups, ErrorFigures PublishedGroup::*which,
                 const std::function<double(std::size_t)>& error_at) {
  const auto add = [&](std::string_view header, auto words) {
    columns.push_back(column_of(header, 0, groups, [&](const PublishedGroup& group) {
      const ErrorFigures& figures = group.*which;
      return or_dash(figures.runs > 0, words(figures));
    }));
  };
  add("median", [](const ErrorFigures& figures) { return percent(figures.median); });
  add("worst", [&](const ErrorFigures& figures) {
    return figures.runs == 0 ? std::string{} : signed_percent(error_at(figures.worst));
  });
  add("bias", [](const ErrorFigures& figures) { return signed_percent(figures.bias); });
}

void add_half(Columns& columns, const Groups& groups, ErrorFigures PublishedGroup::*which, Half half) {
  const std::string_view name = to_string(half);
  columns.push_back(column_of(name, 0, groups, [which](const PublishedGroup& group) {
    return or_dash((group.*which).runs > 0, percent((group.*which).median));
  }));
  columns.push_back(column_of(fmt::format("{} bias", name), 1, groups, [which](const PublishedGroup& group) {
    return or_dash((group.*which).runs > 0, signed_percent((group.*which).bias));
  }));
}

Columns step_columns(const PublishedErrors& errors, const Groups& groups, std::string_view kind) {
  Columns columns{left(
      column_of(kind, 0, groups, [](const PublishedGroup& group) { return group.name.empty() ? "-" : group.name; }))};
  if (kind == "device")
    columns.push_back(
        column_of("sets", 0, groups, [](const PublishedGroup& group) { return count_words(group.sets); }));
  columns.push_back(
      column_of("runs", 0, groups, [](const PublishedGroup& group) { return count_words(group.step.runs); }));
  columns.push_back(
      column_of("refused", 2, groups, [](const PublishedGroup& group) { return count_words(group.refused); }));
  add_figures(columns, groups, &PublishedGroup::step, [&](std::size_t at) { return errors.runs[at].error(); });
  if (!knows_halves(errors)) return columns;
  add_half(columns, groups, &PublishedGroup::fit, Half::fit);
  add_half(columns, groups, &PublishedGroup::check, Half::check);
  return columns;
}

/// Of the sets that know it; without rows where none does.
Columns memory_columns(const PublishedErrors& errors) {
  Groups sets = errors.sets;
  std::erase_if(sets, [](const PublishedGroup& set) { return set.peak.runs == 0; });
  Columns columns{left(column_of("memory", 0, sets, &PublishedGroup::name)),
                  column_of("runs", 0, sets, [](const PublishedGroup& set) { return count_words(set.peak.runs); })};
  add_figures(columns, sets, &PublishedGroup::peak,
              [&](std::size_t at) { return errors.runs[at].peak_error().value_or(0); });
  return columns;
}

std::string step_words(const PublishedPrediction& held, Duration step) {
  return or_dash(!held.refused, format_duration(step));
}

/// What is said of single runs.
Columns run_columns_of(const PublishedErrors& errors, const std::vector<std::size_t>& shown, bool all) {
  Columns columns;
  const auto add = [&](std::string_view header, int rank, auto cell) {
    columns.push_back(column_of(header, rank, shown, [&](std::size_t at) { return cell(errors.runs[at]); }));
  };
  add("set", 0, [](const PublishedPrediction& held) { return held.run.set; });
  columns.back().left = true;
  add(all ? "run" : "worst run", 0, [](const PublishedPrediction& held) { return held.run.name; });
  columns.back().left = true;
  if (all && knows_halves(errors))
    add("half", 3, [](const PublishedPrediction& held) {
      return or_dash(held.run.half != Half::none, std::string{to_string(held.run.half)});
    });
  add("measured", 1, [](const PublishedPrediction& held) { return format_duration(held.run.step); });
  add("predicted", 1, [](const PublishedPrediction& held) { return step_words(held, held.step); });
  add("error", 0,
      [](const PublishedPrediction& held) { return held.refused ? "refused" : signed_percent(held.error()); });
  if (all &&
      std::ranges::any_of(errors.runs, [](const PublishedPrediction& held) { return held.peak_error().has_value(); }))
    add("memory", 2, [](const PublishedPrediction& held) {
      const auto error = held.peak_error();
      return or_dash(error.has_value(), signed_percent(error.value_or(0)));
    });
  return columns;
}

std::vector<std::size_t> worst_of_sets(const PublishedErrors& errors) {
  std::vector<std::size_t> worst;
  for (const PublishedGroup& set : errors.sets)
    if (set.step.runs > 0) worst.push_back(set.step.worst);
  return worst;
}

std::vector<std::size_t> all_runs(const PublishedErrors& errors) {
  std::vector<std::size_t> all(errors.runs.size());
  for (std::size_t at = 0; at < all.size(); ++at) all[at] = at;
  return all;
}

std::vector<std::string> refusals(const PublishedErrors& errors) {
  std::vector<std::string> lines;
  for (const PublishedPrediction& held : errors.runs) {
    if (!held.refused) continue;
    const auto& [where, what, hint] = *held.refused;
    lines.push_back(as_flags(fmt::format("{}, {} ({}): {}: {}{}", held.run.set, held.run.name, held.run.where, where,
                                         what, hint.empty() ? "" : fmt::format(" ({})", hint))));
  }
  return lines;
}

/// Those that ran, and cannot have.
std::vector<std::string> misfits(const PublishedErrors& errors) {
  std::vector<std::string> lines;
  for (const PublishedPrediction& held : errors.runs)
    if (!held.refused && !held.fits)
      lines.push_back(
          fmt::format("{}, {} ({}): {}", held.run.set, held.run.name, held.run.where, format_bytes(held.peak)));
  return lines;
}

std::string explanation(const PublishedErrors& errors) {
  std::string words = "error: (predicted - measured) / measured, of the step time; median: of the sizes of the errors; "
                      "bias: of the errors with their signs";
  if (knows_halves(errors)) words += "; fit, check: the same for the halves of a set";
  words += "; for a device: medians over its sets, which count once each";
  if (std::ranges::any_of(errors.sets, [](const PublishedGroup& set) { return set.peak.runs > 0; }))
    words += "; memory: on the stage that needs most";
  return words;
}

/// The tables that have rows, in the order in which they are shown.
std::vector<Columns> tables_of(const PublishedErrors& errors) {
  std::vector<Columns> tables{step_columns(errors, errors.sets, "set"), step_columns(errors, errors.devices, "device"),
                              memory_columns(errors), run_columns_of(errors, worst_of_sets(errors), false)};
  std::erase_if(tables, [](const Columns& table) { return table.front().cells.empty(); });
  return tables;
}

} // namespace

std::string published_text(const PublishedErrors& errors, bool rows, const TextOptions& options) {
  const std::size_t width = std::max(options.width, least_text_width);
  const std::string_view colour = !errors.tolerance ? "1" : errors.holds() ? "1;32" : "1;31";
  std::string out = headline_lines(headline_of(errors), width, colour, options.colour);
  for (const Columns& table : tables_of(errors)) out += '\n' + indented_table(columns_that_fit(table, width - 2));
  out += "  " + wrapped_lines(explanation(errors), width - 2, 2);
  if (const std::vector<std::string> lines = refusals(errors); !lines.empty())
    out += "\nrefused:\n" + list_lines(lines, width);
  if (const std::vector<std::string> lines = misfits(errors); !lines.empty())
    out += "\nran, but does not fit according to the prediction:\n" + list_lines(lines, width);
  if (rows) out += '\n' + indented_table(columns_that_fit(run_columns_of(errors, all_runs(errors), true), width - 2));
  return out;
}

std::string published_markdown(const PublishedErrors& errors, bool rows) {
  std::string out = markdown_text(headline_of(errors)) + '\n';
  for (const Columns& table : tables_of(errors)) out += '\n' + markdown_table(table);
  out += '\n' + markdown_text(explanation(errors)) + '\n';
  if (const std::vector<std::string> lines = refusals(errors); !lines.empty())
    out += "\nRefused:\n\n" + markdown_list(lines);
  if (const std::vector<std::string> lines = misfits(errors); !lines.empty())
    out += "\nRan, but does not fit according to the prediction:\n\n" + markdown_list(lines);
  if (rows) out += '\n' + markdown_table(run_columns_of(errors, all_runs(errors), true));
  return out;
}

} // namespace ppsim::viz
