#include "run_means.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "dag.hpp"

namespace ppsim {
namespace {

/// No simulated step gets longer: what unaligned clocks show as transfers may overlap, and sums of them have no bound.
constexpr SimTime latest{10'000 * max_duration};

/// The mean of the lowest quarter, at least of one.
Duration usual(std::vector<Duration>& lengths) {
  if (lengths.empty()) return Duration{0};
  const std::size_t count = std::max<std::size_t>(lengths.size() / 4, 1);
  std::ranges::nth_element(lengths, lengths.begin() + static_cast<std::ptrdiff_t>(count - 1));
  Mean mean;
  for (std::size_t i = 0; i < count; ++i) mean.add(lengths[i]);
  return mean.value();
}

} // namespace

Duration time_of_tasks(const Timeline& timeline) {
  SimTime end{};
  for (const Span& span : timeline.tasks) end = std::max(end, span.end);
  return end - SimTime{};
}

TaskGroups task_groups(const TaskGraph& graph) {
  const Schedule& schedule = graph.schedule();
  TaskGroups result;
  result.of.resize(schedule.size());
  for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage) {
    std::map<std::pair<Pass, std::uint16_t>, std::uint32_t> known;
    const std::size_t first = index(schedule.first_task(make_id<StageId>(stage)));
    const std::size_t end = index(schedule.first_task(make_id<StageId>(stage + 1)));
    for (std::size_t id = first; id < end; ++id) known[{schedule.tasks()[id].pass, schedule.tasks()[id].chunk_index}];
    for (auto& [kind, group] : known) {
      group = static_cast<std::uint32_t>(result.groups.size());
      result.groups.push_back({.stage = make_id<StageId>(stage), .chunk = kind.second, .pass = kind.first});
    }
    for (std::size_t id = first; id < end; ++id) {
      const Task& task = schedule.tasks()[id];
      result.of[id] = known[{task.pass, task.chunk_index}];
      TaskGroup& group = result.groups[result.of[id]];
      ++group.tasks;
      if (const std::optional<TaskId> receiver = graph.receiver(make_id<TaskId>(id)))
        group.receiver = schedule.stage_of(*receiver);
    }
  }
  return result;
}

StepCosts own_costs(const TaskGraph& graph, const Timeline& step) {
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
    if (!receiver) continue;
    const Span& transfer = step.transfers[id];
    const Duration length =
        std::min(transfer.end, step.tasks[index(*receiver)].start) - std::max(transfer.start, task.end);
    costs.transfer[id] = std::max(length, Duration{0});
  }
  return costs;
}

GroupCosts mean_costs(const TaskGraph& graph, const TaskGroups& groups, const MeasuredRun& run, std::size_t first,
                      std::size_t last) {
  const std::size_t count = groups.groups.size();
  std::vector<Mean> tasks(count);
  std::vector<Mean> delays(count);
  std::vector<std::vector<Duration>> transfers(count);
  for (std::size_t step = first; step < last; ++step) {
    const StepCosts own = own_costs(graph, run.steps[step]);
    for (std::size_t id = 0; id < own.task.size(); ++id) {
      const std::uint32_t group = groups.of[id];
      tasks[group].add(own.task[id]);
      if (graph.schedule().tasks()[id].pairing == Pairing::first) delays[group].add(own.pair_delay[id]);
      if (groups.groups[group].receiver) transfers[group].push_back(own.transfer[id]);
    }
  }
  GroupCosts costs;
  for (std::size_t group = 0; group < count; ++group) {
    costs.task.push_back(tasks[group].value());
    costs.pair_delay.push_back(delays[group].value());
    costs.transfer.push_back(usual(transfers[group]));
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
  for (const TaskId task : dag.topological_order) {
    const std::size_t from = index(task);
    const SimTime end = start[from] + costs.task[from];
    last = std::max(last, end);
    for (auto [edge, edges_end] = out_edges(static_cast<std::uint32_t>(from), dag.graph); edge != edges_end; ++edge) {
      const EdgeTag tag = dag.graph[*edge];
      SimTime arrival = end;
      if (tag.link != LinkClass::none) arrival += costs.transfer[from];
      if (tag.cause == Cause::pair) arrival += std::max(costs.pair_delay[from], -costs.task[from]);
      SimTime& begin = start[target(*edge, dag.graph)];
      begin = std::min(std::max(begin, arrival), latest);
    }
  }
  return std::min(last, latest) - SimTime{};
}

} // namespace ppsim
