#include "ppsim/study/evaluate.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/engine/steady.hpp"
#include "ppsim/engine/streams.hpp"
#include "ppsim/report/stalls.hpp"
#include "ppsim/study/balance_layers.hpp"
#include "ppsim/study/run_report.hpp"

#include <fmt/format.h>

namespace ppsim {
namespace {

/// Of all simulations of the steady state together; it is asked for, so it may cost a second.
constexpr std::size_t most_tasks_for_steady_state = std::size_t{1} << 23;

/// Sets the step time that holds in the long run.
void set_step_time(Evaluation& run) {
  if (!has_steady_state(run.graph)) return;
  const std::optional<Duration> step_time = long_run_step_time(run.generator, run.request, run.graph);
  if (!step_time) {
    run.has_step_time = false;
    run.notes.push_back(
        fmt::format("step_time_ns is the makespan: the steady state would take {} simulated tasks, more than {}",
                    steady_tasks(run.graph), most_tasks_for_steady_state));
    return;
  }
  run.report.step_time = *step_time;
  run.report.steady_state = true;
}

/// Of the stalls of a run so many are put into words.
constexpr std::size_t most_stalls_said = 100;

/// What a step would take if no send or receive held up another.
Duration makespan_without_stalls(const TaskGraph& graph) {
  Scenario scenario = graph.scenario();
  scenario.network.model = TransferModel::latency;
  const TaskGraph free_graph = lower(graph.schedule(), std::move(scenario), graph.place());
  return analyse(free_graph, simulate(free_graph)).makespan;
}

StallReport stalls_of(const TaskGraph& graph, const CommOrder& order, Communicators communicators,
                      const StreamRun& run) {
  const Lowering* const lowering = lowering_of(graph);
  const std::vector<Stall> stalls = find_stalls(graph, order, run);
  StallReport report;
  report.operations = lowering == nullptr ? "as the file places them" : fmt::format("lowering {}", lowering->name);
  report.operations += fmt::format(", p2p {}", to_string(communicators));
  report.count = stalls.size();
  const bool slows = graph.scenario().network.streams.slowdown_ppm > unchanged_ppm; // then nobody knows without a run
  if (!stalls.empty() && !slows) report.without = makespan_without_stalls(graph);
  for (const Stall& stall : stalls) {
    report.sum += stall.length();
    if (report.longest.size() < most_stalls_said)
      report.longest.push_back({stall.stage, stall.task, stall.wait, describe(graph, order, stall)});
  }
  return report;
}

/// Simulates, and says under `streams` what the order of sends and receives cost.
std::pair<Timeline, RunReport> simulate_and_analyse(const TaskGraph& graph) {
  if (graph.scenario().network.model != TransferModel::streams) {
    Timeline timeline = simulate(graph);
    RunReport report = run_report(analyse(graph, timeline));
    return {std::move(timeline), std::move(report)};
  }
  const CommOrder order = operations_of(graph);
  const Communicators communicators = communicators_of(graph);
  StreamRun run = simulate_streams(graph, order, communicators);
  RunReport report = run_report(analyse(graph, run.timeline));
  report.stalls = stalls_of(graph, order, communicators, run);
  return {std::move(run.timeline), std::move(report)};
}

} // namespace

std::optional<Duration> long_run_step_time(const Generator* generator, const ScheduleRequest& request,
                                           const TaskGraph& graph) {
  if (!has_steady_state(graph) || steady_tasks(graph) > most_tasks_for_steady_state) return std::nullopt;
  if (!graph.schedule().asynchronous()) return steady_interval(graph);
  PPSIM_ASSERT(generator != nullptr); // no file says so
  return steady_interval(*generator, request, graph.scenario());
}

Evaluation evaluate(const RunSpec& spec) {
  BuiltRun run = build_run(spec);
  if (spec.is_asked("p2p") && run.scenario.network.model != TransferModel::streams)
    run.notes.push_back(fmt::format("{}: changes nothing without --transfer streams", spec.place_of("p2p")));
  std::optional<Balance> balance;
  if (spec.balance) balance = balance_layers(spec, run);
  TaskGraph graph = lower(std::move(run.schedule), std::move(run.scenario), run.schedule_place);
  auto [timeline, report] = simulate_and_analyse(graph);
  Evaluation evaluation{run.generator,     run.request, std::move(graph),    std::move(timeline),
                        std::move(report), true,        std::move(run.notes)};
  evaluation.report.balance = std::move(balance);
  set_step_time(evaluation);
  if (run.generator != nullptr && !evaluation.graph.schedule().forward_only()) // they are of forward and backward
    evaluation.report.closed_form = closed_form(*run.generator, run.request, evaluation.graph.scenario());
  return evaluation;
}

} // namespace ppsim
