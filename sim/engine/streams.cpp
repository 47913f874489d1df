#include "ppsim/engine/streams.hpp"

#include "ppsim/base/call.hpp"
#include "ppsim/base/detail/wide.hpp"
#include "ppsim/base/error.hpp"
#include "ppsim/engine/detail/update.hpp"
#include "ppsim/engine/hang.hpp"
#include "ppsim/graph/detail/dag.hpp"
#include "ppsim/operations/detail/stream_plan.hpp"

#include <algorithm>
#include <optional>
#include <queue>
#include <tuple>

#include "eager.hpp"

namespace ppsim {
namespace {

/// The task or the transfer whose end released something; of two that end together, the lower one.
class Releaser {
public:
  static constexpr Releaser none() { return Releaser{0xFFFFFFFFU}; }
  static constexpr Releaser task(std::uint32_t id) { return Releaser{id | task_bit}; }
  static constexpr Releaser transfer(std::uint32_t sender) { return Releaser{sender}; }
  [[nodiscard]] constexpr bool is_transfer() const { return (key_ & task_bit) == 0; }
  [[nodiscard]] constexpr TaskId id() const { return key_ == none().key_ ? no_task : TaskId{key_ & ~task_bit}; }
  constexpr auto operator<=>(const Releaser&) const = default;

private:
  static constexpr std::uint32_t task_bit = 0x80000000U; // Limits::tasks is far below
  constexpr explicit Releaser(std::uint32_t key) : key_{key} {}
  std::uint32_t key_;
};

/// A time with its cause.
struct Moment {
  SimTime at{};
  Releaser by = Releaser::none();
};

/// The remaining work of a running task if transfers slow it down. Units: slowdown_ppm pass per nanosecond without
/// transfers, and unchanged_ppm with them. Integers, so that no rounding accumulates.
struct Work {
  Int128 left = 0;
  SimTime since{};           ///< the time of `left`
  std::uint32_t version = 0; ///< of its end event
  std::uint32_t flows = 0;   ///< transfers from and to its stage
};

/// One stage's compute stream.
struct ComputeStream {
  std::uint32_t next = 0; ///< the first unfinished task
  std::uint32_t end = 0;  ///< after its last task
  std::uint32_t running = StreamPlan::none;
};

/// Discrete events in time order. The result does not depend on the order of events at one moment: everything starts at
/// the latest of its inputs, and of equal ones a fixed one is recorded.
template <bool slows>
class StreamSimulation {
public:
  StreamSimulation(const TaskGraph& graph, const CommOrder& order, Communicators communicators,
                   std::span<const SimTime> stage_ready)
      : graph_{graph}, schedule_{graph.schedule()}, dag_{graph.dag()}, order_{order}, communicators_{communicators},
        durations_{dag_, schedule_.tasks()}, plan_{plan_streams(schedule_, order, communicators)},
        in_one_piece_{dag_.pair.kind != PairRule::Kind::serial},
        slowdown_{graph.scenario().network.streams.slowdown_ppm}, stages_(schedule_.shape().stages),
        transfers_(graph.size()), units_(plan_.size()), waits_(graph.size() + 1, 0),
        next_launch_(plan_.first_unit.begin(), plan_.first_unit.end() - 1) {
    if (slows) work_.resize(stages_.size());
    make_timeline();
    list_transfers();
    count_waits();
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      stages_[stage].next = first_task(stage);
      stages_[stage].end = first_task(stage + 1);
      const SimTime ready = stage_ready.empty() ? SimTime{} : stage_ready[stage];
      events_.push({ready, static_cast<std::uint32_t>(stage), Event::ready, 0});
    }
  }

  /// None if the order hangs.
  std::optional<Timeline> run() {
    while (!events_.empty()) {
      check_stop();
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      switch (event.kind) {
      case Event::ready:
        go_on(event.id);
        break;
      case Event::task:
        if (!slows || event.version == work_[event.id].version) finish_task(event.id);
        break;
      case Event::transfer:
        finish_transfer(event.id);
        break;
      }
      while (!in_front_.empty()) {
        const std::uint32_t unit = in_front_.back();
        in_front_.pop_back();
        get_in_front(unit);
      }
    }
    if (std::ranges::any_of(stages_, [](const ComputeStream& stage) { return stage.next < stage.end; }))
      return std::nullopt;
    list_runs();
    return std::move(timeline_);
  }

private:
  static constexpr SimTime before_all{Duration{-1}}; ///< before anything has arrived

  struct Event {
    enum Kind : std::uint8_t { ready, task, transfer };
    SimTime at{};
    std::uint32_t id = 0; ///< stage; for a transfer, its sender
    Kind kind = ready;
    std::uint32_t version = 0;
    bool operator>(const Event& other) const {
      if (at != other.at) return at > other.at;
      return id != other.id ? id > other.id : kind > other.kind; // never equal: the result does not depend on the heap
    }
  };

