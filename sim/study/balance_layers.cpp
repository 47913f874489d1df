// The best split of layers over chunks for one run.

#include "ppsim/base/error.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/engine/steady.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/balance.hpp"
#include "ppsim/study/build_run.hpp"
#include "ppsim/study/build_scenario.hpp"
#include "ppsim/study/run_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ppsim {
namespace {

/// Of all simulations of one search together, and of the orders that are searched for, as so many simulations each.
constexpr std::size_t most_tasks_for_balance = std::size_t{1} << 23;
constexpr std::size_t simulations_per_searched_order = 32;
constexpr std::size_t most_tries = 4096;
constexpr std::size_t least_tries = 64;

/// A list that says one thing per chunk says nothing on another split.
void refuse_lists(const RunSpec& spec, Problems& problems) {
  const auto check = [&](std::string_view option, const auto& given) {
    if (given && given->size() > 1)
      problems.add(
          spec.place_of(option), fmt::format("{} values, one per chunk, do not follow the layers", given->size()),
          "give one value, for a stage; `embedding` and `head` are for what the ends do besides ('ppsim import "
          "`mean-stage`' writes that of a run)");
  };
  check("forward", spec.forward);
  check("backward", spec.backward);
  check("input-grad", spec.input_grad);
  check("weight-grad", spec.weight_grad);
  check("forward-collective", spec.forward_collective);
  check("backward-collective", spec.backward_collective);
  check("recompute-time", spec.recompute_time);
  check("reduce", spec.reduce);
  check("optimizer", spec.optimizer);
  check("activation-bytes", spec.activation_bytes);
  check("weight-activation-bytes", spec.weight_activation_bytes);
  check("checkpoint-bytes", spec.checkpoint_bytes);
  check("parameter-bytes", spec.parameter_bytes);
  check("gradient-bytes", spec.gradient_bytes);
  check("optimizer-bytes", spec.optimizer_bytes);
}

void check_balance(const RunSpec& spec, const BuiltRun& run) {
  Problems problems;
  if (run.scenario.layout.empty())
    problems.add(spec.place_of("balance"), "how many layers are there to split?",
                 "give `layers`, or a `layout` to start from");
  for (const char* option : {"first-stage-layers", "last-stage-layers"})
    if (spec.has(option))
      problems.add(spec.place_of(option), "fixes what `balance` is to find", "leave one of them out");
  refuse_lists(spec, problems);
  problems.throw_if_any();
}

/// The runs of one search: those of the given one with other layouts.
class Splits {
public:
  Splits(RunSpec spec, const BuiltRun& run)
      : spec_{std::move(spec)}, run_{run}, placement_{placement_of(run.schedule)} {
    spec_.layers.reset();
  }

  Scenario scenario(const Layout& layout) {
    spec_.layout = layout;
    Scenario scenario = make_scenario(spec_, run_.scenario.shape, placement_, ends_share_stage(run_.schedule));
    std::vector<std::string> said_before;
    fit_update(spec_, run_.schedule, scenario, said_before);
    return scenario;
  }

  [[nodiscard]] bool searches() const {
    return run_.schedule.origin() != nullptr && run_.schedule.origin()->generator->searches;
  }

  /// The order, made anew where it follows from the costs.
  [[nodiscard]] Schedule schedule(const Scenario& scenario) const {
    if (!searches()) return run_.schedule;
    const auto& [generator, request] = *run_.schedule.origin();
    if (spec_.forward_only) return make_schedule(*generator, request, scenario).forwards();
    return make_schedule(*generator, request, scenario);
  }

  SplitValue value(const Layout& layout) {
    Scenario changed = scenario(layout);
    Schedule order = schedule(changed);
    const TaskGraph graph = lower_validated(std::move(order), std::move(changed), run_.schedule_place);
    const Timeline timeline = simulate(graph);
    return split_value(graph, timeline, find_step_time(graph, end_of(timeline) - SimTime{}).step_time);
  }

private:
  RunSpec spec_;
  const BuiltRun& run_;
  std::vector<StageId> placement_;
};

/// How many splits may be tried.
std::size_t tries(const Splits& splits, const BuiltRun& run) {
  const TaskGraph graph = lower(run.schedule, run.scenario, run.schedule_place);
  const std::size_t simulated = has_steady_state(graph) ? steady_tasks(graph) : graph.size();
  const std::size_t each = simulated + (splits.searches() ? simulations_per_searched_order * graph.size() : 0);
  return std::clamp(most_tasks_for_balance / std::max<std::size_t>(each, 1), least_tries, most_tries);
}

} // namespace

Balance balance_layers(const RunSpec& spec, BuiltRun& run) {
  check_balance(spec, run);
  Splits splits{spec, run};
  const BalanceStart start{run.scenario.layout, spec.layout.has_value()};
  (void)splits.value(start.layout); // where this throws, it is not the split that is wrong
  const auto value = [&](const Layout& layout) -> std::optional<SplitValue> {
    try {
      return splits.value(layout);
    } catch (const Error&) { // it deadlocks, or sizes do not fit it: a chunk without layers has no output to release
      return std::nullopt;
    }
  };
  Balance found = balance(start, value, tries(splits, run));
  Scenario scenario = splits.scenario(found.layout);
  run.schedule = splits.schedule(scenario);
  run.scenario = std::move(scenario);
  return found;
}

} // namespace ppsim
