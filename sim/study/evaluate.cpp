#include "ppsim/study/evaluate.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/engine/steady.hpp"
#include "ppsim/engine/streams.hpp"
#include "ppsim/operations/lowering.hpp"
#include "ppsim/report/stalls.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/balance.hpp"
#include "ppsim/study/build_run.hpp"
#include "ppsim/study/copies.hpp"
#include "ppsim/study/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace ppsim {
namespace {

/// The most stalls described in words.
constexpr std::size_t most_stalls_said = 100;
/// With more tasks, the extra simulations would be noticeable.
constexpr std::size_t most_tasks_for_what_if = std::size_t{1} << 20;
/// The same for simulations of several other orders.
constexpr std::size_t most_tasks_for_alternatives = std::size_t{1} << 16;

/// The makespan if no send or receive delayed another.
Duration makespan_without_stalls(const TaskGraph& graph) {
  Scenario scenario = graph.scenario();
  scenario.network.model = TransferModel::latency;
  return end_of(simulate(graph.with_costs(std::move(scenario)))) - SimTime{};
}

/// The stalls of `order` in `timeline`, its run under `streams`.
StallReport stalls_of(const TaskGraph& graph, const CommOrder& order, const Timeline& timeline) {
  const Communicators communicators = communicators_of(graph);
  const Lowering* const lowering = lowering_of(graph);
  const std::vector<Stall> stalls = find_stalls(graph, order, communicators, timeline);
  StallReport report;
  report.operations = lowering == nullptr ? "as the file places them" : fmt::format("lowering {}", lowering->name);
  report.operations += fmt::format(", p2p {}", to_string(communicators));
  report.count = stalls.size();
  const bool slows = graph.scenario().network.streams.slowdown_ppm > unchanged_ppm; // then only a run shows it
  if (!stalls.empty() && !slows) report.without = makespan_without_stalls(graph);
  for (const Stall& stall : stalls) {
    report.sum += stall.length();
    if (report.longest.size() < most_stalls_said)
      report.longest.push_back({stall.stage, stall.task, stall.wait, describe(graph, order, stall)});
  }
  return report;
}

/// The run of another spec, if it is allowed.
std::optional<Alternative> try_spec(const RunSpec& spec, std::string change) {
  try {
    const Evaluation run = evaluate(spec);
    if (run.report.step_time_kind == StepTime::Kind::unknown) return std::nullopt;
    return Alternative{std::move(change), run.graph.scenario().shape.microbatches, run.report.step_time,
                       run.report.bubble_ratio, !run.report.overflow};
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Tries the usual ways to shrink the bubble: twice the microbatches, twice the chunks.
std::vector<Alternative> try_alternatives(const RunSpec& spec, const Shape& shape) {
  std::vector<Alternative> alternatives;
  const auto add = [&](const RunSpec& changed, std::string change) {
    if (auto alternative = try_spec(changed, std::move(change))) alternatives.push_back(std::move(*alternative));
  };
  RunSpec more = spec;
  more.microbatches = 2 * shape.microbatches;
  add(more, fmt::format("`mb` {}", 2 * shape.microbatches));
  RunSpec chunks = spec;
  chunks.schedule = "interleaved";
  chunks.vpp = {2 * shape.vpp};
  chunks.descending_backward.reset();
  if (shape.stages > 1 && shape.shared == 0)
    add(chunks, fmt::format("`vpp` {}{}", 2 * shape.vpp,
                            spec.schedule && spec.schedule != "interleaved" ? " `schedule` interleaved" : ""));
  return alternatives;
}

/// Replaces `graph`, that of any copy, by that of the slowest.
CopiesReport take_slowest_copy(const RunSpec& spec, TaskGraph& graph) {
  std::vector<LoweredCopies> copies = lower_copies(spec, graph);
  CopiesReport report = compare_copies(copies);
  graph = std::move(copies[report.slowest].graph);
  return report;
}

/// Whether the bound counts the memory that the search had.
bool is_searched_within_limit(const Origin& origin, const Scenario& scenario) {
  if (!scenario.memory.limit) return true;
  return origin.generator->takes("activation-limit") && !origin.request.activation_limit;
}

} // namespace

SimulatedRun simulate_spec(const RunSpec& spec) {
  if (spec.names_copies() && !spec.copies_apart) {
    RunSpec apart = spec;
    apart.copies_apart = true;
    return simulate_spec(apart);
  }
  BuiltRun run = build_run(spec);
  if (spec.is_asked("p2p") && run.scenario.network.model != TransferModel::streams)
    run.notes.push_back(fmt::format("{}: changes nothing without `transfer` streams", spec.place_of("p2p")));
  std::optional<Balance> balance;
  if (spec.balance) balance = balance_layers(spec, run);
  if (spec.balance && spec.names_copies())
    run.notes.push_back(
        fmt::format("{}: the split is the best for copies that `slow` does not name", spec.place_of("balance")));
  TaskGraph graph = lower_validated(std::move(run.schedule), std::move(run.scenario), run.schedule_place);
  std::optional<CopiesReport> copies;
  if (spec.names_copies()) copies = take_slowest_copy(spec, graph);
  std::optional<CommOrder> order; // placing it takes a fifth of the simulation's time
  if (graph.scenario().network.model == TransferModel::streams) order = operations_of(graph);
  Timeline timeline = order ? simulate(graph, *order, communicators_of(graph)) : simulate(graph);
  return {.run = {std::move(graph), std::move(timeline), {}, std::move(run.notes)},
          .order = std::move(order),
          .balance = std::move(balance),
          .copies = std::move(copies)};
}

void add_report(const RunSpec& spec, SimulatedRun& simulated, bool thorough) {
  Evaluation& run = simulated.run;
  const TaskGraph& graph = run.graph;
  RunReport& report = run.report;
  report = run_report(graph, run.timeline);
  report.balance = std::move(simulated.balance);
  report.copies = std::move(simulated.copies);
  static_cast<StepTime&>(report) = find_step_time(graph, report.makespan);
  if (report.step_time_kind == StepTime::Kind::unknown)
    run.notes.push_back(
        fmt::format("step_time_ns is the makespan: the steady state would take {} simulated tasks, more than {}",
                    steady_tasks(graph), most_tasks_for_step_time));
  const Origin* const origin = graph.schedule().origin();
  if (origin != nullptr && !graph.schedule().forward_only()) // closed forms cover forward and backward
    report.closed_form = closed_form(*origin->generator, origin->request, graph.scenario());
  if (spec.bound) report.bound = find_bound(graph, report, thorough);
  if (spec.bound && !report.bound)
    run.notes.push_back(
        fmt::format("{}: no bound is known for such a run, or the run does not fit", spec.place_of("bound")));
  if (simulated.order) report.stalls = stalls_of(graph, *simulated.order, run.timeline);
}

Evaluation evaluate(const RunSpec& spec) {
  SimulatedRun simulated = simulate_spec(spec);
  add_report(spec, simulated, false);
  return std::move(simulated.run);
}

Jitter jitter_of(const UnevenSpec& spec, std::size_t copies) {
  return {.ppm = spec.jitter_ppm.value_or(0),
          .samples = spec.samples.value_or(Jitter{}.samples),
          .seed = spec.seed,
          .copies = copies,
          .measured = spec.measured_jitter};
}

void note_far_search(Evaluation& run) {
  const Origin* const origin = run.graph.schedule().origin();
  const Scenario& scenario = run.graph.scenario();
  if (origin == nullptr || !origin->generator->searches() || scenario.network.model != TransferModel::latency ||
      !is_searched_within_limit(*origin, scenario))
    return;
  const auto is_far = [&](Duration bound) { return run.report.makespan > 2 * bound; };
  const auto& stages = run.report.stages; // no bound is below the work of a stage
  if (!is_far(std::ranges::max_element(stages, {}, &StageReport::busy)->busy)) return;
  const std::optional<ProvenBound> bound = find_bound(run.graph, run.report);
  if (bound && is_far(bound->makespan))
    run.notes.push_back(fmt::format("{}: its makespan is more than twice the proven bound; 'ppsim synthesize' searches "
                                    "longer",
                                    origin->generator->name));
}

void sample_steps(const RunSpec& spec, Evaluation& run, const SampleWatch& watch) {
  if (!spec.varies_by_chance()) {
    if (spec.is_asked("seed"))
      run.notes.push_back(fmt::format("{}: changes nothing without `jitter` or `jitter-from`", spec.place_of("seed")));
    return;
  }
  if (has_steady_state(run.graph)) {
    run.notes.push_back(
        fmt::format("{}: stages do not meet between steps, and what a step takes in the long run is not "
                    "sampled",
                    spec.place_of(spec.measured_jitter ? "jitter-from" : "jitter")));
    return;
  }
  constexpr std::size_t few_samples = 100;
  if (spec.samples && *spec.samples < few_samples)
    run.notes.push_back(fmt::format("{}: with {} the longest ones are chance: use {} or more for p95",
                                    spec.place_of("samples"), counted(*spec.samples, "step"), few_samples));
  if (spec.measured_jitter && !spec.forward && !spec.backward && !spec.input_grad && !spec.model_shape)
    run.notes.push_back(
        fmt::format("{}: only the variation of tasks comes from the run, not their times: costs are the defaults",
                    spec.place_of("jitter-from")));
  const auto count = static_cast<std::size_t>(spec.training.data_parallel);
  const std::vector<LoweredCopies> copies = lower_copies(spec, run.graph);
  run.report.spread =
      find_spread(sampled_copies(run.graph, count, copies), jitter_of(spec, count), std::nullopt, watch);
}

void add_others(const RunSpec& spec, Evaluation& run, bool with_sensitivity) {
  const bool knows_step_time = run.report.step_time_kind != StepTime::Kind::unknown;
  RunSpec other = spec;
  other.bound = false; // what is shown of them are step times
  if (with_sensitivity) run.report.sensitivity = find_sensitivity(other, run, run.notes);
  if (knows_step_time && run.graph.size() <= most_tasks_for_what_if) run.report.what_if = what_if(run.graph);
  const bool cheap = run.graph.size() <= most_tasks_for_alternatives && !spec.balance; // each would be a search
  if (run.graph.schedule().origin() != nullptr && cheap)
    run.report.alternatives = try_alternatives(other, run.graph.scenario().shape);
}

Evaluation evaluate_fully(const RunSpec& spec, bool with_sensitivity, const SampleWatch& watch) {
  SimulatedRun simulated = simulate_spec(spec);
  add_report(spec, simulated, true);
  Evaluation run = std::move(simulated.run);
  note_far_search(run);
  sample_steps(spec, run, watch);
  add_others(spec, run, with_sensitivity);
  return run;
}

} // namespace ppsim