  struct Transfer {
    Duration length{0};
    std::uint32_t receiver = StreamPlan::none; ///< the waiting task, or the first half of the pair
    bool eager = false;
    bool ended = false;
  };

  struct Unit {
    Moment launched;
    Moment front;
    Moment done;
    std::uint32_t open = 0; ///< unfinished members
    bool is_launched = false;
    bool is_next = false; ///< it is the first on its communicator
    bool is_in_front = false;
  };

  [[nodiscard]] std::uint32_t first_task(std::size_t stage) const {
    return static_cast<std::uint32_t>(index(schedule_.first_task(make_id<StageId>(stage))));
  }

  void make_timeline() {
    timeline_.tasks.assign(graph_.size(), {before_all, before_all});
    timeline_.transfers.resize(graph_.size());
    timeline_.released_by.assign(graph_.size(), no_task);
    timeline_.cause.assign(graph_.size(), Cause::none);
    timeline_.transfer_released_by.assign(graph_.size(), no_task);
    timeline_.waited_for_transfer.assign(graph_.size(), false);
    timeline_.group_released_by.assign(graph_.size(), no_task);
  }

  void list_transfers() {
    for (std::uint32_t from = 0; from < graph_.size(); ++from)
      for (auto [edge, end] = out_edges(from, dag_.wiring->graph); edge != end; ++edge) {
        const LinkClass link = dag_.wiring->graph[*edge].link();
        if (link == LinkClass::none) continue;
        PPSIM_ASSERT(plan_.send_unit[from] != StreamPlan::none);
        transfers_[from] = {.length = dag_.transfer_of(schedule_.tasks()[from], link),
                            .receiver = target(*edge, dag_.wiring->graph),
                            .eager = is_eager(graph_, make_id<TaskId>(from))};
      }
  }

  /// The task that waits for an operation with CommOp::holds. After the last one of any stage: the number of tasks.
  [[nodiscard]] std::uint32_t held_by(const StreamUnit& unit, const CommOp& op) const {
    const std::uint32_t task = ppsim::held_by(schedule_, unit, op);
    return task < stages_end(unit.stage) ? task : static_cast<std::uint32_t>(graph_.size());
  }
  [[nodiscard]] std::uint32_t stages_end(std::size_t stage) const { return first_task(stage + 1); }

  void count_waits() {
    for (std::size_t task = 0; task < graph_.size(); ++task)
      if (schedule_.tasks()[task].pairing != Pairing::second) waits_[task] = 1;
    for (std::size_t unit = 0; unit < plan_.size(); ++unit) {
      units_[unit].is_next = plan_.units[unit].leads;
      for (const std::uint32_t member : plan_.of(unit)) {
        const CommOp& op = order_.ops()[member];
        PPSIM_ASSERT(transfers_[index(op.sender)].receiver != StreamPlan::none);
        if (!op.is_send) ++waits_[transfers_[index(op.sender)].receiver];
        if (op.holds) ++waits_[held_by(plan_.units[unit], op)];
      }
    }
  }

  /// The tasks of `stage` before its next one are done: launches the operations after them, then the next task.
  void go_on(std::size_t stage) {
    const ComputeStream& stream = stages_[stage];
    const bool first = stream.next == first_task(stage);
    const Moment moment{now_, first ? Releaser::none() : Releaser::task(stream.next - 1)};
    std::uint32_t& launch = next_launch_[stage];
    for (; launch < plan_.first_unit[stage + 1] && plan_.units[launch].behind <= stream.next; ++launch) {
      Unit& unit = units_[launch];
      unit.launched = moment;
      unit.is_launched = true;
      if (unit.is_next) in_front_.push_back(launch);
    }
    if (stream.next < stream.end) arrive(stream.next, stage, first ? Cause::none : Cause::order, moment.by.id());
  }

  /// An input of `task`, or of the first half of a pair, has arrived.
  void arrive(std::uint32_t task, std::size_t stage, Cause cause, TaskId by, TaskId group = no_task) {
    SimTime& start = timeline_.tasks[task].start;
    // Of inputs that arrive last together, the task before is recorded, otherwise the lowest cause, then the lowest
    // sender.
    const auto rank = [](Cause why, TaskId who) {
      return std::tuple{why != Cause::order && why != Cause::none, why, who};
    };
    if (now_ > start || rank(cause, by) < rank(timeline_.cause[task], timeline_.released_by[task])) {
      start = now_;
      timeline_.cause[task] = cause;
      timeline_.released_by[task] = by;
      timeline_.group_released_by[task] = group;
    }
    if (--waits_[task] == 0) start_task(task, stage);
  }

  [[nodiscard]] bool runs_in_one_piece(std::uint32_t task) const {
    return in_one_piece_ && schedule_.tasks()[task].pairing == Pairing::first;
  }

