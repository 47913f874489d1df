#include "evaluate.hpp"

#include "ppsim/sim/error.hpp"
#include "ppsim/sim/steady.hpp"

#include <fmt/format.h>

namespace ppsim::cli {
namespace {

/// Of all simulations of the steady state together; it is asked for, so it may cost a second.
constexpr std::size_t most_tasks_for_steady_state = std::size_t{1} << 23;

/// Sets the step time that holds in the long run.
void set_step_time(Evaluation& run) {
  if (!has_steady_state(run.graph)) return;
  if (steady_tasks(run.graph) > most_tasks_for_steady_state) {
    run.has_step_time = false;
    run.notes.push_back(
        fmt::format("step_time_ns is the makespan: the steady state would take {} simulated tasks, more than {}",
                    steady_tasks(run.graph), most_tasks_for_steady_state));
    return;
  }
  const bool asynchronous = run.graph.schedule().asynchronous();
  PPSIM_ASSERT(!asynchronous || run.generator != nullptr); // no file says so
  run.report.step_time =
      asynchronous ? steady_interval(*run.generator, run.request, run.graph.scenario()) : steady_interval(run.graph);
  run.report.steady_state = true;
}

} // namespace

Evaluation evaluate(const Inputs& inputs) {
  Run run = resolve(inputs);
  TaskGraph graph = lower(std::move(run.schedule), std::move(run.scenario), run.schedule_place);
  Timeline timeline = simulate(graph);
  Report report = analyse(graph, timeline);
  Evaluation evaluation{run.generator,     run.request, std::move(graph),    std::move(timeline),
                        std::move(report), true,        std::move(run.notes)};
  set_step_time(evaluation);
  if (run.generator != nullptr && !evaluation.graph.schedule().forward_only()) // they are of forward and backward
    evaluation.report.closed_form = closed_form(*run.generator, run.request, evaluation.graph.scenario());
  return evaluation;
}

} // namespace ppsim::cli
