// Many validations as text. How it reads:
//
//   valid: 36 step times are predicted within 2.86 % (median 1.10 %), 5 % is tolerated
//
//     worst       zb-v-m16 of p8-2ms: 51.2 ms predicted, 52.71 ms measured (-2.86 %)
//     tasks       with what the tasks took in the run itself, step times are predicted within 0.31 % (median
//                 0.12 %): the rest of the errors is how long tasks took
//     starts      95 % of the tasks of a run began within 0.95 % of the step of their prediction (median of the
//                 runs), 2.1 % in the worst (zb-v-m16 of p8-2ms)
//     order       88 of 90 pairs of schedules for the same work measured in the predicted order; the
//                 others are at most 0.31 % apart (1f1b-m8 before gpipe-m8 of p4-2ms)
//     results     as they have to be in all 36
//     memory      as predicted in all 36
//
//     group   runs  median   worst  starts  order
//     p2-2ms    12  0.81 %  -1.4 %   1.1 %  30/30
//   ...
//
//     run                 schedule  stages  mb  vpp  predicted  measured    error  starts
//     p2-2ms/1f1b-m4      1f1b           2   4    1      30 ms  30.24 ms  -0.80 %   0.9 %
//   ...

#include "ppsim/base/words.hpp"
#include "ppsim/viz/accuracy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "text_blocks.hpp"
#include "words/figures.hpp"

