#include "ppsim/measured/accuracy.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/percentile.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <utility>

namespace ppsim {
namespace {

double step_error(const ValidatedRun& run) {
  return std::abs(run.validation.step.error());
}

double start_error(const ValidatedRun& run) {
  return run.validation.start_error_p95;
}

/// Whether they differ only in the schedule, and their predictions differ.
bool can_be_ranked(const ValidatedRun& a, const ValidatedRun& b) {
  return a.validation.counts() && b.validation.counts() && a.group == b.group && a.work == b.work &&
         a.shape.stages == b.shape.stages && a.shape.microbatches == b.shape.microbatches && a.schedule != b.schedule &&
         a.validation.step.predicted != b.validation.step.predicted;
}

double gap(Duration shorter, Duration longer) {
  return shorter == Duration{0}
             ? 0
             : static_cast<double>((longer - shorter).count()) / static_cast<double>(shorter.count());
}

/// The summary of the runs that `belongs` selects, at least one.
template <class Belongs>
ErrorSummary summary(const std::vector<ValidatedRun>& runs, Belongs belongs) {
  ErrorSummary sum;
  std::vector<double> steps;
  std::vector<double> owns;
  std::vector<double> starts;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!belongs(runs[i])) continue;
    if (!runs[i].validation.counts()) {
      ++sum.not_counted;
      continue;
    }
    if (sum.runs++ == 0) sum.worst = sum.worst_start = i;
    if (step_error(runs[i]) > step_error(runs[sum.worst])) sum.worst = i;
    if (start_error(runs[i]) > start_error(runs[sum.worst_start])) sum.worst_start = i;
    steps.push_back(step_error(runs[i]));
    starts.push_back(start_error(runs[i]));
    if (const auto& own = runs[i].validation.own_times) owns.push_back(std::abs(own->error()));
  }
  sum.own = owns.size();
  if (!owns.empty()) sum.worst_own_error = *std::ranges::max_element(owns);
  sum.median_own_error = percentile(std::move(owns), 50);
  sum.median_error = percentile(std::move(steps), 50);
  sum.median_start_error = percentile(std::move(starts), 50);
  return sum;
}

ErrorSummary& summary_of(std::vector<ErrorSummary>& groups, std::string_view name) {
  return *std::ranges::find(groups, name, &ErrorSummary::group);
}

} // namespace

bool Accuracy::holds() const {
  return std::ranges::all_of(runs, [](const ValidatedRun& run) { return run.validation.holds; });
}

Accuracy accuracy_of(std::vector<ValidatedRun> runs) {
  PPSIM_ASSERT(!runs.empty());
  Accuracy result;
  result.all = summary(runs, [](const ValidatedRun&) { return true; });
  for (const ValidatedRun& run : runs) {
    if (std::ranges::find(result.groups, run.group, &ErrorSummary::group) != result.groups.end()) continue;
    result.groups.push_back(summary(runs, [&run](const ValidatedRun& other) { return other.group == run.group; }));
    result.groups.back().group = run.group;
  }
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      if (!can_be_ranked(runs[i], runs[j])) continue;
      ErrorSummary& group = summary_of(result.groups, runs[i].group);
      ++group.pairs;
      ++result.all.pairs;
      const bool in_order = runs[j].validation.step.predicted < runs[i].validation.step.predicted;
      const auto [first, second] = in_order ? std::pair{j, i} : std::pair{i, j};
      const ComparedTime& shorter = runs[first].validation.step;
      const ComparedTime& longer = runs[second].validation.step;
      if (shorter.measured <= longer.measured) continue;
      ++group.inverted;
      ++result.all.inverted;
      result.inversions.push_back(
          {first, second, gap(shorter.predicted, longer.predicted), gap(longer.measured, shorter.measured)});
    }
  std::ranges::stable_sort(result.inversions, std::greater{}, &Inversion::measured_gap);
  result.runs = std::move(runs);
  return result;
}

} // namespace ppsim
