// The transfer model `streams`: properties for every order of tasks and of operations.

#include "ppsim/engine/hang.hpp"
#include "ppsim/engine/streams.hpp"
#include "ppsim/report/stalls.hpp"
#include "ppsim/study/run_report.hpp"
#include "property/drawn_inputs.hpp"
#include "property/timeline_checks.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <rapidcheck.h>

namespace ppsim::test::streams_property {

namespace {

struct StreamsInput {
  TaskGraph graph;
  CommOrder order;
  Communicators communicators{};
};

/// By task, its sender; no_task if there is none.
std::vector<TaskId> senders_of(const TaskGraph& graph) {
  std::vector<TaskId> senders(graph.size(), no_task);
  for (std::size_t id = 0; id < graph.size(); ++id)
    if (const auto receiver = graph.receiver(make_id<TaskId>(id))) senders[index(*receiver)] = make_id<TaskId>(id);
  return senders;
}

/// Operations at random valid places, often where frameworks put them.
CommOrder draw_operations(const TaskGraph& graph) {
  const Schedule& schedule = graph.schedule();
  const std::vector<TaskId> senders = senders_of(graph);
  std::vector<CommOp> ops;
  std::vector<std::uint32_t> offsets{0};
  const bool waits = one_in(2);
  for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage) {
    const std::size_t first = index(schedule.first_task(make_id<StageId>(stage)));
    const std::size_t count = schedule.stage(make_id<StageId>(stage)).size();
    std::vector<std::pair<std::size_t, CommOp>> placed;
    const auto place = [&](TaskId sender, bool is_send, std::size_t low, std::size_t high, bool at_low) {
      const std::size_t before = one_in(3) ? draw(low, high) : at_low ? low : high;
      placed.emplace_back(draw(0, 3), CommOp{.sender = sender,
                                             .before = static_cast<std::uint32_t>(before),
                                             .is_send = is_send,
                                             .holds = waits && one_in(2),
                                             .holds_after = static_cast<std::uint32_t>(one_in(2) ? 0 : draw(1, 3))});
    };
    const bool early = one_in(2);
    for (std::size_t i = 0; i < count; ++i) {
      const auto id = make_id<TaskId>(first + i);
      if (senders[first + i] != no_task) place(senders[first + i], false, 0, i, early);
      if (graph.receiver(id)) place(id, true, i + 1, count, true);
    }
    std::ranges::stable_sort(placed, {}, [](const auto& one) { return std::tuple{one.second.before, one.first}; });
    for (std::size_t i = 0; i < placed.size(); ++i) {
      ops.push_back(placed[i].second);
      ops.back().joins = i > 0 && placed[i].second.before == placed[i - 1].second.before && one_in(4);
    }
    offsets.push_back(static_cast<std::uint32_t>(ops.size()));
  }
  return {std::move(ops), std::move(offsets)};
}

/// Every receive at the start, in the order of its peer's sends; every send right after its task.
CommOrder earliest_operations(const TaskGraph& graph) {
  const Schedule& schedule = graph.schedule();
  const std::vector<TaskId> senders = senders_of(graph);
  std::vector<CommOp> ops;
  std::vector<std::uint32_t> offsets{0};
  for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage) {
    const std::size_t first = index(schedule.first_task(make_id<StageId>(stage)));
    const std::size_t count = schedule.stage(make_id<StageId>(stage)).size();
    std::vector<TaskId> received;
    for (std::size_t i = 0; i < count; ++i)
      if (senders[first + i] != no_task) received.push_back(senders[first + i]);
    std::ranges::sort(received);
    for (const TaskId sender : received) ops.push_back({.sender = sender});
    for (std::size_t i = 0; i < count; ++i)
      if (const auto id = make_id<TaskId>(first + i); graph.receiver(id))
        ops.push_back({.sender = id, .before = static_cast<std::uint32_t>(i + 1), .is_send = true});
    offsets.push_back(static_cast<std::uint32_t>(ops.size()));
  }
  return {std::move(ops), std::move(offsets)};
}

