#include "ppsim/study/find_sensitivity.hpp"

#include "ppsim/base/parallel.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/engine/steady.hpp"
#include "ppsim/study/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace ppsim {
namespace {

/// Of all stages and links together; they are asked for, so they may cost a second or two.
constexpr std::size_t most_tasks_for_sensitivity = std::size_t{1} << 25;

/// The step time of the run's order at other costs.
std::function<Duration(const Scenario&)> step_time_of(const Evaluation& run) {
  return [&run](const Scenario& scenario) {
    if (run.graph.schedule().asynchronous()) return steady_interval(*run.generator, run.request, scenario);
    return step_time(lower(run.graph.schedule(), scenario, run.graph.place()));
  };
}

/// A change of the spec, and the flags that make it.
struct ChangedSpec {
  RunSpec spec;
  std::size_t count = 0;
  std::string flags;
};

/// Adds the first of the changes that is allowed, or why the first one is not.
void add_first(const Evaluation& run, Change change, const std::vector<ChangedSpec>& candidates, Sensitivity& result) {
  std::string reason;
  for (const ChangedSpec& candidate : candidates) {
    try {
      const Evaluation other = evaluate(candidate.spec);
      if (!other.has_step_time) continue;
      result.figures.push_back({.change = change,
                                .count = candidate.count,
                                .flags = candidate.flags,
                                .step_time = other.report.step_time,
                                .gain = gain_over(run.report.step_time, run.graph.scenario().shape.microbatches,
                                                  other.report.step_time, other.graph.scenario().shape.microbatches)});
      return;
    } catch (const Error& error) {
      if (reason.empty()) reason = fmt::format("{}: {}", candidate.flags, error.problems().front().what);
    }
  }
  result.refused.push_back({change, reason.empty() ? "the steady state would take too long to find" : reason});
}

/// The order for more microbatches: the next number that the schedule takes.
void add_microbatches(const RunSpec& spec, const Evaluation& run, Sensitivity& result) {
  const Shape& shape = run.graph.scenario().shape;
  RunSpec changed = spec;
  if (spec.balance) { // the split that was found, not another one
    changed.balance = false;
    changed.layers.reset();
    changed.layout = run.graph.scenario().layout;
  }
  std::vector<ChangedSpec> candidates;
  for (std::size_t more = 1; more <= 4 * shape.stages; ++more) { // schedules ask for multiples of up to 4p
    changed.microbatches = shape.microbatches + more;
    candidates.push_back({changed, shape.microbatches + more, fmt::format("`mb` {}", shape.microbatches + more)});
  }
  add_first(run, Change::microbatches, candidates, result);
}

/// The order for more chunks per stage: the next number that the schedule takes; 1F1B is interleaved with one.
void add_chunks(const RunSpec& spec, const Evaluation& run, Sensitivity& result) {
  const Shape& shape = run.graph.scenario().shape;
  if (spec.layout)
    return result.refused.push_back({Change::chunks, "the layout has one part for each chunk that there is"});
  RunSpec changed = spec;
  const bool from_1f1b = run.generator->name == "1f1b";
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

std::optional<Sensitivity> find_sensitivity(const RunSpec& spec, Evaluation& run) {
  if (!run.has_step_time) {
    run.notes.emplace_back("`sensitivity`: the step time in the long run is not known, and no change of it");
    return std::nullopt;
  }
  const std::size_t tasks =
      sensitivity_tasks(run.graph, has_steady_state(run.graph) ? steady_tasks(run.graph) : run.graph.size());
  if (tasks > most_tasks_for_sensitivity) {
    run.notes.push_back(fmt::format("`sensitivity`: stages and links would take {} simulated tasks, more than {}",
                                    tasks, most_tasks_for_sensitivity));
    return std::nullopt;
  }
  Sensitivity result;
  result.figures = stages_and_links(run.graph, run.report.step_time, step_time_of(run), machine_threads());
  if (run.generator == nullptr) {
    for (const Change change : {Change::microbatches, Change::chunks})
      result.refused.push_back({change, "the order is from a file"});
  } else {
    add_microbatches(spec, run, result);
    add_chunks(spec, run, result);
  }
  rank(result);
  return result;
}

} // namespace ppsim
