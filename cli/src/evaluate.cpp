#include "evaluate.hpp"

#include "ppsim/sim/error.hpp"
#include "ppsim/sim/steady.hpp"

#include <fmt/format.h>

#include "balancing.hpp"

namespace ppsim::cli {
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

} // namespace

std::optional<Duration> long_run_step_time(const Generator* generator, const ScheduleRequest& request,
                                           const TaskGraph& graph) {
  if (!has_steady_state(graph) || steady_tasks(graph) > most_tasks_for_steady_state) return std::nullopt;
  if (!graph.schedule().asynchronous()) return steady_interval(graph);
  PPSIM_ASSERT(generator != nullptr); // no file says so
  return steady_interval(*generator, request, graph.scenario());
}

Evaluation evaluate(const Inputs& inputs) {
  Run run = resolve(inputs);
  std::optional<Balance> balance;
  if (inputs.balance) balance = balance_layers(inputs, run);
  TaskGraph graph = lower(std::move(run.schedule), std::move(run.scenario), run.schedule_place);
  Timeline timeline = simulate(graph);
  Report report = analyse(graph, timeline);
  Evaluation evaluation{run.generator,     run.request, std::move(graph),    std::move(timeline),
                        std::move(report), true,        std::move(run.notes)};
  evaluation.report.balance = std::move(balance);
  set_step_time(evaluation);
  if (run.generator != nullptr && !evaluation.graph.schedule().forward_only()) // they are of forward and backward
    evaluation.report.closed_form = closed_form(*run.generator, run.request, evaluation.graph.scenario());
  return evaluation;
}

} // namespace ppsim::cli