Scenario draw_stream_scenario(const Shape& shape) {
  Scenario scenario = draw_scenario(shape);
  scenario.network.model = TransferModel::streams;
  scenario.network.slices = 1;
  return scenario;
}

constexpr Bytes most_bytes{std::int64_t{1} << 60};

/// A threshold that makes all sends eager, none, or those below some size.
Bytes draw_threshold(const Network& network) {
  if (one_in(2)) return Bytes{};
  if (one_in(2) || network.boundary_bytes.empty()) return most_bytes;
  return network.boundary_bytes[draw(0, network.boundary_bytes.size() - 1)];
}

StreamsInput draw_run(bool may_be_eager = true) {
  const Schedule schedule = draw_order();
  Scenario scenario = draw_stream_scenario(schedule.shape());
  if (may_be_eager) scenario.network.streams.eager_below = draw_threshold(scenario.network);
  const Communicators communicators = all_communicators[draw(0, all_communicators.size() - 1)];
  scenario.network.streams.communicators = communicators;
  const TaskGraph bare = lower(schedule, scenario);
  CommOrder order = draw_operations(bare);
  return {lower(schedule.with_communications(order), scenario), std::move(order), communicators};
}

std::optional<Timeline> try_streams(const StreamsInput& drawn) {
  return try_simulate(drawn.graph, drawn.order, drawn.communicators);
}

/// The rules directly as stated, with each moment computed recursively; slow, and without events.
class NaiveStreams {
public:
  struct Hangs {};

  explicit NaiveStreams(const StreamsInput& drawn)
      : drawn_{drawn}, graph_{drawn.graph}, schedule_{graph_.schedule()}, senders_{senders_of(graph_)},
        starts_(graph_.size()), fronts_(drawn.order.size()) {
    for (std::size_t stage = 0; stage < drawn.order.stages(); ++stage) {
      std::size_t group = 0;
      for (std::size_t i = 0; i < drawn.order.stage(make_id<StageId>(stage)).size(); ++i) {
        const std::size_t position = drawn.order.first(make_id<StageId>(stage)) + i;
        if (!op(position).joins) ++group;
        stage_.push_back(stage);
        group_.push_back(group);
      }
    }
  }

  SimTime start(std::size_t task) {
    const std::size_t slot = first_half(task);
    return remember(starts_[slot], [&] {
      const std::size_t stage = index(schedule_.stage_of(make_id<TaskId>(slot)));
      SimTime latest{};
      if (slot > first_of(stage)) latest = end(slot - 1);
      for (std::size_t i = 0; i < drawn_.order.size(); ++i) {
        const bool feeds = !op(i).is_send && first_half(index(*graph_.receiver(op(i).sender))) == slot;
        if (feeds || (op(i).holds && stage_[i] == stage && held_place(i) == slot)) latest = std::max(latest, done(i));
      }
      return latest;
    });
  }
  SimTime end(std::size_t task) {
    const auto& tasks = schedule_.tasks();
    const Duration own = graph_.duration(make_id<TaskId>(task));
    if (tasks[task].pairing == Pairing::alone) return start(task) + own;
    if (graph_.scenario().pair.kind != PairRule::Kind::serial) return start(task) + own;
    const std::size_t slot = first_half(task);
    const Duration first = graph_.duration(make_id<TaskId>(slot));
    return start(slot) + first + (task > slot ? own : zero);
  }
  SimTime flow(TaskId sender) {
    const SimTime sent = front(find(sender, true));
    return eager(sender) ? sent : std::max(sent, front(find(sender, false)));
  }

private:
  struct Known {
    int state = 0; ///< 1: requested, 2: known
    SimTime at{};
  };