  void start_task(std::uint32_t task, std::size_t stage) {
    const Duration length = durations_[task];
    timeline_.tasks[task] = {now_, now_ + length};
    if (runs_in_one_piece(task)) name_first_half(task);
    stages_[stage].running = task;
    if constexpr (slows) {
      Work& work = work_[stage];
      work.left = Int128{length.count()} * slowdown_;
      work.since = now_;
      schedule_end(stage);
    } else {
      events_.push({now_ + length, static_cast<std::uint32_t>(stage), Event::task, 0});
    }
  }

  /// The first half releases the second half of a pair.
  void name_first_half(std::uint32_t first) {
    timeline_.tasks[first + 1] = timeline_.tasks[first];
    timeline_.released_by[first + 1] = TaskId{first};
    timeline_.cause[first + 1] = Cause::pair;
  }

  /// Work per nanosecond.
  [[nodiscard]] std::int64_t rate(const Work& work) const { return work.flows > 0 ? unchanged_ppm : slowdown_; }

  void schedule_end(std::size_t stage) {
    Work& work = work_[stage];
    const std::int64_t per_ns = rate(work);
    const auto left = static_cast<std::int64_t>((std::max(work.left, Int128{0}) + per_ns - 1) / per_ns);
    events_.push({now_ + Duration{left}, static_cast<std::uint32_t>(stage), Event::task, ++work.version});
  }

  /// A transfer from or to `stage` begins or ends.
  void change_flows(std::size_t stage, bool begins) {
    Work& work = work_[stage];
    const bool changes = work.flows == (begins ? 0 : 1);
    const bool runs = stages_[stage].running != StreamPlan::none;
    if (changes && runs) {
      work.left -= Int128{(now_ - work.since).count()} * rate(work);
      work.since = now_;
    }
    if (begins)
      ++work.flows;
    else
      --work.flows;
    if (changes && runs) schedule_end(stage);
  }

  void finish_task(std::size_t stage) {
    ComputeStream& stream = stages_[stage];
    const std::uint32_t task = stream.running;
    stream.running = StreamPlan::none;
    timeline_.tasks[task].end = now_;
    stream.next = task + 1;
    if (schedule_.tasks()[task].pairing == Pairing::first) {
      if (!runs_in_one_piece(task)) {
        timeline_.tasks[task + 1].start = now_;
        timeline_.released_by[task + 1] = TaskId{task};
        timeline_.cause[task + 1] = Cause::pair;
        return start_task(task + 1, stage);
      }
      timeline_.tasks[task + 1].end = now_;
      ++stream.next;
    }
    go_on(stage);
  }

  /// `unit` is launched and first on its communicator.
  void get_in_front(std::uint32_t number) {
    Unit& unit = units_[number];
    unit.is_in_front = true;
    unit.front = {now_, unit.launched.at == now_ ? unit.launched.by : unit.front.by};
    unit.open = static_cast<std::uint32_t>(plan_.of(number).size());
    for (const std::uint32_t member : plan_.of(number)) {
      const CommOp& op = order_.ops()[member];
      const auto sender = static_cast<std::uint32_t>(index(op.sender));
      const Transfer& transfer = transfers_[sender];
      if (transfer.eager && !op.is_send) {
        if (transfer.ended) finish_member(number, unit.front.by);
      } else if (transfer.eager || units_[(op.is_send ? plan_.receive_unit : plan_.send_unit)[sender]].is_in_front) {
        start_transfer(sender);
      }
    }
  }

  void start_transfer(std::uint32_t sender) {
    const Transfer& transfer = transfers_[sender];
    const std::uint32_t send = plan_.send_unit[sender];
    const std::uint32_t receive = plan_.receive_unit[sender];
    const bool receiver_last = !transfer.eager && units_[receive].front.at > units_[send].front.at;
    const Releaser by = units_[receiver_last ? receive : send].front.by;
    timeline_.transfers[sender] = {now_, now_ + transfer.length};
    if (now_ > timeline_.tasks[sender].end) {
      timeline_.transfer_released_by[sender] = by.id();
      timeline_.waited_for_transfer[sender] = by.is_transfer();
    }
    if constexpr (slows)
      for (const std::uint32_t unit : {send, receive}) change_flows(plan_.units[unit].stage, true);
    events_.push({now_ + transfer.length, sender, Event::transfer, 0});
  }

  void finish_transfer(std::uint32_t sender) {
    const std::uint32_t send = plan_.send_unit[sender];
    const std::uint32_t receive = plan_.receive_unit[sender];
    if constexpr (slows)
      for (const std::uint32_t unit : {send, receive}) change_flows(plan_.units[unit].stage, false);
    transfers_[sender].ended = true;
    finish_member(send, Releaser::transfer(sender));
    if (units_[receive].is_in_front) finish_member(receive, Releaser::transfer(sender));
  }

