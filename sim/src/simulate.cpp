#include "ppsim/sim/error.hpp"
#include "ppsim/sim/streams.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <queue>

#include "blocking.hpp"
#include "dag.hpp"
#include "update.hpp"

namespace ppsim {
namespace {

/// Notes that `from` lets `to` start at `arrival` at the earliest. Of several inputs that arrive last together the task
/// before on the stage is named, then the lowest id: the result must not depend on the order of calls.
inline void release(Timeline& timeline, std::uint32_t from, std::uint32_t to, SimTime arrival, Cause cause) {
  SimTime& start = timeline.tasks[to].start;
  TaskId& by = timeline.released_by[to];
  if (arrival < start) return;
  if (arrival == start && by != no_task && (by == TaskId{to - 1} || (from != to - 1 && by < TaskId{from}))) return;
  start = arrival;
  by = TaskId{from};
  timeline.cause[to] = cause;
}

/// No task has run; the first one of a stage can not start before its stage is ready. `stage_ready` may be empty: at
/// zero, then.
Timeline empty_timeline(const Schedule& schedule, std::span<const SimTime> stage_ready) {
  Timeline timeline;
  timeline.tasks.resize(schedule.size());
  timeline.transfers.resize(schedule.size());
  timeline.released_by.assign(schedule.size(), no_task);
  timeline.cause.assign(schedule.size(), Cause::none);
  for (std::size_t stage = 0; stage < stage_ready.size(); ++stage)
    if (!schedule.stage(make_id<StageId>(stage)).empty())
      timeline.tasks[index(schedule.first_task(make_id<StageId>(stage)))].start = stage_ready[stage];
  return timeline;
}

/// `latency`: nothing contends, so the longest path through the DAG is the discrete-event result, found in topological
/// order.
template <bool in_slices> // compiled by itself: inlined beside the other models, its loop gets slower
[[gnu::noinline]] Timeline simulate_latency(const TaskGraph& graph, std::span<const SimTime> stage_ready) {
  const Dag& dag = graph.dag();
  const std::span<const Task> tasks = graph.schedule().tasks();
  const Durations durations{dag, tasks};
  Timeline timeline = empty_timeline(graph.schedule(), stage_ready);
  for (const TaskId task : dag.topological_order) {
    const auto from = static_cast<std::uint32_t>(index(task));
    Span& span = timeline.tasks[from];
    const Duration length = durations[from];
    span.end = span.start + length;
    for (auto [edge, end] = out_edges(from, dag.graph); edge != end; ++edge) {
      const EdgeTag tag = dag.graph[*edge];
      SimTime arrival = span.end;
      if (tag.link != LinkClass::none) {
        arrival += dag.transfer_of(tasks[from], tag.link);
        timeline.transfers[from] = {span.end, arrival};
        if constexpr (in_slices) {
          if (dag.is_sliced(tasks[from], tag.link))
            timeline.transfers[from] = dag.sliced_transfer(tasks[from], tag.link, span, dag.first_slice(span));
          arrival = timeline.transfers[from].end;
        }
      } else if (tag.cause == Cause::pair) {
        arrival += durations.pair_delay(length);
      }
      release(timeline, from, target(*edge, dag.graph), arrival, tag.cause);
    }
  }
  return timeline;
}

/// The directed links of a network, each with the moment at which it is free and the transfer that held it last.
class Links {
public:
  struct State {
    SimTime free{};
    TaskId last = no_task;
  };

  Links(const Schedule& schedule, const Network& network) : network_{network}, outgoing_(schedule.shape().stages) {}

  /// The link that a transfer takes: the node's one uplink towards other nodes, else the pair's own.
  State& between(StageId from, StageId to) {
    if (!network_.same_node(from, to)) return uplinks_[index(from) / network_.stages_per_node];
    auto& links = outgoing_[index(from)];
    for (auto& [stage, state] : links)
      if (stage == to) return state;
    return links.emplace_back(to, State{}).second;
  }

private:
  const Network& network_;
  std::vector<std::vector<std::pair<StageId, State>>> outgoing_; // a stage sends to few others
  std::map<std::size_t, State> uplinks_;
};

/// `link`: discrete events, earliest first, the lowest id first among equals. A link serves transfers in the order in
/// which their senders ended.
template <bool in_slices>
class LinkSimulation {
public:
  LinkSimulation(const TaskGraph& graph, std::span<const SimTime> stage_ready)
      : dag_{graph.dag()}, schedule_{graph.schedule()}, durations_{dag_, schedule_.tasks()},
        links_{schedule_, graph.scenario().network}, waiting_{dag_.in_degree},
        timeline_{empty_timeline(schedule_, stage_ready)} {
    timeline_.transfer_released_by.assign(graph.size(), no_task);
    if (in_slices) under_way_.resize(graph.size());
  }

  Timeline run() {
    for (std::size_t stage = 0; stage < schedule_.shape().stages; ++stage) {
      const auto first = static_cast<std::uint32_t>(index(schedule_.first_task(make_id<StageId>(stage))));
      if (!schedule_.stage(make_id<StageId>(stage)).empty() && waiting_[first] == 0)
        start(first, make_id<StageId>(stage));
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      if (in_slices && sends_first_slice(event.task))
        send_slices(event.task, event.stage);
      else
        finish(event.task, event.stage);
    }
    return std::move(timeline_);
  }

private:
  /// A task ends. Before that, one whose output leaves in slices has a first event: the first slice is made.
  struct Event {
    SimTime at{};
    std::uint32_t task = 0;
    StageId stage{};
    bool operator>(const Event& other) const { return at != other.at ? at > other.at : task > other.task; }
  };

