#include "ppsim/plan/analysis.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/scenario/layout.hpp"
#include "ppsim/study/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <span>

#include "bound.hpp"

namespace ppsim {
namespace {

constexpr std::int64_t percent = 10; // the assumed error of a constant

/// Scales all links, including given ones.
void scale_links(RunSpec& run, std::int64_t by) {
  run.training.link_ppm = whole_share / 100 * by;
  run.link = run.link.value_or(standard_link()).scaled(run.training.link_ppm);
  if (run.inter_node_link) run.inter_node_link = run.inter_node_link->scaled(run.training.link_ppm);
}

struct ChangedConstant {
  std::string_view what;
  void (*make)(RunSpec&);
};
constexpr std::array changed_constants{
    ChangedConstant{"computing takes 10 % longer",
                    [](RunSpec& run) { run.training.compute_ppm += run.training.compute_ppm / percent; }},
    ChangedConstant{"computing takes 10 % less",
                    [](RunSpec& run) { run.training.compute_ppm -= run.training.compute_ppm / percent; }},
    ChangedConstant{"links 10 % slower", [](RunSpec& run) { scale_links(run, 100 - percent); }},
    ChangedConstant{"links 10 % faster", [](RunSpec& run) { scale_links(run, 100 + percent); }},
    ChangedConstant{"10 % less memory", [](RunSpec& run) {
                      const Bytes limit = *limit_of(run);
                      run.memory_limit = limit - Bytes{limit.count() / percent};
                    }}};

/// The space restricted to these schedules.
template <class Takes>
PlanRequest with_schedules(const PlanRequest& request, Takes takes) {
  PlanRequest some = request;
  some.choices.schedules.clear();
  for (const Generator* generator : planned_schedules(request))
    if (takes(*generator)) some.choices.schedules.emplace_back(generator->name);
  return some;
}

std::optional<PlanRow> best_or_none(const PlanRequest& request, std::span<const Configuration> known,
                                    const PlanWorkers& workers) {
  try {
    return find_best(request, known, workers);
  } catch (const Error& error) { // the space is empty
    if (error.code() != ExitCode::bad_input) throw;
    return std::nullopt;
  }
}

/// A schedule that splits the backward or runs pairs only if the winner does; otherwise one in a loop without chunks.
std::optional<PlanRow> find_simpler(const PlanRequest& request, const PlanRow& winner, const PlanWorkers& workers) {
  const ScheduleTraits has = traits_of(*winner.configuration.schedule);
  const bool is_plain = !has.splits_backward && !has.pairs && !winner.demands.folds;
  if (is_plain && winner.configuration.chunks == 1) return std::nullopt;
  PlanRequest some = with_schedules(request, [&](const Generator& generator) {
    const ScheduleTraits traits = traits_of(generator);
    return !traits.splits_backward && !traits.pairs && generator.placement == "loop";
  });
  if (is_plain) some.choices.chunks = {1};
  if (some.choices.schedules.empty()) return std::nullopt;
  return best_or_none(some, {}, workers);
}

constexpr std::size_t most_tasks_to_balance = 50'000; // each split is simulated

/// Whether a search for a better split is affordable: with a searched order, each split needs a search.
bool can_balance(const PlanRequest& request, const Configuration& configuration) {
  const auto tasks = static_cast<std::size_t>(3 * configuration.degrees.stages * configuration.degrees.microbatches) *
                     configuration.chunks;
  const bool is_sampled = request.by_memory || request.run.rank_by != StepFigure::step_time;
  return runs_layouts(request.framework) && !configuration.schedule->searches() && !is_sampled &&
         tasks <= most_tasks_to_balance;
}

constexpr std::size_t most_rows_to_balance = 5; // 0.5 s each

/// balance() of the first rows, each from its own split.
std::optional<BalancedRow> find_balanced(const PlanRequest& request, const RankedPlan& plan,
                                         const PlanWorkers& workers) {
  PlanRequest balanced = request;
  balanced.run.balance = true;
  std::vector<Configuration> first;
  for (const PlanRow& row : plan.rows | std::views::take(most_rows_to_balance))
    if (can_balance(request, row.configuration)) first.push_back(row.configuration);
  std::optional<PlanRow> best = find_best_of(balanced, first, workers);
  if (!best || best->figure >= plan.rows.front().figure) return std::nullopt;
  const auto of = std::ranges::find(plan.rows, best->configuration, &PlanRow::configuration);
  best->configuration.split = LayerSplit::work; // or near it; the layout has the exact one
  best->configuration.layout = to_string(best->report.balance->layout);
  return BalancedRow{static_cast<std::size_t>(of - plan.rows.begin()), *std::move(best)};
}

} // namespace

std::array<PlanTerm, plan_term_count> terms_of(const RunReport& report) {
  std::array<PlanTerm, plan_term_count> terms{{{"computing", Duration{0}},
                                               {"recomputing", Duration{0}},
                                               {"waiting for other stages", Duration{0}},
                                               {"waiting for transfers", Duration{0}},
                                               {"reductions and optimizer", Duration{0}}}};
  const auto time = report.time_by_label();
  for (std::size_t i = 0; i < label_count; ++i) {
    std::size_t term = 0;
    switch (label_at(i)) {
    case Label::recompute:
      term = 1;
      break;
    case Label::warmup:
    case Label::upstream:
    case Label::downstream:
    case Label::drain:
    case Label::host:
      term = 2;
      break;
    case Label::link:
    case Label::stall:
    case Label::transfer:
      term = 3;
      break;
    case Label::flush:
    case Label::optimizer:
      term = 4;
      break;
    default:
      break;
    }
    terms[term].time += time[i];
  }
  for (PlanTerm& term : terms) term.time /= static_cast<std::int64_t>(report.stages.size());
  return terms;
}

std::string equals_words(const PlanRow& row) {
  std::vector<std::string> words;
  words.reserve(row.equals.size());
  for (const Degrees& each : row.equals)
    words.push_back(fmt::format("cp {}, dp {} and microbatches of {}", each.context, each.data, each.microbatch_size));
  return joined(words, "; ");
}

constexpr std::array<std::int64_t, 4> limits_in_eighths{4, 5, 6, 7}; // of the memory limit

PlanAnalysis analyse_plan(const PlanRequest& request, const RankedPlan& plan, const PlanWorkers& workers) {
  PPSIM_ASSERT(!plan.rows.empty());
  const std::span changes{changed_constants.data(),
                          request.by_memory ? 0 : changed_constants.size()}; // not if ranked by memory
  const std::span limits{limits_in_eighths.data(),
                         plan.memory_limit && !request.by_memory ? limits_in_eighths.size() : 0};
  const std::size_t questions = 2 + changes.size() + limits.size();
  std::size_t done = 0;
  const auto watch = [&] {
    if (workers.watch) workers.watch("questions about row 1", ++done, questions);
  };
  const PlanRow& winner = plan.rows.front();
  std::vector<Configuration> known;
  known.reserve(plan.rows.size());
  const auto is_quick = [&](const Generator& generator) {
    return !generator.searches() || &generator == winner.configuration.schedule;
  };
  for (const PlanRow& row : plan.rows)
    if (is_quick(*row.configuration.schedule)) known.push_back(row.configuration);
  const PlanRequest quick = with_schedules(request, is_quick);
  PlanAnalysis analysis;
  analysis.simpler = find_simpler(request, winner, workers);
  watch();
  analysis.balanced = find_balanced(request, plan, workers);
  watch();
  for (const ChangedConstant& change : changes) {
    PlanRequest changed = quick;
    change.make(changed.run);
    OtherConstants other{.what = change.what, .best = best_or_none(changed, known, workers), .winner = {}};
    other.winner = simulate_alone(changed, winner.configuration);
    analysis.changes.push_back(std::move(other));
    watch();
  }
  for (const std::int64_t eighths : limits) {
    PlanRequest less = quick;
    less.run.memory_limit = Bytes{plan.memory_limit->count() / 8 * eighths};
    if (auto row = best_or_none(less, {}, workers)) analysis.front.push_back({*less.run.memory_limit, *std::move(row)});
    watch();
  }
  return analysis;
}

} // namespace ppsim