namespace ppsim::viz {
namespace {

/// Of more runs than this a text shows the worst only.
constexpr std::size_t most_runs = 40;
constexpr std::size_t worst_rows = 10;

std::string name_of(const ValidatedRun& run) {
  return run.group.empty() ? run.name : fmt::format("{} of {}", run.name, run.group);
}

/// What speaks against a single run, in a word each.
std::string against(const Validation& validation) {
  std::vector<std::string> words;
  if (validation.contended) words.emplace_back("contended");
  if (validation.unaligned) words.emplace_back("clocks");
  if (!validation.proved.value_or(true)) words.emplace_back("results");
  if (!validation.same_peaks()) words.emplace_back("memory");
  if (!validation.in_tolerance()) words.emplace_back("time");
  return words.empty() ? "-" : joined(words, ", ");
}

std::size_t count_of(const Accuracy& accuracy, bool (*is)(const Validation&)) {
  return static_cast<std::size_t>(
      std::ranges::count_if(accuracy.runs, [is](const ValidatedRun& run) { return is(run.validation); }));
}

/// "valid: ..." or "not valid: 2 of 36 ...".
std::string headline(const Accuracy& accuracy) {
  const ErrorSummary& all = accuracy.all;
  const std::size_t runs = accuracy.runs.size();
  const std::string no_validation = fmt::format("{} of {} runs {} no validation (cores shared, or clocks apart)",
                                                all.not_counted, runs, all.not_counted == 1 ? "is" : "are");
  if (all.runs == 0) return "no validation: " + no_validation;
  const std::string within = fmt::format(
      "{}step times are predicted within {} (median {}), {} is tolerated", all.not_counted == 0 ? "" : "the other ",
      percent(std::abs(accuracy.runs[all.worst].validation.step.error())), percent(all.median_error),
      given_percent(accuracy.runs.front().validation.tolerance));
  if (accuracy.holds()) return fmt::format("valid: {} {}", runs, within);
  const std::size_t holding = count_of(accuracy, [](const Validation& run) { return run.holds; });
  std::vector<std::string> reasons;
  if (holding < all.runs)
    reasons.push_back(fmt::format("{} of {} predictions do not hold", all.runs - holding, all.runs));
  if (all.not_counted > 0) reasons.push_back(no_validation);
  return fmt::format("{}: {}; {}", holding < all.runs ? "not valid" : "no validation", joined(reasons, ", "), within);
}

std::string worst_words(const Accuracy& accuracy) {
  const ValidatedRun& run = accuracy.runs[accuracy.all.worst];
  const ComparedTime& step = run.validation.step;
  return fmt::format("{}: {} predicted, {} measured ({})", name_of(run), format_duration(step.predicted),
                     format_duration(step.measured), signed_percent(step.error()));
}

std::string start_words(const Accuracy& accuracy) {
  const ValidatedRun& worst = accuracy.runs[accuracy.all.worst_start];
  return fmt::format("95 % of the tasks of a run started within {} of its step from their prediction (median of the "
                     "runs), within {} in the worst ({})",
                     percent(accuracy.all.median_start_error), percent(worst.validation.start_error_p95),
                     name_of(worst));
}

/// What the model of the pipeline adds to the errors of the tasks.
std::string own_words(const Accuracy& accuracy) {
  const ErrorSummary& all = accuracy.all;
  if (all.own == 0)
    return "not known: halves of pairs share their time, activations are recomputed, or their sum is out of range";
  return fmt::format("with the times of the tasks in the run itself, step times are predicted within {} (median {}){}: "
                     "the other errors come from tasks that took longer or shorter than predicted",
                     percent(all.worst_own_error), percent(all.median_own_error),
                     all.own < all.runs ? fmt::format(", {} of {} runs", all.own, all.runs) : "");
}

std::string order_words(const Accuracy& accuracy) {
  const std::size_t pairs = accuracy.all.pairs;
  const std::size_t inverted = accuracy.all.inverted;
  if (pairs == 0) return "no two runs of the same work whose schedules are predicted to take different times";
  const std::string of = fmt::format("of {} of schedules for the same work", counted(pairs, "pair"));
  if (inverted == 0) return fmt::format("{}, all measured in the predicted order", of);
  const Inversion& widest = accuracy.inversions.front();
  return fmt::format("{}, {} measured in the predicted order; where not, measured times are at most {} apart "
                     "({} was predicted to be {} shorter than {})",
                     of, pairs - inverted, percent(widest.measured_gap), name_of(accuracy.runs[widest.first]),
                     percent(widest.predicted_gap), accuracy.runs[widest.second].name);
}

std::string good_words(std::size_t good, std::size_t known, std::size_t all, std::string_view what) {
  if (known == 0) return "not compared";
  std::string words = good == known ? fmt::format("{} in all {}", what, known)
                                    : fmt::format("NOT {} in {} of {}", what, known - good, known);
  if (known < all) words += fmt::format("; not compared in {}", all - known);
  return words;
}

std::string result_words(const Accuracy& accuracy) {
  const std::size_t known = count_of(accuracy, [](const Validation& run) { return run.proved.has_value(); });
  const std::size_t good = count_of(accuracy, [](const Validation& run) { return run.proved.value_or(false); });
  return good_words(good, known, accuracy.runs.size(), "correct");
}

std::string memory_share(const Accuracy& accuracy) {
  const std::size_t known = count_of(accuracy, [](const Validation& run) { return run.knows_memory; });
  const std::size_t good =
      count_of(accuracy, [](const Validation& run) { return run.knows_memory && run.same_peaks(); });
  return good_words(good, known, accuracy.runs.size(), "as predicted");
}

/// Nothing where all costs were known before the run.
std::string cost_words(const Accuracy& accuracy) {
  const std::size_t own = count_of(accuracy, [](const Validation& run) { return run.own_costs; });
  if (own == 0) return "";
  return fmt::format("those of {} of {} runs are their own means: their errors show how well the model of the pipeline "
                     "fits, but not how well other runs are predicted",
                     own, accuracy.runs.size());
}

/// What is said of all together, line by line.
std::vector<std::pair<std::string_view, std::string>> answers(const Accuracy& accuracy) {
  std::vector<std::pair<std::string_view, std::string>> lines;
  if (accuracy.all.runs > 0)
    lines = {{"worst", worst_words(accuracy)},
             {"tasks", own_words(accuracy)},
             {"starts", start_words(accuracy)},
             {"order", order_words(accuracy)}};
  lines.emplace_back("results", result_words(accuracy));
  lines.emplace_back("memory", memory_share(accuracy));
  if (std::string costs = cost_words(accuracy); !costs.empty()) lines.emplace_back("costs", std::move(costs));
  return lines;
}

std::vector<TableColumn> group_columns(const Accuracy& accuracy) {
  std::vector<TableColumn> columns{{"group", {}, 0, true}, {"runs", {}},   {"median", {}},
                                   {"worst", {}},          {"starts", {}}, {"order", {}}};
  for (const ErrorSummary& group : accuracy.groups) {
    columns[0].cells.push_back(group.group);
    columns[1].cells.push_back(fmt::format("{}", group.runs));
    const bool none = group.runs == 0;
    columns[2].cells.push_back(none ? "-" : percent(group.median_error));
    columns[3].cells.push_back(none ? "-" : signed_percent(accuracy.runs[group.worst].validation.step.error()));
    columns[4].cells.push_back(none ? "-" : percent(accuracy.runs[group.worst_start].validation.start_error_p95));
    columns[5].cells.push_back(group.pairs == 0 ? "-"
                                                : fmt::format("{}/{}", group.pairs - group.inverted, group.pairs));
  }
  return columns;
}

std::vector<TableColumn> run_columns(const Accuracy& accuracy, const std::vector<std::size_t>& shown) {
  std::vector<TableColumn> columns;
  const auto add = [&](std::string_view header, int rank, bool left, auto cell) {
    columns.push_back(column_of(header, rank, shown, [&](std::size_t at) { return cell(accuracy.runs[at]); }));
    columns.back().left = left;
  };
  add("run", 0, true,
      [](const ValidatedRun& run) { return run.group.empty() ? run.name : fmt::format("{}/{}", run.group, run.name); });
  add("schedule", 4, true, [](const ValidatedRun& run) { return run.schedule; });
  add("stages", 5, false, [](const ValidatedRun& run) { return fmt::format("{}", run.shape.stages); });
  add("mb", 6, false, [](const ValidatedRun& run) { return fmt::format("{}", run.shape.microbatches); });
  add("vpp", 7, false, [](const ValidatedRun& run) { return fmt::format("{}", run.shape.vpp); });
  add("predicted", 3, false, [](const ValidatedRun& run) { return format_duration(run.validation.step.predicted); });
  add("measured", 2, false, [](const ValidatedRun& run) { return format_duration(run.validation.step.measured); });
  add("error", 0, false, [](const ValidatedRun& run) { return signed_percent(run.validation.step.error()); });
  add("starts", 1, false, [](const ValidatedRun& run) { return percent(run.validation.start_error_p95); });
  if (!accuracy.holds()) add("against it", 0, true, [](const ValidatedRun& run) { return against(run.validation); });
  return columns;
}

constexpr std::string_view explained =
    "error: (predicted - measured) / measured, of the step time; starts: 95 % of the tasks started within that share "
    "of the step from their prediction; order: pairs of schedules that ranked as predicted";

/// By size of the error, but those that do not hold for another reason first.
std::vector<std::size_t> worst_first(const Accuracy& accuracy) {
  std::vector<std::size_t> order(accuracy.runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&accuracy](std::size_t at) {
    const Validation& validation = accuracy.runs[at].validation;
    return std::pair{validation.holds, -std::abs(validation.step.error())};
  });
  return order;
}

} // namespace