  template <class Find>
  SimTime remember(Known& known, Find find) {
    if (known.state == 1) throw Hangs{};
    if (known.state == 2) return known.at;
    known.state = 1;
    known.at = find();
    known.state = 2;
    return known.at;
  }

  [[nodiscard]] const CommOp& op(std::size_t position) const { return drawn_.order.ops()[position]; }
  [[nodiscard]] std::size_t first_of(std::size_t stage) const {
    return index(schedule_.first_task(make_id<StageId>(stage)));
  }
  [[nodiscard]] std::size_t first_half(std::size_t task) const {
    return task - (schedule_.tasks()[task].pairing == Pairing::second ? 1 : 0);
  }
  [[nodiscard]] std::size_t find(TaskId sender, bool is_send) const {
    std::size_t position = 0;
    while (op(position).sender != sender || op(position).is_send != is_send) ++position;
    return position;
  }
  [[nodiscard]] bool eager(TaskId sender) const {
    return graph_.transfer_bytes(sender) < graph_.scenario().network.streams.eager_below;
  }
  /// The communicator of an operation on its stage.
  [[nodiscard]] std::tuple<std::size_t, bool> communicator(std::size_t position) const {
    if (drawn_.communicators == Communicators::group) return {0, false};
    if (drawn_.communicators == Communicators::direction)
      return {0, schedule_.task(op(position).sender).pass == Pass::forward};
    const StageId peer =
        schedule_.stage_of(op(position).is_send ? *graph_.receiver(op(position).sender) : op(position).sender);
    return {index(peer), drawn_.communicators == Communicators::edge && op(position).is_send};
  }
  [[nodiscard]] bool same_queue(std::size_t a, std::size_t b) const {
    return stage_[a] == stage_[b] && communicator(a) == communicator(b);
  }
  /// The task before which it is launched.
  [[nodiscard]] std::size_t place(std::size_t position) const {
    return outside(stage_[position], first_of(stage_[position]) + op(position).before);
  }
  /// The task that waits for it.
  [[nodiscard]] std::size_t held_place(std::size_t position) const {
    return outside(stage_[position], place(position) + op(position).holds_after);
  }
  /// Not between the halves of a pair.
  [[nodiscard]] std::size_t outside(std::size_t stage, std::size_t task) const {
    const bool inside = task < first_of(stage + 1) && schedule_.tasks()[task].pairing == Pairing::second;
    return task + (inside ? 1 : 0);
  }

  SimTime front(std::size_t position) {
    return remember(fronts_[position], [&] {
      const std::size_t task = place(position);
      SimTime latest{};
      if (task > first_of(stage_[position])) latest = end(task - 1);
      for (std::size_t i = 0; i < position; ++i)
        if (same_queue(i, position) && group_[i] != group_[position]) latest = std::max(latest, done(i));
      return latest;
    });
  }
  SimTime done(std::size_t position) {
    SimTime latest{};
    for (std::size_t i = 0; i < drawn_.order.size(); ++i) {
      if (!same_queue(i, position) || group_[i] != group_[position]) continue;
      latest = std::max({latest, front(i), flow(op(i).sender) + graph_.transfer_time(op(i).sender)});
    }
    return latest;
  }

  const StreamsInput& drawn_;
  const TaskGraph& graph_;
  const Schedule& schedule_;
  std::vector<TaskId> senders_;
  std::vector<Known> starts_, fronts_;
  std::vector<std::size_t> stage_, group_;
};

/// Whether two transfers from one stage to another overlap or touch.
bool transfers_touch(const Outcome& outcome) {
  const Schedule& schedule = outcome.graph.schedule();
  std::vector<std::tuple<StageId, StageId, SimTime, SimTime>> transfers;
  for (std::size_t id = 0; id < outcome.graph.size(); ++id) {
    const auto sender = make_id<TaskId>(id);
    const Span span = outcome.timeline.transfers[id];
    if (const auto receiver = outcome.graph.receiver(sender))
      transfers.emplace_back(schedule.stage_of(sender), schedule.stage_of(*receiver), span.start, span.end);
  }
  std::ranges::sort(transfers);
  for (std::size_t i = 1; i < transfers.size(); ++i) {
    const auto& [from, to, start, end] = transfers[i];
    const auto& [from_before, to_before, start_before, end_before] = transfers[i - 1];
    if (from == from_before && to == to_before && start <= end_before) return true;
  }
  return false;
}