  void start(std::uint32_t task, StageId stage) {
    Span& span = timeline_.tasks[task];
    span.end = span.start + durations_[task];
    events_.push({span.end, task, stage});
    if (in_slices && sliced_edge(task)) events_.push({dag_.first_slice(span), task, stage});
  }

  /// The edge over which the output of `task` leaves in slices, if it does: its target and link.
  [[nodiscard]] std::optional<std::pair<std::uint32_t, LinkClass>> sliced_edge(std::uint32_t task) const {
    for (auto [edge, end] = out_edges(task, dag_.graph); edge != end; ++edge)
      if (dag_.is_sliced(schedule_.task(TaskId{task}), dag_.graph[*edge].link))
        return std::pair{target(*edge, dag_.graph), dag_.graph[*edge].link};
    return std::nullopt;
  }

  /// Whether this is the first event of a task whose output leaves in slices.
  [[nodiscard]] bool sends_first_slice(std::uint32_t task) const { return !under_way_[task] && sliced_edge(task); }

  /// The link is held from the first slice to the last.
  void send_slices(std::uint32_t from, StageId stage) {
    under_way_[from] = true;
    const auto [to, link_class] = sliced_edge(from).value();
    Links::State& link = links_.between(stage, schedule_.stage_of(TaskId{to}));
    const Task& sender = schedule_.task(TaskId{from});
    const Span& span = timeline_.tasks[from];
    const SimTime asked = dag_.first_slice(span);
    const SimTime begin = std::max(asked, link.free);
    const Span transfer = dag_.sliced_transfer(sender, link_class, span, begin);
    // Where the task itself ends too late for that, it was not the link that held the transfer up.
    if (begin > asked && transfer.end == begin + dag_.transfer_of(sender, link_class))
      timeline_.transfer_released_by[from] = link.last;
    timeline_.transfers[from] = transfer;
    link = {transfer.end, TaskId{from}};
  }

  void finish(std::uint32_t from, StageId stage) {
    const SimTime now = timeline_.tasks[from].end;
    for (auto [edge, end] = out_edges(from, dag_.graph); edge != end; ++edge) {
      const EdgeTag tag = dag_.graph[*edge];
      const std::uint32_t to = target(*edge, dag_.graph);
      SimTime arrival = now;
      StageId other = stage;
      if (tag.link != LinkClass::none) {
        other = schedule_.stage_of(TaskId{to});
        arrival = in_slices && dag_.is_sliced(schedule_.task(TaskId{from}), tag.link)
                      ? timeline_.transfers[from].end // under way since the first slice
                      : send(from, links_.between(stage, other), tag.link);
      } else if (tag.cause == Cause::pair) {
        arrival += durations_.pair_delay(timeline_.tasks[from].length());
      }
      release(timeline_, from, to, arrival, tag.cause);
      if (--waiting_[to] == 0) start(to, other);
    }
  }

  SimTime send(std::uint32_t from, Links::State& link, LinkClass link_class) {
    const SimTime asked = timeline_.tasks[from].end;
    const SimTime begin = std::max(asked, link.free);
    if (begin > asked) timeline_.transfer_released_by[from] = link.last;
    link = {begin + dag_.transfer_of(schedule_.task(TaskId{from}), link_class), TaskId{from}};
    timeline_.transfers[from] = {begin, link.free};
    return link.free;
  }

  const Dag& dag_;
  const Schedule& schedule_;
  Durations durations_;
  Links links_;
  std::vector<std::uint8_t> waiting_;
  std::vector<bool> under_way_; ///< by task, with slices: its first one has left
  Timeline timeline_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

Timeline run_tasks(const TaskGraph& graph, std::span<const SimTime> stage_ready) {
  const bool in_slices = graph.dag().slices > 1; // told apart once, so that the usual loops have no test for it
  switch (graph.scenario().network.model) {
  case TransferModel::latency:
    return in_slices ? simulate_latency<true>(graph, stage_ready) : simulate_latency<false>(graph, stage_ready);
  case TransferModel::link:
    return in_slices ? LinkSimulation<true>{graph, stage_ready}.run() : LinkSimulation<false>{graph, stage_ready}.run();
  case TransferModel::blocking:
    return simulate_blocking(graph, stage_ready);
  case TransferModel::streams:
    break; // see simulate()
  }
  return {};
}

} // namespace

Timeline simulate(const TaskGraph& graph) {
  return simulate(graph, {});
}

Timeline simulate(const TaskGraph& graph, std::span<const SimTime> stage_ready) {
  PPSIM_ASSERT(stage_ready.empty() || stage_ready.size() == graph.schedule().shape().stages);
  if (graph.scenario().network.model == TransferModel::streams)
    return simulate_streams(graph, operations_of(graph), communicators_of(graph), stage_ready).timeline;
  Timeline timeline = run_tasks(graph, stage_ready);
  add_update(graph, timeline);
  return timeline;
}

std::vector<std::uint32_t> unit_steps(const TaskGraph& graph) {
  const Dag& dag = graph.dag();
  std::vector<std::uint32_t> steps(graph.size());
  for (const TaskId task : dag.topological_order) {
    const auto from = static_cast<std::uint32_t>(index(task));
    for (auto [edge, end] = out_edges(from, dag.graph); edge != end; ++edge) {
      const bool together = dag.graph[*edge].cause == Cause::pair; // both halves of a pair start in one slot
      std::uint32_t& step = steps[target(*edge, dag.graph)];
      step = std::max(step, steps[from] + (together ? 0 : 1));
    }
  }
  return steps;
}

} // namespace ppsim
