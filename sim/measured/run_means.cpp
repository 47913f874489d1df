#include "run_means.hpp"

#include "ppsim/graph/detail/dag.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <tuple>

namespace ppsim {
namespace {

/// The limit of a simulated step: transfers of unaligned clocks may overlap, and their sums are unbounded.
constexpr SimTime latest{10'000 * max_duration};

} // namespace

Duration RunningMean::mean() const {
  if (runs_ == 0) return Duration{0};
  const auto runs = static_cast<Int128>(runs_);
  return Duration{static_cast<std::int64_t>((sum_ + (sum_ < 0 ? -runs / 2 : runs / 2)) / runs)};
}

Duration RunningMean::spread() const {
  return runs_ == 0 ? Duration{0} : Duration{std::llround(std::sqrt(squares_ / static_cast<double>(runs_)))};
}

Duration transfer_time(const Timeline& step, TaskId sender, TaskId receiver) {
  const Span& transfer = step.transfers[index(sender)];
  const SimTime start = std::max(transfer.start, step.tasks[index(sender)].end);
  const SimTime end = std::min(transfer.end, step.tasks[index(receiver)].start);
  return std::max(end - start, Duration{0});
}

RunningMean usual_transfer(std::vector<Duration> times) {
  RunningMean usual;
  if (times.empty()) return usual;
  const std::size_t count = std::max<std::size_t>(times.size() / 4, 1);
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(count - 1));
  for (const Duration time : std::span{times}.first(count)) usual.add(time);
  return usual;
}

Duration time_of_tasks(const Timeline& timeline) {
  SimTime end{};
  for (const Span& span : timeline.tasks) end = std::max(end, span.end);
  return end - SimTime{};
}

TaskGroups task_groups(const TaskGraph& graph) {
  const Schedule& schedule = graph.schedule();
  TaskGroups result;
  result.of.resize(schedule.size());
  std::map<std::tuple<std::size_t, StageId, StageId>, std::size_t> ways;
  for (const StageId stage : schedule.stage_ids()) {
    std::map<std::pair<Pass, std::uint16_t>, std::uint32_t> known;
    result.first.push_back(result.groups.size());
    for (const Task& task : schedule.stage(stage)) known[{task.pass, task.chunk_index}];
    for (auto& [kind, group] : known) {
      group = static_cast<std::uint32_t>(result.groups.size());
      result.groups.push_back({.stage = stage, .chunk = kind.second, .pass = kind.first});
    }
    for (const TaskId id : schedule.task_ids(stage)) {
      const Task& task = schedule.task(id);
      result.of[index(id)] = known[{task.pass, task.chunk_index}];
      TaskGroup& group = result.groups[result.of[index(id)]];
      ++group.tasks;
      if (group.receiver) continue;
      const std::optional<TaskId> receiver = graph.receiver(id);
      if (!receiver) continue;
      group.receiver = schedule.stage_of(*receiver);
      const auto [low, high] = std::minmax(group.stage, *group.receiver);
      group.way = ways.try_emplace({Dag::boundary_of(task), low, high}, ways.size()).first->second;
    }
  }
  result.ways = ways.size();
  result.first.push_back(result.groups.size());
  return result;
}

StepCosts costs_of_step(const TaskGraph& graph, const Timeline& step) {
  const std::span<const Task> tasks = graph.schedule().tasks();
  StepCosts costs;
  costs.task.reserve(tasks.size());
  costs.transfer.assign(tasks.size(), Duration{0});
  costs.pair_delay.assign(tasks.size(), Duration{0});
  for (std::size_t id = 0; id < tasks.size(); ++id) {
    const Span& task = step.tasks[id];
    costs.task.push_back(task.length());
    if (tasks[id].pairing == Pairing::first)
      costs.pair_delay[id] = std::min(step.tasks[id + 1].start - task.end, Duration{0});
    const std::optional<TaskId> receiver = graph.receiver(make_id<TaskId>(id));
    if (receiver) costs.transfer[id] = transfer_time(step, make_id<TaskId>(id), *receiver);
  }
  return costs;
}

GroupCosts mean_costs(const TaskGraph& graph, const TaskGroups& groups, const MeasuredRun& run, std::size_t first,
                      std::size_t last) {
  const std::size_t count = groups.groups.size();
  std::vector<RunningMean> tasks(count);
  std::vector<RunningMean> delays(count);
  std::vector<std::vector<Duration>> transfers(groups.ways);
  for (std::size_t step = first; step < last; ++step) {
    const StepCosts own = costs_of_step(graph, run.steps[step]);
    for (std::size_t id = 0; id < own.task.size(); ++id) {
      const std::uint32_t group = groups.of[id];
      tasks[group].add(own.task[id]);
      if (graph.schedule().tasks()[id].pairing == Pairing::first) delays[group].add(own.pair_delay[id]);
      if (groups.groups[group].receiver && run.has_recorded(step, make_id<TaskId>(id)))
        transfers[groups.groups[group].way].push_back(own.transfer[id]);
    }
  }
  std::vector<Duration> usual;
  usual.reserve(transfers.size());
  for (std::vector<Duration>& times : transfers) usual.push_back(usual_transfer(std::move(times)).mean());
  GroupCosts costs;
  for (std::size_t group = 0; group < count; ++group) {
    costs.task.push_back(tasks[group].mean());
    costs.pair_delay.push_back(delays[group].mean());
    costs.transfer.push_back(groups.groups[group].receiver ? usual[groups.groups[group].way] : Duration{0});
  }
  return costs;
}

StepCosts spread_over_tasks(const TaskGroups& groups, const GroupCosts& costs) {
  StepCosts result;
  for (const auto& [to, from] :
       {std::pair{&StepCosts::task, &GroupCosts::task}, std::pair{&StepCosts::transfer, &GroupCosts::transfer},
        std::pair{&StepCosts::pair_delay, &GroupCosts::pair_delay}}) {
    (result.*to).reserve(groups.of.size());
    for (const std::uint32_t group : groups.of) (result.*to).push_back((costs.*from)[group]);
  }
  return result;
}

Duration tasks_end(const TaskGraph& graph, const StepCosts& costs) {
  const Dag& dag = graph.dag();
  std::vector<SimTime> start(graph.size());
  SimTime last{};
  for (const TaskId task : dag.wiring->topological_order) {
    const std::size_t from = index(task);
    const SimTime end = start[from] + costs.task[from];
    last = std::max(last, end);
    for (auto [edge, edges_end] = out_edges(static_cast<std::uint32_t>(from), dag.wiring->graph); edge != edges_end;
         ++edge) {
      const EdgeTag tag = dag.wiring->graph[*edge];
      SimTime arrival = end;
      if (tag.link() != LinkClass::none) arrival += costs.transfer[from];
      if (tag.is_pair()) arrival += std::max(costs.pair_delay[from], -costs.task[from]);
      SimTime& begin = start[target(*edge, dag.wiring->graph)];
      begin = std::min(std::max(begin, arrival), latest);
    }
  }
  return std::min(last, latest) - SimTime{};
}

} // namespace ppsim
