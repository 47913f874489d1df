#include "ppsim/engine/steady.hpp"

#include "ppsim/engine/detail/update.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/schedule/generators.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace ppsim {
namespace {

constexpr std::size_t steps = 8;
constexpr std::size_t settled = 4; ///< steps after which the start has no effect

/// With nearly equal costs, a run may not settle for long; it is doubled up to this limit.
constexpr std::size_t most_tasks_of_longer_run = std::size_t{1} << 19;

/// At most 2p microbatches are active (docs/model.md), so no task waits for an older one; doubled as a margin for
/// shared links.
std::size_t reach(const Shape& shape) {
  return 4 * shape.stages;
}

/// The number of microbatches after which every replica had the same number of turns; at most Limits::tasks.
std::size_t turns(const Schedule& schedule) {
  std::vector<std::size_t> replicas(schedule.shape().chunks());
  for (const StageId stage : schedule.stage_ids())
    if (const auto tasks = schedule.stage(stage); !tasks.empty()) ++replicas[index(tasks.front().chunk())];
  std::size_t round = 1;
  for (const std::size_t count : replicas)
    round = std::min<std::size_t>(std::lcm(round, std::max<std::size_t>(count, 1)), Limits::tasks);
  return round;
}

/// The first run: fill, two periods, a window to compare and the drain.
std::size_t first_run(const Schedule& schedule) {
  return 4 * (reach(schedule.shape()) + turns(schedule));
}

/// When each pass of each chunk ended, by microbatch.
std::vector<std::vector<SimTime>> ends_of(const TaskGraph& graph) {
  const Shape& shape = graph.schedule().shape();
  std::map<std::pair<ChunkId, Pass>, std::vector<SimTime>> ends;
  const Timeline timeline = simulate(graph);
  for (std::size_t task = 0; task < graph.size(); ++task) {
    const Task& run = graph.schedule().task(make_id<TaskId>(task));
    auto& row = ends[{run.chunk(), run.pass}];
    row.resize(shape.microbatches);
    row[index(run.microbatch)] = timeline.tasks[task].end;
  }
  std::vector<std::vector<SimTime>> rows;
  rows.reserve(ends.size());
  for (auto& [pass, row] : ends) rows.push_back(std::move(row));
  return rows;
}

struct Period {
  std::size_t microbatches = 1;
  Duration length{0};
  bool repeats = false; ///< every pass before the drain follows the one a period earlier by `length`
};

/// The least number of microbatches, a multiple of `round`, after which all times repeat with an offset; otherwise the
/// longest that could be observed. Each end depends on those of `window` microbatches, so a repetition over the window
/// continues.
Period period_of(const std::vector<std::vector<SimTime>>& ends, std::size_t window, std::size_t round) {
  const std::size_t last = ends.front().size() - window; // the rest drains
  Period period;
  for (std::size_t ahead = round; window + ahead <= last - last / 4; ahead += round) {
    period = {ahead, ends.front()[last - 1] - ends.front()[last - 1 - ahead]};
    period.repeats = std::ranges::all_of(ends, [&](const std::vector<SimTime>& row) {
      for (std::size_t microbatch = last - window; microbatch < last; ++microbatch)
        if (row[microbatch] - row[microbatch - ahead] != period.length) return false;
      return true;
    });
    if (period.repeats) break;
  }
  return period;
}

/// With an optimizer step per stage.
Duration interval_of_steps(const TaskGraph& graph) {
  const std::size_t stages = graph.schedule().shape().stages;
  std::vector<SimTime> ready(stages);
  std::vector<SimTime> settled_at;
  for (std::size_t step = 1; step <= steps; ++step) {
    const Timeline timeline = simulate(graph, ready);
    for (const StageId stage : graph.schedule().stage_ids()) ready[index(stage)] = stage_end(graph, timeline, stage);
    if (step == settled) settled_at = ready;
  }
  const auto last = static_cast<std::size_t>(std::ranges::max_element(ready) - ready.begin());
  return Duration{divide_rounded((ready[last] - settled_at[last]).count(), std::int64_t{steps - settled})};
}

/// Without a flush.
Duration interval_of_microbatches(const TaskGraph& graph) {
  const Schedule& schedule = graph.schedule();
  const Shape& shape = schedule.shape();
  PPSIM_ASSERT(schedule.origin() != nullptr); // files are never asynchronous
  const auto& [generator, request] = *schedule.origin();
  const std::size_t per_microbatch = schedule.size() / shape.microbatches;
  Period period;
  for (std::size_t run = first_run(schedule);; run *= 2) {
    ScheduleRequest longer = request;
    Scenario costs = graph.scenario();
    longer.shape.microbatches = costs.shape.microbatches = run;
    costs.costs.forget_microbatches();
    const TaskGraph more = lower(make_schedule(*generator, longer, costs), costs);
    period = period_of(ends_of(more), reach(shape), turns(schedule));
    if (period.repeats || 2 * run * per_microbatch > most_tasks_of_longer_run) break;
  }
  const auto every = static_cast<std::int64_t>(period.microbatches);
  const auto microbatches = static_cast<std::int64_t>(shape.microbatches);
  const std::int64_t length = period.length.count(); // times microbatches it may overflow
  return Duration{length / every * microbatches + divide_rounded(length % every * microbatches, every)};
}

} // namespace

bool has_steady_state(const TaskGraph& graph) {
  return graph.schedule().asynchronous() || graph.scenario().update.step == OptimizerStep::per_stage;
}

std::uint64_t steady_tasks(const TaskGraph& graph) {
  const Schedule& schedule = graph.schedule();
  const std::uint64_t tasks = graph.size();
  if (!schedule.asynchronous()) return tasks * steps;
  return tasks / schedule.shape().microbatches * first_run(schedule);
}

Duration steady_interval(const TaskGraph& graph) {
  PPSIM_ASSERT(has_steady_state(graph));
  return graph.schedule().asynchronous() ? interval_of_microbatches(graph) : interval_of_steps(graph);
}

Duration step_time(const TaskGraph& graph) {
  return has_steady_state(graph) ? steady_interval(graph) : end_of(simulate(graph)) - SimTime{};
}

} // namespace ppsim
