#pragma once
// Measured runs, made by hand for tests.

#include "ppsim/sim/measured.hpp"
#include "support/runs.hpp"

#include <string_view>
#include <utility>
#include <vector>

namespace ppsim::test {

/// The times of one step: for each stage its tasks in order, as {start, end} in nanoseconds. Transfers have none yet.
using Times = std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>>;

inline Timeline timeline_of(const Times& times) {
  Timeline timeline;
  for (const auto& stage : times)
    for (const auto& [start, end] : stage) timeline.tasks.push_back(between(start, end));
  timeline.transfers.resize(timeline.tasks.size());
  return timeline;
}

inline std::size_t position_of(const Schedule& schedule, std::string_view task) {
  const auto found = std::ranges::find_if(schedule.tasks(), [&](const Task& each) { return to_string(each) == task; });
  REQUIRE(found != schedule.tasks().end());
  return static_cast<std::size_t>(found - schedule.tasks().begin());
}

/// Sends each output to another stage at once: there when its sender ends, as stages that share memory do.
inline void hand_over(const TaskGraph& graph, Timeline& timeline) {
  for (std::size_t id = 0; id < graph.size(); ++id)
    if (graph.receiver(make_id<TaskId>(id))) timeline.transfers[id] = {timeline.tasks[id].end, timeline.tasks[id].end};
}

/// A run of these steps on "threads"; every stage had its core to itself, and nothing was measured of memory.
inline MeasuredRun run_of(const Schedule& schedule, std::vector<Timeline> steps) {
  MeasuredRun run;
  run.schedule = schedule;
  run.facts = {.backend = "threads",
               .compute = "mlp: 256 tokens, width 512, 1 layer per chunk",
               .transport = "buffers are handed over",
               .machine = "a processor with 8 cores",
               .command = "ppsim replay",
               .timed = false};
  run.steps = std::move(steps);
  run.stages.resize(schedule.shape().stages);
  for (MeasuredStage& stage : run.stages) {
    stage.busy = Duration{1'000};
    stage.cpu = Duration{990};
  }
  return run;
}

} // namespace ppsim::test