  /// A member of a unit is done. The last ones record the cause.
  void finish_member(std::uint32_t number, Releaser by) {
    Unit& unit = units_[number];
    unit.done = {now_, now_ > unit.done.at ? by : std::min(unit.done.by, by)};
    if (--unit.open > 0) return;
    for (const std::uint32_t member : plan_.of(number)) finish_operation(order_.ops()[member], number);
    const std::uint32_t next = plan_.units[number].next;
    if (next == StreamPlan::none) return;
    units_[next].is_next = true;
    units_[next].front.by = unit.done.by;
    if (units_[next].is_launched) in_front_.push_back(next);
  }

  /// Notifies the waiters of `op` that it and the rest of its unit are done.
  void finish_operation(const CommOp& op, std::uint32_t number) {
    const StreamUnit& unit = plan_.units[number];
    const Releaser by = units_[number].done.by;
    const TaskId group = by.is_transfer() && by.id() != op.sender ? by.id() : no_task;
    const bool forward = schedule_.task(op.sender).pass == Pass::forward;
    const Cause receives = forward ? Cause::activation : Cause::gradient;
    const Cause sends = forward ? Cause::send_activation : Cause::send_gradient;
    if (!op.is_send) arrive(transfers_[index(op.sender)].receiver, unit.stage, receives, op.sender, group);
    if (!op.holds) return;
    if (const std::uint32_t held = held_by(unit, op); held < graph_.size())
      arrive(held, unit.stage, op.is_send ? sends : receives, op.sender, group);
    else
      hold_end(unit.stage, by);
  }

  /// An operation that `stage` waits for after its last task is done.
  void hold_end(std::size_t stage, Releaser by) {
    if (!by.is_transfer()) return; // not after its last task
    if (timeline_.held_end.empty()) timeline_.held_end.resize(stages_.size());
    HeldEnd& held = timeline_.held_end[stage];
    if (now_ > held.at || held.by == no_task || by.id() < held.by) held = {now_, by.id()};
  }

  void list_runs() {
    timeline_.operations.resize(order_.size());
    for (std::size_t number = 0; number < units_.size(); ++number) {
      const Unit& unit = units_[number];
      for (const std::uint32_t member : plan_.of(number))
        timeline_.operations[member] = {unit.launched.at, unit.front.at, unit.done.at};
    }
  }

  const TaskGraph& graph_;
  const Schedule& schedule_;
  const Dag& dag_;
  const CommOrder& order_;
  Communicators communicators_;
  Durations durations_;
  StreamPlan plan_;
  bool in_one_piece_;
  std::int64_t slowdown_; ///< Streams::slowdown_ppm
  std::vector<ComputeStream> stages_;
  std::vector<Work> work_;          ///< by stage, if transfers slow tasks
  std::vector<Transfer> transfers_; ///< by sender
  std::vector<Unit> units_;
  std::vector<std::uint32_t> waits_;       ///< by task, or first half of a pair: number of missing inputs
  std::vector<std::uint32_t> next_launch_; ///< by stage: the first unlaunched unit
  std::vector<std::uint32_t> in_front_;    ///< units that just reached the front
  SimTime now_{};
  Timeline timeline_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

/// None if the order hangs.
std::optional<Timeline> run(const TaskGraph& graph, const CommOrder& order, Communicators communicators,
                            std::span<const SimTime> stage_ready) {
  PPSIM_ASSERT(stage_ready.empty() || stage_ready.size() == graph.schedule().shape().stages);
  const bool slows = graph.scenario().network.streams.slowdown_ppm > unchanged_ppm;
  std::optional<Timeline> timeline = slows ? StreamSimulation<true>{graph, order, communicators, stage_ready}.run()
                                           : StreamSimulation<false>{graph, order, communicators, stage_ready}.run();
  if (timeline) add_update(graph, *timeline);
  return timeline;
}

} // namespace

Timeline simulate(const TaskGraph& graph, const CommOrder& order, Communicators communicators,
                  std::span<const SimTime> stage_ready) {
  if (const auto mismatch = find_mismatch(graph.schedule(), order, communicators))
    throw Error{ExitCode::no, Problem{graph.place(), *mismatch, std::string{mismatch_fix}}};
  if (std::optional<Timeline> found = run(graph, order, communicators, stage_ready)) return *std::move(found);
  const std::optional<Hang> hang = find_hang(graph, order, communicators);
  PPSIM_ASSERT(hang.has_value());
  throw Error{ExitCode::no, Problem{graph.place(), in_a_line(*hang), hang->fix}};
}

std::optional<Timeline> try_simulate(const TaskGraph& graph, const CommOrder& order, Communicators communicators) {
  return run(graph, order, communicators, {});
}

} // namespace ppsim
