#include "ppsim/base/call.hpp"
#include "ppsim/graph/detail/dag.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "models.hpp"

namespace ppsim {
namespace {

/// The directed links of a network, each with its free time and its last transfer.
class Links {
public:
  struct State {
    SimTime free{};
    TaskId last = no_task;
  };

  Links(const Schedule& schedule, const Network& network) : network_{network}, outgoing_(schedule.shape().stages) {}

  /// The link of a transfer: the node's uplink to other nodes, otherwise the pair's own.
  State& between(StageId from, StageId to) {
    if (const std::optional<std::size_t> node = network_.uplink(from, to)) return uplinks_[*node];
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
        links_{schedule_, graph.scenario().network}, waiting_{count_inputs(dag_.wiring->graph)},
        timeline_{empty_timeline(schedule_, stage_ready)} {
    timeline_.transfer_released_by.assign(graph.size(), no_task);
    if (in_slices) under_way_.resize(graph.size());
  }

  Timeline run() {
    for (const StageId stage : schedule_.stage_ids()) {
      const auto first = static_cast<std::uint32_t>(schedule_.first_task(stage));
      if (!schedule_.stage(stage).empty() && waiting_[first] == 0) start(first, stage);
    }
    while (!events_.empty()) {
      check_stop();
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
  /// The end of a task, or before it the completion of the first slice of its output.
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

  /// The edge of a sliced output of `task`, if any: its target and link.
  [[nodiscard]] std::optional<std::pair<std::uint32_t, LinkClass>> sliced_edge(std::uint32_t task) const {
    for (auto [edge, end] = out_edges(task, dag_.wiring->graph); edge != end; ++edge)
      if (dag_.is_sliced(schedule_.task(TaskId{task}), dag_.wiring->graph[*edge].link()))
        return std::pair{target(*edge, dag_.wiring->graph), dag_.wiring->graph[*edge].link()};
    return std::nullopt;
  }

  /// Whether this event is the first slice of a task.
  [[nodiscard]] bool sends_first_slice(std::uint32_t task) const { return !under_way_[task] && sliced_edge(task); }

  /// The link is busy from the first slice to the last.
  void send_slices(std::uint32_t from, StageId stage) {
    under_way_[from] = true;
    const auto [to, link_class] = sliced_edge(from).value();
    Links::State& link = links_.between(stage, schedule_.stage_of(TaskId{to}));
    const Task& sender = schedule_.task(TaskId{from});
    const Span& span = timeline_.tasks[from];
    const SimTime asked = dag_.first_slice(span);
    const SimTime begin = std::max(asked, link.free);
    const Span transfer = dag_.sliced_transfer(sender, link_class, span, begin);
    // If the task itself ends too late, the link did not delay the transfer.
    if (begin > asked && transfer.end == begin + dag_.transfer_of(sender, link_class))
      timeline_.transfer_released_by[from] = link.last;
    timeline_.transfers[from] = transfer;
    link = {transfer.end, TaskId{from}};
  }

  void finish(std::uint32_t from, StageId stage) {
    const SimTime now = timeline_.tasks[from].end;
    for (auto [edge, end] = out_edges(from, dag_.wiring->graph); edge != end; ++edge) {
      const EdgeTag tag = dag_.wiring->graph[*edge];
      const std::uint32_t to = target(*edge, dag_.wiring->graph);
      SimTime arrival = now;
      StageId other = stage;
      if (tag.link() != LinkClass::none) {
        other = schedule_.stage_of(TaskId{to});
        arrival = in_slices && dag_.is_sliced(schedule_.task(TaskId{from}), tag.link())
                      ? timeline_.transfers[from].end // active since the first slice
                      : send(from, links_.between(stage, other), tag.link());
      } else if (tag.is_pair()) {
        arrival += durations_.pair_delay(timeline_.tasks[from].length());
      }
      release(timeline_, from, to, arrival, tag.cause(schedule_.task(TaskId{from})));
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
  std::vector<bool> under_way_; ///< by task, with slices: its first one was sent
  Timeline timeline_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

} // namespace

Timeline simulate_link(const TaskGraph& graph, std::span<const SimTime> stage_ready) {
  const bool in_slices = graph.dag().slices > 1;
  return in_slices ? LinkSimulation<true>{graph, stage_ready}.run() : LinkSimulation<false>{graph, stage_ready}.run();
}

} // namespace ppsim