std::string accuracy_text(const Accuracy& accuracy, const TextOptions& options) {
  const std::size_t width = std::max(options.width, least_text_width);
  std::string out =
      headline_lines(headline(accuracy), width, accuracy.holds() ? "1;32" : "1;31", options.colour) + '\n';
  for (const auto& [what, words] : answers(accuracy)) out += answer_lines(what, words, width);
  if (accuracy.groups.size() > 1) out += '\n' + indented_table(group_columns(accuracy));
  std::vector<std::size_t> shown = worst_first(accuracy);
  const bool all = shown.size() <= most_runs;
  if (all)
    std::ranges::sort(shown);
  else
    shown.resize(worst_rows);
  out += fmt::format("\n{}", all ? "" : fmt::format("the {} worst; --markdown and --json have all\n", worst_rows));
  out += indented_table(columns_that_fit(run_columns(accuracy, shown), width - 2));
  return out + "  " + wrapped_lines(explained, width - 2, 2);
}

std::string accuracy_markdown(const Accuracy& accuracy) {
  std::string out = markdown_text(headline(accuracy)) + "\n\n";
  for (const auto& [what, words] : answers(accuracy)) out += fmt::format("- {}: {}\n", what, markdown_text(words));
  if (accuracy.groups.size() > 1) out += '\n' + markdown_table(group_columns(accuracy));
  std::vector<std::size_t> all(accuracy.runs.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  out += '\n' + markdown_table(run_columns(accuracy, all));
  return out + '\n' + markdown_text(explained) + '\n';
}

} // namespace ppsim::viz
