#include "ppsim/study/sensitivity.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/parallel.hpp"
#include "ppsim/engine/steady.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/copies.hpp"
#include "ppsim/study/evaluate.hpp"
#include "ppsim/study/jitter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

namespace ppsim {
namespace {

constexpr std::int64_t faster_stage_ppm = 990'000;
constexpr std::int64_t faster_link_ppm = 500'000;
/// Limit over all stages and links; on request it may take a second or two.
constexpr std::size_t most_tasks_for_sensitivity = std::size_t{1} << 25;

/// The same limit for the samples of all stages.
constexpr std::size_t most_sampled_tasks = std::size_t{1} << 28;

/// The pairs of stages with a transfer that takes time, the lower stage first, ascending.
std::vector<std::pair<StageId, StageId>> links_of(const TaskGraph& graph) {
  std::vector<std::pair<StageId, StageId>> links;
  const Schedule& schedule = graph.schedule();
  for (const StageId stage : schedule.stage_ids()) {
    std::vector<StageId> peers; // a stage sends to few others
    for (const TaskId id : schedule.task_ids(stage)) {
      if (graph.transfer_time(id) == Duration{0}) continue;
      const auto receiver = graph.receiver(id);
      const StageId peer = schedule.stage_of(receiver.value());
      if (std::ranges::find(peers, peer) == peers.end()) peers.push_back(peer);
    }
    for (const StageId peer : peers) links.emplace_back(std::min(stage, peer), std::max(stage, peer));
  }
  std::ranges::sort(links);
  links.erase(std::ranges::unique(links).begin(), links.end());
  return links;
}

std::vector<SensitivityFigure> changes_of(const TaskGraph& graph) {
  std::vector<SensitivityFigure> changes;
  for (const StageId stage : graph.schedule().stage_ids()) changes.push_back({.change = Change::stage, .stage = stage});
  for (const auto& [stage, other] : links_of(graph))
    changes.push_back({.change = Change::link, .stage = stage, .other = other});
  return changes;
}

Scenario changed(Scenario scenario, const SensitivityFigure& change) {
  if (change.change == Change::link) {
    scenario.network.slow_link(change.stage, change.other, faster_link_ppm);
    return scenario;
  }
  scenario.costs.slow_stage(change.stage, scenario.shape.stages, faster_stage_ppm);
  return scenario;
}

/// A changed spec, with the flags that make the change.
struct ChangedSpec {
  RunSpec spec;
  std::size_t count = 0;
  std::string fields;
};

/// Adds the first allowed change, or the reason why the first one is not allowed.
void add_first(const Evaluation& run, Change change, const std::vector<ChangedSpec>& candidates, Sensitivity& result) {
  std::string reason;
  for (const ChangedSpec& candidate : candidates) {
    try {
      const Evaluation other = evaluate(candidate.spec);
      if (other.report.step_time_kind == StepTime::Kind::unknown) continue;
      result.figures.push_back({.change = change,
                                .count = candidate.count,
                                .fields = candidate.fields,
                                .step_time = other.report.step_time,
                                .gain = gain_over(run.report.step_time, run.graph.scenario().shape.microbatches,
                                                  other.report.step_time, other.graph.scenario().shape.microbatches)});
      return;
    } catch (const Error& error) {
      if (reason.empty()) reason = fmt::format("{}: {}", candidate.fields, error.problems().front().what);
    }
  }
  result.refused.push_back({change, reason.empty() ? "the steady state would take too long to find" : reason});
}

/// The order for more microbatches: the next number that the schedule supports.
void add_microbatches(const RunSpec& spec, const Evaluation& run, Sensitivity& result) {
  const Shape& shape = run.graph.scenario().shape;
  RunSpec changed = spec;
  if (spec.balance) { // keep the split that was found
    changed.balance = false;
    changed.layers.reset();
    changed.layout = run.graph.scenario().layout;
  }
  std::vector<ChangedSpec> candidates;
  for (std::size_t more = 1; more <= 4 * shape.stages; ++more) { // schedules need multiples of up to 4p
    changed.microbatches = shape.microbatches + more;
    candidates.push_back({changed, shape.microbatches + more, fmt::format("`mb` {}", shape.microbatches + more)});
  }
  add_first(run, Change::microbatches, candidates, result);
}

/// The order for more chunks per stage: the next number that the schedule supports; 1F1B counts as interleaved with
/// one.
void add_chunks(const RunSpec& spec, const Evaluation& run, Sensitivity& result) {
  const Shape& shape = run.graph.scenario().shape;
  if (spec.layout) return result.refused.push_back({Change::chunks, "the layout has one part for each existing chunk"});
  RunSpec changed = spec;
  const bool from_1f1b = run.graph.schedule().origin()->generator->name == "1f1b";
  if (from_1f1b) changed.schedule = "interleaved";
  std::vector<ChangedSpec> candidates;
  for (std::size_t vpp = shape.vpp + 1; vpp <= 2 * shape.vpp + 2; ++vpp) {
    changed.vpp = {vpp};
    candidates.push_back(
        {changed, vpp, fmt::format("`vpp` {}{}", vpp, from_1f1b && spec.schedule ? " `schedule` interleaved" : "")});
  }
  add_first(run, Change::chunks, candidates, result);
}

} // namespace

std::string_view to_string(Change change) {
  switch (change) {
  case Change::stage:
    return "stage";
  case Change::link:
    return "link";
  case Change::microbatches:
    return "microbatches";
  case Change::chunks:
    return "vpp";
  }
  return "?";
}

std::vector<SensitivityFigure> stages_and_links(const TaskGraph& graph, Duration base, std::size_t threads) {
  std::vector<SensitivityFigure> figures = changes_of(graph);
  for_each_index(figures.size(), threads, [&](std::size_t i) {
    Scenario scenario = changed(graph.scenario(), figures[i]);
    validate(scenario);
    figures[i].step_time = step_time(graph.with_costs(std::move(scenario)));
    figures[i].gain = gain_over(base, 1, figures[i].step_time, 1);
  });
  return figures;
}

std::vector<StillStage> still_stages(std::span<const SampledCopies> copies, const StepSpread& base,
                                     std::size_t threads) {
  std::vector<StillStage> stages(copies.front().graph->scenario().shape.stages);
  for_each_index(stages.size(), threads, [&](std::size_t i) {
    const auto stage = make_id<StageId>(i);
    const Duration p95 = find_spread(copies, base.of, stage).p95;
    stages[i] = {.stage = stage, .p95 = p95, .gain = gain_over(base.p95, 1, p95, 1)};
  });
  std::ranges::stable_sort(stages, std::ranges::greater{}, &StillStage::gain);
  return stages;
}

double gain_over(Duration base_time, std::size_t base_microbatches, Duration time, std::size_t microbatches) {
  if (base_time == Duration{0}) return 0;
  const double share = static_cast<double>(time.count()) / static_cast<double>(base_time.count());
  return 1 - share * static_cast<double>(base_microbatches) / static_cast<double>(microbatches);
}

void rank(Sensitivity& sensitivity) {
  std::ranges::stable_sort(sensitivity.figures, [](const SensitivityFigure& a, const SensitivityFigure& b) {
    return std::tuple{b.gain, a.change, a.stage, a.other} < std::tuple{a.gain, b.change, b.stage, b.other};
  });
}

namespace {

void add_still_stages(const RunSpec& spec, const Evaluation& run, Sensitivity& result,
                      std::vector<std::string>& notes) {
  const Jitter& jitter = run.report.spread->of;
  const std::vector<LoweredCopies> copies = lower_copies(spec, run.graph);
  const std::vector<SampledCopies> sampled = sampled_copies(run.graph, jitter.copies, copies);
  const std::uint64_t tasks =
      std::uint64_t{sampled.size()} * run.graph.scenario().shape.stages * run.graph.size() * jitter.samples;
  if (tasks <= most_sampled_tasks)
    result.still = still_stages(sampled, *run.report.spread, machine_threads());
  else
    notes.push_back(fmt::format(
        "{}: the p95 without the jitter of each stage would take {} simulated tasks, more than {}; use fewer `samples`",
        spec.place_of("sensitivity"), tasks, most_sampled_tasks));
}

} // namespace

std::optional<Sensitivity> find_sensitivity(const RunSpec& spec, const Evaluation& run,
                                            std::vector<std::string>& notes) {
  if (run.report.step_time_kind == StepTime::Kind::unknown) {
    notes.emplace_back("`sensitivity`: the step time in the long run is not known, nor are its changes");
    return std::nullopt;
  }
  const std::uint64_t tasks = std::uint64_t{changes_of(run.graph).size()} *
                              (has_steady_state(run.graph) ? steady_tasks(run.graph) : run.graph.size());
  if (tasks > most_tasks_for_sensitivity) {
    notes.push_back(fmt::format("`sensitivity`: stages and links would take {} simulated tasks, more than {}", tasks,
                                most_tasks_for_sensitivity));
    return std::nullopt;
  }
  Sensitivity result;
  result.figures = stages_and_links(run.graph, run.report.step_time, machine_threads());
  if (run.graph.schedule().origin() == nullptr) {
    for (const Change change : {Change::microbatches, Change::chunks})
      result.refused.push_back({change, "the order is from a file"});
  } else {
    add_microbatches(spec, run, result);
    add_chunks(spec, run, result);
  }
  rank(result);
  if (run.report.spread) add_still_stages(spec, run, result, notes);
  return result;
}

} // namespace ppsim
