#include "ppsim/plan/answers.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/parallel.hpp"
#include "ppsim/study/evaluate.hpp"

#include <algorithm>

#include "bound.hpp"

namespace ppsim {
namespace {

constexpr std::int64_t percent = 10; // of a constant, by which it may be wrong

Bandwidth scaled(Bandwidth bandwidth, std::int64_t by) {
  return Bandwidth{std::max<std::int64_t>(1, scale_rounded(bandwidth.bytes_per_second(), by, 100))};
}

LinkSheet scaled(LinkSheet link, std::int64_t by) {
  link.bandwidth = scaled(link.bandwidth, by);
  return link;
}

/// Links between stages, of data and of tensor parallelism, and those that are given.
void scale_links(RunSpec& run, std::int64_t by) {
  Training& training = run.training;
  run.link = scaled(run.link.value_or(standard_link()), by);
  training.data_link = scaled(training.data_link.value_or(standard_link()), by);
  for (std::optional<LinkSheet>* link : {&run.inter_node_link, &training.expert_link, &training.context_link})
    if (*link) *link = scaled(**link, by);
  training.tensor_link = scaled(training.tensor_link.value_or(find_link(run.device_sheet->link)), by);
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

/// The space with these schedules alone.
template <class Takes>
PlanRequest with_schedules(const PlanRequest& request, Takes takes) {
  PlanRequest some = request;
  some.choices.schedules.clear();
  for (const Generator* generator : planned_schedules(request))
    if (takes(*generator)) some.choices.schedules.emplace_back(generator->name);
  return some;
}

std::optional<PlanRow> best_or_none(const PlanRequest& request, std::span<const Configuration> known,
                                    std::size_t threads) {
  try {
    return find_best(request, known, threads);
  } catch (const Error& error) { // the space is empty
    if (error.code() != ExitCode::bad_input) throw;
    return std::nullopt;
  }
}

/// A schedule that does not split the backward or run pairs where the winner does; then one in a loop without chunks.
std::optional<PlanRow> find_simpler(const PlanRequest& request, const PlanRow& winner, std::size_t threads) {
  const ScheduleTraits has = traits_of(*winner.configuration.schedule);
  const bool is_plain = !has.splits_backward && !has.pairs && !winner.demands.folds;
  if (is_plain && winner.configuration.chunks == 1) return std::nullopt;
  PlanRequest some = with_schedules(request, [&](const Generator& generator) {
    const ScheduleTraits traits = traits_of(generator);
    return !traits.splits_backward && !traits.pairs && generator.placement == "loop";
  });
  if (is_plain) some.choices.chunks = {1};
  if (some.choices.schedules.empty()) return std::nullopt;
  return best_or_none(some, {}, threads);
}

constexpr std::size_t most_tasks_to_balance = 50'000; // each split is simulated

/// `balance` of a row from its own split; of an order that is searched for each split would be a search.
std::optional<PlanRow> balanced(const PlanRequest& request, const Configuration& configuration) {
  const auto tasks = static_cast<std::size_t>(3 * configuration.degrees.stages * configuration.degrees.microbatches) *
                     configuration.chunks;
  const bool is_sampled = request.by_memory || request.run.rank_by != StepFigure::step_time;
  if (configuration.schedule->searches || is_sampled || tasks > most_tasks_to_balance) return std::nullopt;
  PlanRequest changed = request;
  changed.run.balance = true;
  return simulate_alone(changed, configuration);
}

constexpr std::size_t most_rows_to_balance = 5; // half a second each

std::optional<BalancedRow> find_balanced(const PlanRequest& request, const RankedPlan& plan, std::size_t threads) {
  std::vector<std::optional<PlanRow>> rows(std::min(plan.rows.size(), most_rows_to_balance));
  for_each_index(rows.size(), threads, [&](std::size_t i) { rows[i] = balanced(request, plan.rows[i].configuration); });
  std::optional<BalancedRow> best;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i] && rows[i]->figure < (best ? best->row.figure : plan.rows.front().figure))
      best = BalancedRow{i, *std::move(rows[i])};
  return best;
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

PlanAnswers answer(const PlanRequest& request, const RankedPlan& plan, std::size_t threads) {
  PPSIM_ASSERT(!plan.rows.empty());
  const PlanRow& winner = plan.rows.front();
  std::vector<Configuration> known;
  known.reserve(plan.rows.size());
  for (const PlanRow& row : plan.rows) known.push_back(row.configuration);
  const PlanRequest quick = with_schedules(request, [&](const Generator& generator) {
    return !generator.searches || &generator == winner.configuration.schedule;
  });
  PlanAnswers answers;
  answers.simpler = find_simpler(request, winner, threads);
  answers.balanced = find_balanced(request, plan, threads);
  for (const ChangedConstant& change : changed_constants) {
    PlanRequest changed = quick;
    change.make(changed.run);
    OtherConstants other{.what = change.what, .best = best_or_none(changed, known, threads), .winner = {}};
    other.winner = simulate_alone(changed, winner.configuration);
    answers.changes.push_back(std::move(other));
  }
  if (plan.memory_limit)
    for (const std::int64_t eighths : {4, 5, 6, 7}) {
      PlanRequest less = quick;
      less.run.memory_limit = Bytes{plan.memory_limit->count() / 8 * eighths};
      if (auto row = best_or_none(less, {}, threads))
        answers.front.push_back({*less.run.memory_limit, *std::move(row)});
    }
  return answers;
}

} // namespace ppsim