/// The progress of a task's work in `span`, in units of which a nanosecond without transfers does `slowdown` and one
/// with them a million.
std::int64_t progress(const StreamsInput& drawn, const Timeline& timeline, StageId stage, Span span,
                      std::int64_t slowdown) {
  std::vector<Span> flows;
  for (std::size_t id = 0; id < drawn.graph.size(); ++id) {
    const auto sender = make_id<TaskId>(id);
    const auto receiver = drawn.graph.receiver(sender);
    const Schedule& schedule = drawn.graph.schedule();
    if (receiver && (schedule.stage_of(sender) == stage || schedule.stage_of(*receiver) == stage))
      flows.push_back(timeline.transfers[id]);
  }
  std::ranges::sort(flows, {}, &Span::start);
  Duration slow{0};
  SimTime counted = span.start;
  for (const Span& flow : flows) {
    const SimTime from = std::clamp(std::max(flow.start, counted), span.start, span.end);
    const SimTime to = std::clamp(flow.end, from, span.end);
    slow += to - from;
    counted = std::max(counted, to);
  }
  return (span.length() - slow).count() * slowdown + slow.count() * unchanged_ppm;
}

} // namespace

TEST_CASE("Under streams, events happen as in a naive model, and hang if that has a cycle") {
  rc::prop("any order of tasks and operations", [] {
    const StreamsInput drawn = draw_run();
    const auto run = try_streams(drawn);
    RC_CLASSIFY(!run.has_value(), "hangs");
    NaiveStreams naive{drawn};
    bool hangs = false;
    for (std::size_t id = 0; id < drawn.graph.size() && !hangs; ++id) try {
        const SimTime start = naive.start(id);
        const SimTime end = naive.end(id);
        const auto sender = make_id<TaskId>(id);
        const bool sends = drawn.graph.receiver(sender).has_value();
        const SimTime flow = sends ? naive.flow(sender) : SimTime{};
        if (!run) continue;
        RC_ASSERT(run->tasks[id].end == end);
        const bool second = drawn.graph.schedule().task(sender).pairing == Pairing::second;
        if (!second) RC_ASSERT(run->tasks[id].start == start);
        if (sends) RC_ASSERT(run->transfers[id] == (Span{flow, flow + drawn.graph.transfer_time(sender)}));
      } catch (const NaiveStreams::Hangs&) {
        hangs = true;
      }
    RC_ASSERT(hangs == !run.has_value());
  });
}

TEST_CASE("The check finds a hang exactly if an order hangs, whatever the costs") {
  rc::prop("rendezvous, or all eager", [] {
    StreamsInput drawn = draw_run(false);
    const bool eager = one_in(3);
    Scenario scenario = drawn.graph.scenario();
    if (eager) scenario.network.streams.eager_below = most_bytes;
    drawn.graph = lower(drawn.graph.schedule(), scenario);
    const auto hang = find_hang(drawn.graph.schedule(), drawn.order, drawn.communicators, eager);
    RC_CLASSIFY(hang.has_value(), "hangs");
    RC_ASSERT(hang.has_value() == !try_streams(drawn).has_value());
    if (!hang) return;
    RC_ASSERT(!hang->cycle.empty());
    RC_ASSERT(!hang->fix.empty());
  });
}

