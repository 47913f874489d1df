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

TaskGraph graph_of(Splits& splits, const BuiltRun& run, const Layout& layout, bool tried) {
  Scenario changed = splits.scenario(layout);
  Schedule order = splits.schedule(changed, tried);
  return lower_validated(std::move(order), std::move(changed), run.schedule_place);
}

SplitValue value_of(const TaskGraph& graph) {
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

/// The better of the found split and the start, each with the order that it would have as it is.
TaskGraph choose(Balance& found, Splits& splits, const BuiltRun& run) {
  if (!splits.searches()) return graph_of(splits, run, found.layout, false); // tried with this order
  TaskGraph best = graph_of(splits, run, found.start.layout, false);
  const SplitValue start = value_of(best);
  SplitValue value = start;
  if (found.changed()) {
    TaskGraph other = graph_of(splits, run, found.layout, false);
    const SplitValue its = value_of(other);
    if (std::pair{its.excess, its.step_time} < std::pair{start.excess, start.step_time}) {
      best = std::move(other);
      value = its;
    } else {
      found.layout = found.start.layout;
    }
  }
  found.start_step_time = start.step_time;
  found.start_fits = start.excess == Bytes{};
  found.step_time = value.step_time;
  found.fits = value.excess == Bytes{};
  return best;
}

} // namespace

Balance balance_layers(const RunSpec& spec, BuiltRun& run) {
  check_layers(spec, run);
  Splits splits{spec, run};
  const BalanceStart start{run.scenario.layout, spec.layout.has_value()};
  bool at_start = true;
  const auto value = [&](const Layout& layout) -> std::optional<SplitValue> {
    const bool is_start = std::exchange(at_start, false);
    try {
      return value_of(graph_of(splits, run, layout, true));
    } catch (const Error&) { // it deadlocks, or sizes do not fit it: a chunk without layers has no output to release
      if (is_start) throw;   // the split is not the cause
      return std::nullopt;
    }
  };
  Balance found = balance(start, value, tries(splits, run));
  const TaskGraph chosen = choose(found, splits, run);
  run.schedule = chosen.schedule();
  run.scenario = chosen.scenario();
  return found;
}

} // namespace ppsim
