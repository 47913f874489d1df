#pragma once
// Measured runs, made by hand for tests.

#include "ppsim/measured/measured.hpp"
#include "support/runs.hpp"

#include <functional>
#include <optional>
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

/// Makes transfers take no time, as between stages that share memory.
inline void add_instant_transfers(const TaskGraph& graph, Timeline& timeline) {
  for (std::size_t id = 0; id < graph.size(); ++id)
    if (graph.receiver(make_id<TaskId>(id))) timeline.transfers[id] = {timeline.tasks[id].end, timeline.tasks[id].end};
}

/// How a made-up run differs from its prediction, task by task.
struct Differences {
  std::function<Duration(TaskId)> length;                                     ///< of the task
  std::function<Duration(TaskId)> way = [](TaskId) { return Duration{0}; };   ///< of its output to another stage
  std::function<Duration(TaskId)> pause = [](TaskId) { return Duration{0}; }; ///< before it, when all is there
};

/// The times of a step in which every task begins when it can, pairs one half after the other.
inline Timeline played(const TaskGraph& graph, const Differences& differences) {
  Timeline timeline;
  timeline.tasks.resize(graph.size());
  timeline.transfers.resize(graph.size());
  std::vector<std::size_t> missing(graph.size());
  for (std::size_t id = 0; id < graph.size(); ++id)
    for (const Edge& edge : graph.successors(make_id<TaskId>(id))) ++missing[index(edge.to)];
  std::vector<TaskId> ready;
  for (std::size_t id = 0; id < graph.size(); ++id)
    if (missing[id] == 0) ready.push_back(make_id<TaskId>(id));
  while (!ready.empty()) {
    const TaskId from = ready.back();
    ready.pop_back();
    Span& span = timeline.tasks[index(from)];
    span.start += differences.pause(from);
    span.end = span.start + differences.length(from);
    const std::optional<TaskId> receiver = graph.receiver(from);
    if (receiver) timeline.transfers[index(from)] = {span.end, span.end + differences.way(from)};
    for (const Edge& edge : graph.successors(from)) {
      const bool sent = edge.cause == Cause::activation || edge.cause == Cause::gradient;
      SimTime& start = timeline.tasks[index(edge.to)].start;
      start = std::max(start, sent && receiver ? timeline.transfers[index(from)].end : span.end);
      if (--missing[index(edge.to)] == 0) ready.push_back(edge.to);
    }
  }
  return timeline;
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