TEST_CASE("Under streams, labels add up, and the critical path has no gap from zero to the makespan") {
  rc::prop("any order that runs", [] {
    StreamsInput drawn = draw_run();
    if (one_in(3)) {
      Scenario scenario = drawn.graph.scenario();
      scenario.network.streams.slowdown_ppm = unchanged_ppm + number(draw(0, 2'000'000));
      drawn.graph = lower(drawn.graph.schedule(), scenario);
    }
    if (find_mismatch(drawn.graph.schedule(), drawn.order, drawn.communicators) || !try_streams(drawn)) return;
    const Outcome outcome = run(drawn.graph.schedule(), drawn.graph.scenario());
    for (std::size_t stage = 0; stage < outcome.graph.schedule().shape().stages; ++stage) {
      check_one_at_a_time(outcome, stage);
      check_account(outcome, stage);
    }
    check_critical_path(outcome);
  });
}

TEST_CASE("Named stalls add up to the time of their label") {
  rc::prop("any order that runs", [] {
    const StreamsInput drawn = draw_run();
    const auto run = try_streams(drawn);
    if (!run) return;
    const RunReport report = run_report(drawn.graph, *run);
    Duration named{0};
    for (const Stall& stall : find_stalls(drawn.graph, drawn.order, drawn.communicators, *run)) {
      named += stall.length();
      RC_ASSERT(!describe(drawn.graph, drawn.order, stall).empty());
    }
    // Reductions and optimizer steps may follow; only tasks stall.
    RC_ASSERT(named == report.time_by_label()[static_cast<std::size_t>(Label::stall)]);
  });
}

TEST_CASE("On edges, with every receive posted at the start, streams equals latency if no two transfers meet") {
  rc::prop("any order of tasks, free transfers or not", [] {
    const Schedule schedule = draw_order();
    Scenario scenario = draw_scenario(schedule.shape());
    scenario.network.slices = 1;
    // Operations are launched after both halves of a pair, even if these run one after the other.
    if (scenario.pair.kind == PairRule::Kind::serial) scenario.pair.kind = PairRule::Kind::sum;
    if (one_in(2)) {
      std::ranges::fill(scenario.network.latency, zero);
      std::ranges::fill(scenario.network.boundary_bytes, Bytes{});
      scenario.network.inter_node_latency.reset();
    }
    const Outcome latency = run(schedule, scenario);
    scenario.network.model = TransferModel::streams;
    const TaskGraph graph = lower(schedule, scenario);
    const Timeline streams = simulate(graph, earliest_operations(graph), Communicators::edge);
    RC_ASSERT(none_earlier(streams, latency.timeline));
    const bool meet = transfers_touch(latency);
    RC_CLASSIFY(meet, "transfers meet");
    if (meet) return;
    RC_ASSERT(streams.tasks == latency.timeline.tasks);
    RC_ASSERT(streams.transfers == latency.timeline.transfers);
  });
}

TEST_CASE("Tasks run at full speed without transfers on their stage, and slower by the factor with them") {
  rc::prop("any order that runs, to the nanosecond", [] {
    StreamsInput drawn = draw_run();
    Scenario scenario = drawn.graph.scenario();
    const std::int64_t slowdown = unchanged_ppm + number(draw(0, 3'000'000));
    scenario.network.streams.slowdown_ppm = slowdown;
    drawn.graph = lower(drawn.graph.schedule(), scenario);
    const auto run = try_streams(drawn);
    for (std::size_t id = 0; run && id < drawn.graph.size(); ++id) {
      const Span span = run->tasks[id];
      const StageId stage = drawn.graph.schedule().stage_of(make_id<TaskId>(id));
      const std::int64_t work = drawn.graph.duration(make_id<TaskId>(id)).count() * slowdown;
      RC_ASSERT(progress(drawn, *run, stage, span, slowdown) >= work);
      const Span shorter{span.start, span.end - Duration{1}};
      if (span.length() > zero) RC_ASSERT(progress(drawn, *run, stage, shorter, slowdown) < work);
    }
  });
}

} // namespace ppsim::test::streams_property
