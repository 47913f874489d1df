// The best split of layers over chunks for one run.

#include "ppsim/base/error.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/engine/steady.hpp"
#include "ppsim/study/balance.hpp"
#include "ppsim/study/build_run.hpp"
#include "ppsim/study/run_report.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "splits.hpp"

namespace ppsim {
namespace {

/// The most tasks of all simulations of one search, with searched orders counted as several simulations.
constexpr std::size_t most_tasks_for_balance = std::size_t{1} << 23;
constexpr std::size_t simulations_per_searched_order = 32;
constexpr std::size_t most_tries = 4096;
constexpr std::size_t least_tries = 64;

SplitValue value_of(Splits& splits, const BuiltRun& run, const Layout& layout, bool tried) {
  Scenario changed = splits.scenario(layout);
  Schedule order = splits.schedule(changed, tried);
  const TaskGraph graph = lower_validated(std::move(order), std::move(changed), run.schedule_place);
  const Timeline timeline = simulate(graph);
  return split_value(graph, timeline, find_step_time(graph, end_of(timeline) - SimTime{}).step_time);
}

/// The number of splits that may be tried.
std::size_t tries(const Splits& splits, const BuiltRun& run) {
  const TaskGraph graph = lower(run.schedule, run.scenario, run.schedule_place);
  const std::uint64_t simulated = has_steady_state(graph) ? steady_tasks(graph) : graph.size();
  const std::uint64_t each = simulated + (splits.searches() ? simulations_per_searched_order * graph.size() : 0);
  return static_cast<std::size_t>(
      std::clamp<std::uint64_t>(most_tasks_for_balance / std::max<std::uint64_t>(each, 1), least_tries, most_tries));
}

/// What the splits come to with the orders that they would have as they are; the start if that is no worse then.
void value_again(Balance& found, Splits& splits, const BuiltRun& run) {
  const SplitValue start = value_of(splits, run, found.start.layout, false);
  SplitValue best = found.changed() ? value_of(splits, run, found.layout, false) : start;
  if (std::pair{start.excess, start.step_time} <= std::pair{best.excess, best.step_time}) {
    best = start;
    found.layout = found.start.layout;
  }
  found.start_step_time = start.step_time;
  found.step_time = best.step_time;
  found.fits = best.excess == Bytes{};
}

} // namespace

Balance balance_layers(const RunSpec& spec, BuiltRun& run) {
  check_layers(spec, run);
  Splits splits{spec, run};
  const BalanceStart start{run.scenario.layout, spec.layout.has_value()};
  (void)value_of(splits, run, start.layout, true); // an exception here is not caused by the split
  const auto value = [&](const Layout& layout) -> std::optional<SplitValue> {
    try {
      return value_of(splits, run, layout, true);
    } catch (const Error&) { // it deadlocks, or sizes do not fit it: a chunk without layers has no output to release
      return std::nullopt;
    }
  };
  Balance found = balance(start, value, tries(splits, run));
  if (splits.searches()) value_again(found, splits, run);
  Scenario scenario = splits.scenario(found.layout);
  run.schedule = splits.schedule(scenario, false);
  run.scenario = std::move(scenario);
  return found;
}

} // namespace ppsim
