#include "ppsim/study/compare.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/parallel.hpp"
#include "ppsim/scenario/layout.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/build_run.hpp"
#include "ppsim/study/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace ppsim {
namespace {

/// The result of one candidate.
struct Trial {
  std::optional<Contender> contender;
  Comparison head;             ///< of a contender: the properties of its scenario common to all
  bool moves_for_free = false; ///< there are transfers, but they take no time
  std::optional<Error> error;  ///< set if there is no contender
  bool is_held_by_transfers = false;
};

Comparison head_of(const Scenario& scenario) {
  const Memory& memory = scenario.memory;
  Comparison head;
  head.title = scenario.title;
  head.source = scenario.source;
  head.stages = scenario.shape.stages;
  head.microbatches = scenario.shape.microbatches;
  head.transfer_model = scenario.network.model;
  head.memory_limit = memory.limit;
  for (const std::vector<Bytes>* sizes : {&memory.activation, &memory.parameters, &memory.gradients, &memory.optimizer})
    head.knows_memory |= std::ranges::any_of(*sizes, [](Bytes size) { return size > Bytes{0}; });
  return head;
}

/// Whether a deadlocked order runs if stages do not wait for their transfers.
bool runs_with_latency(const Candidate& candidate) {
  try {
    BuiltRun run = build_run(candidate.spec);
    if (run.scenario.network.model == TransferModel::latency) return false;
    run.scenario.network.model = TransferModel::latency;
    (void)lower(std::move(run.schedule), std::move(run.scenario), run.schedule_place);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Simulates it; keeps only the report, because graphs of a large run take a hundred times its memory.
Trial try_candidate(const Candidate& candidate, std::optional<std::vector<std::string>>& notes) {
  Trial trial;
  try {
    Evaluation run = evaluate(candidate.spec);
    sample_steps(candidate.spec, run);
    note_far_search(run);
    const Schedule& schedule = run.graph.schedule();
    trial.head = head_of(run.graph.scenario());
    trial.moves_for_free = run.report.transfers > 0 && run.graph.scenario().network.is_free();
    const Demands demands = demands_of(schedule, run.report);
    trial.contender =
        Contender{candidate.name,       candidate.fields, schedule.shape(), demands, run.graph.scenario().layout,
                  std::move(run.report)};
    notes = std::move(run.notes);
  } catch (const Error& error) {
    if (error.code() != ExitCode::bad_input && error.code() != ExitCode::no) throw;
    trial.error = error;
    trial.is_held_by_transfers = error.code() == ExitCode::no && runs_with_latency(candidate);
  }
  return trial;
}

/// The order in which to start: long ones first, so that no thread is left with one at the end.
std::vector<std::size_t> longest_first(const std::vector<Candidate>& candidates) {
  const auto effort = [&](std::size_t position) {
    const RunSpec& spec = candidates[position].spec;
    const bool searches = spec.schedule && find_generator(*spec.schedule).searches();
    return std::pair{searches, spec.vpp ? spec.vpp->front() : 1};
  };
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, effort);
  return order;
}

/// A value common to several candidates.
template <class Value>
struct Shared {
  Value value;
  std::vector<std::size_t> by; ///< positions of the candidates
};

template <class Value>
void add(std::vector<Shared<Value>>& list, const Value& value, std::size_t candidate) {
  const auto known = std::ranges::find(list, value, &Shared<Value>::value);
  if (known != list.end())
    known->by.push_back(candidate);
  else
    list.push_back({value, {candidate}});
}

std::string names_of(const std::vector<Candidate>& candidates, const std::vector<std::size_t>& positions) {
  constexpr std::size_t most = 4;
  std::string names;
  for (std::size_t i = 0; i < std::min(most, positions.size()); ++i)
    names += fmt::format("{}{}", i == 0 ? "" : ", ", candidates[positions[i]].name);
  if (positions.size() > most) names += fmt::format(" and {} more", positions.size() - most);
  return names;
}

/// The number of schedules among them, with any number of chunks.
std::size_t count_schedules(const std::vector<Candidate>& candidates, const std::vector<std::size_t>& positions) {
  std::set<std::string> schedules;
  for (const std::size_t position : positions) schedules.insert(candidates[position].spec.schedule.value_or(""));
  return schedules.size();
}

/// A refusal that most of them share is a problem of the spec; fixing the rules of single schedules would not help.
[[noreturn]] void nothing_applies(const std::vector<Candidate>& candidates, const std::vector<Trial>& trials) {
  std::vector<Shared<Problem>> shared;
  bool deadlocks = true;
  for (std::size_t position = 0; position < trials.size(); ++position) {
    const Error& error = trials[position].error.value();
    deadlocks &= error.code() == ExitCode::no;
    for (const Problem& problem : error.problems()) add(shared, problem, position);
  }
  std::size_t most = 0;
  for (const auto& [problem, by] : shared) most = std::max(most, count_schedules(candidates, by));
  std::vector<Problem> problems;
  for (const auto& [problem, by] : shared) {
    if (count_schedules(candidates, by) < most) continue;
    problems.push_back(problem);
    if (most == 1 && candidates.size() > 1)
      problems.back().where = fmt::format("{}: {}", names_of(candidates, by), problem.where);
  }
  throw Error{deadlocks ? ExitCode::no : ExitCode::bad_input, std::move(problems)};
}

/// If no run is sampled, the figure is unknown for all.
void check_sampled(const RunSpec& spec, const Comparison& comparison) {
  const auto is_known = [&](const Contender& each) { return comparison.figure_of(each).has_value(); };
  if (std::ranges::none_of(comparison.contenders, is_known))
    throw Error{ExitCode::bad_input,
                Problem{spec.place_of("rank-by"),
                        fmt::format("{} is not known, as stages do not meet between steps", to_string(spec.rank_by)),
                        "rank by step-time, or compare schedules with a flush and a synchronous optimizer"}};
}

} // namespace

const Candidate& ComparedRuns::candidate_of(const Contender& contender) const {
  const auto found = std::ranges::find(candidates, contender.name, &Candidate::name);
  PPSIM_ASSERT(found != candidates.end());
  return *found;
}

std::vector<std::string> collect_notes(const std::vector<Candidate>& candidates,
                                       std::span<const std::optional<std::vector<std::string>>> said) {
  std::vector<Shared<std::string>> shared;
  std::size_t runs = 0;
  for (std::size_t position = 0; position < said.size(); ++position) {
    if (!said[position]) continue;
    ++runs;
    for (const std::string& note : *said[position]) add(shared, note, position);
  }
  std::vector<std::string> notes;
  notes.reserve(shared.size());
  for (const auto& [note, by] : shared)
    notes.push_back(by.size() == runs ? note : fmt::format("{} ({})", note, names_of(candidates, by)));
  return notes;
}

std::string reason_of(const Error& error, std::string_view known_place) {
  std::string reason;
  const std::vector<Problem>& problems = error.problems();
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const auto& [where, what, hint] = problems[i];
    if (!reason.empty()) reason += "; ";
    if (where != known_place) reason += where + ": ";
    reason += what;
    const bool is_said_behind = i + 1 < problems.size() && problems[i + 1].hint == hint;
    if (!hint.empty() && !is_said_behind) reason += fmt::format(" ({})", hint);
  }
  return reason;
}

void check_figure(const RunSpec& spec) {
  if (spec.rank_by != StepFigure::step_time && !spec.varies_by_chance())
    throw Error{ExitCode::bad_input,
                Problem{spec.place_of("rank-by"),
                        fmt::format("nothing varies, so there is no {} of steps", to_string(spec.rank_by)),
                        "give `jitter` or `jitter-from`, or rank by step-time"}};
}

ComparedRuns compare(const RunSpec& spec, std::size_t threads, const Watch& watch) {
  check_figure(spec);
  ComparedRuns compared;
  compared.candidates = candidates(spec);
  const std::vector<std::size_t> order = longest_first(compared.candidates);
  std::vector<Trial> trials(order.size());
  std::vector<std::optional<std::vector<std::string>>> notes(order.size());
  for_each_index(order.size(), threads, [&](std::size_t turn) {
    trials[order[turn]] = try_candidate(compared.candidates[order[turn]], notes[order[turn]]);
    if (watch) watch(order.size());
  });
  const auto first = std::ranges::find_if(trials, [](const Trial& trial) { return trial.contender.has_value(); });
  if (first == trials.end()) nothing_applies(compared.candidates, trials);
  compared.comparison = first->head;
  compared.notes = collect_notes(compared.candidates, notes);
  for (std::size_t position = 0; position < trials.size(); ++position) {
    Trial& trial = trials[position];
    const std::string& name = compared.candidates[position].name;
    if (trial.contender)
      compared.comparison.contenders.push_back(std::move(*trial.contender));
    else
      compared.comparison.not_applicable.push_back({name, reason_of(*trial.error, name), trial.is_held_by_transfers});
  }
  compared.order_refused = spec.order != nullptr && !trials.front().contender;
  if (first->moves_for_free)
    compared.notes.emplace_back("transfers take no time, so more chunks per stage always gain; `comm`, or `latency` "
                                "and `bandwidth`, gives their time");
  compared.comparison.halves_assumed = assumes_halves(spec);
  compared.comparison.ranked_by = spec.rank_by;
  check_sampled(spec, compared.comparison);
  rank(compared.comparison);
  return compared;
}

} // namespace ppsim
