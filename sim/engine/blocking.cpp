#include "ppsim/base/call.hpp"
#include "ppsim/base/error.hpp"
#include "ppsim/graph/detail/dag.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models.hpp"

namespace ppsim {
namespace {

/// A transfer with the state of both ends.
struct Exchange {
  TaskId sender = no_task;
  TaskId receiver = no_task; ///< the task that needs it
  Duration length{0};
  int posted = 0;             ///< number of ends that have posted it
  SimTime posted_at{};        ///< the later one so far
  TaskId posted_by = no_task; ///< the task before the last batch that posted it
};

/// `blocking`. A slot is a task or an overlapped pair. Before each slot, and after the last, a stage posts one batch:
/// the sends of the slot before and the receives of this one. It continues when all transfers of the batch are done.
class BlockingSimulation {
public:
  BlockingSimulation(const TaskGraph& graph, std::span<const SimTime> stage_ready)
      : graph_{graph}, schedule_{graph.schedule()}, stage_ready_{stage_ready},
        durations_{graph.dag(), schedule_.tasks()}, exchange_of_sender_(graph.size(), none),
        exchange_of_receiver_(graph.size(), none), stages_(schedule_.shape().stages) {
    timeline_.tasks.resize(graph.size());
    timeline_.transfers.resize(graph.size());
    timeline_.released_by.assign(graph.size(), no_task);
    timeline_.cause.assign(graph.size(), Cause::none);
    timeline_.transfer_released_by.assign(graph.size(), no_task);
    list_exchanges();
  }

  Timeline run() {
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      stages_[stage].next = start_of_stage(stage);
      post_batch(stage);
    }
    while (!ready_.empty()) {
      check_stop();
      const std::size_t stage = ready_.back();
      ready_.pop_back();
      run_slot(stage);
    }
    for (std::size_t stage = 0; stage < stages_.size(); ++stage)
      if (!stages_[stage].finished) report_deadlock(stage);
    return std::move(timeline_);
  }

private:
  static constexpr std::uint32_t none = 0xFFFFFFFFU;

  struct StageState {
    std::size_t next = 0; ///< first task of the pending batch's slot
    std::size_t open = 0; ///< unfinished transfers of the pending batch
    SimTime batch_done{}; ///< end of its last transfer so far; at least the posting time
    TaskId released_by = no_task;
    Cause cause = Cause::none;
    bool finished = false;
  };

  void list_exchanges() {
    for (std::size_t id = 0; id < graph_.size(); ++id) {
      const auto sender = make_id<TaskId>(id);
      const std::optional<TaskId> receiver = graph_.receiver(sender);
      if (!receiver) continue;
      exchange_of_sender_[id] = exchange_of_receiver_[index(*receiver)] = static_cast<std::uint32_t>(exchanges_.size());
      exchanges_.push_back({sender, *receiver, graph_.transfer_time(sender)});
    }
  }

  [[nodiscard]] std::size_t end_of_stage(std::size_t stage) const {
    return index(schedule_.end_task(make_id<StageId>(stage)));
  }
  [[nodiscard]] std::size_t start_of_stage(std::size_t stage) const {
    return index(schedule_.first_task(make_id<StageId>(stage)));
  }
  /// The first task of the slot that contains `task`, and its end.
  [[nodiscard]] std::size_t slot_begin(std::size_t task) const {
    return index(pair_begin(schedule_, make_id<TaskId>(task)));
  }
  [[nodiscard]] std::size_t slot_end(std::size_t task) const {
    return index(pair_end(schedule_, make_id<TaskId>(task)));
  }

  /// The transfers of the batch that `stage` posts before slot `next`: sends of the slot before, receives of this one.
  template <class Visit>
  void visit_batch(std::size_t stage, Visit visit) const {
    const std::size_t next = stages_[stage].next;
    if (next > start_of_stage(stage))
      for (std::size_t task = slot_begin(next - 1); task < next; ++task)
        if (exchange_of_sender_[task] != none) visit(exchange_of_sender_[task]);
    if (next < end_of_stage(stage))
      for (std::size_t task = next; task < slot_end(next); ++task)
        if (exchange_of_receiver_[task] != none) visit(exchange_of_receiver_[task]);
  }

  void post_batch(std::size_t stage) {
    StageState& state = stages_[stage];
    const bool is_first = state.next == start_of_stage(stage);
    const SimTime ready = stage_ready_.empty() ? SimTime{} : stage_ready_[stage];
    const SimTime now = is_first ? ready : timeline_.tasks[state.next - 1].end;
    const TaskId before = is_first ? no_task : make_id<TaskId>(state.next - 1);
    state.batch_done = now;
    state.released_by = before;
    state.cause = is_first ? Cause::none : Cause::order;
    state.open = 0;
    visit_batch(stage, [&](std::uint32_t) { ++state.open; });
    if (state.open == 0) return go_on(stage);
    visit_batch(stage, [&](std::uint32_t id) {
      Exchange& exchange = exchanges_[id];
      if (exchange.posted == 0 || now > exchange.posted_at) {
        exchange.posted_at = now;
        exchange.posted_by = before;
      }
      if (++exchange.posted == 2) finish(exchange);
    });
  }

  /// Both ends have posted: the transfer runs, and an end continues if it was the last of its batch.
  void finish(const Exchange& exchange) {
    const std::size_t sender = index(exchange.sender);
    timeline_.transfers[sender] = {exchange.posted_at, exchange.posted_at + exchange.length};
    if (exchange.posted_at > timeline_.tasks[sender].end) timeline_.transfer_released_by[sender] = exchange.posted_by;
    const bool forward = schedule_.task(exchange.sender).pass == Pass::forward;
    done_at(index(schedule_.stage_of(exchange.sender)), exchange,
            forward ? Cause::send_activation : Cause::send_gradient);
    done_at(index(schedule_.stage_of(exchange.receiver)), exchange, forward ? Cause::activation : Cause::gradient);
  }

  void done_at(std::size_t stage, const Exchange& exchange, Cause cause) {
    StageState& state = stages_[stage];
    const SimTime end = timeline_.transfers[index(exchange.sender)].end;
    // Among transfers that end together, the lowest cause, then the lowest sender is recorded, so that the order of
    // visits does not matter.
    const bool tie = end == state.batch_done && state.cause != Cause::order && state.cause != Cause::none &&
                     std::pair{cause, exchange.sender} < std::pair{state.cause, state.released_by};
    if (end > state.batch_done || tie) {
      state.batch_done = end;
      state.released_by = exchange.sender;
      state.cause = cause;
    }
    if (--state.open == 0) go_on(stage);
  }

  void go_on(std::size_t stage) {
    if (stages_[stage].next == end_of_stage(stage))
      stages_[stage].finished = true;
    else
      ready_.push_back(stage);
  }

  void run_slot(std::size_t stage) {
    StageState& state = stages_[stage];
    const std::size_t first = state.next;
    SimTime start = state.batch_done;
    timeline_.released_by[first] = state.released_by;
    timeline_.cause[first] = state.cause;
    for (std::size_t task = first; task < slot_end(first); ++task) {
      if (task > first) {
        start = timeline_.tasks[first].end + durations_.pair_delay(timeline_.tasks[first].length());
        timeline_.released_by[task] = make_id<TaskId>(first);
        timeline_.cause[task] = Cause::pair;
      }
      timeline_.tasks[task] = {start, start + durations_[task]};
    }
    state.next = slot_end(first);
    post_batch(stage);
  }

  /// The first transfer of the stage's pending batch that its other end has not posted.
  [[nodiscard]] const Exchange& pending(std::size_t stage) const {
    std::uint32_t found = none;
    visit_batch(stage, [&](std::uint32_t id) {
      if (found == none && exchanges_[id].posted < 2) found = id;
    });
    PPSIM_ASSERT(found != none);
    return exchanges_[found];
  }

  [[nodiscard]] std::string describe(std::size_t stage, const Exchange& exchange) const {
    const bool sends = index(schedule_.stage_of(exchange.sender)) == stage;
    const bool at_end = stages_[stage].next == end_of_stage(stage);
    return fmt::format("stage {}, {}, waits to {} stage {}", stage,
                       at_end ? "at its end"
                              : fmt::format("before {}", to_string(schedule_.tasks()[stages_[stage].next])),
                       sends ? fmt::format("send {}'s output to", to_string(schedule_.task(exchange.sender)))
                             : fmt::format("receive {}'s input from", to_string(schedule_.task(exchange.receiver))),
                       index(schedule_.stage_of(sends ? exchange.receiver : exchange.sender)));
  }

  [[noreturn]] void report_deadlock(std::size_t stage) const {
    std::vector<bool> seen(stages_.size());
    const auto other_end = [&](std::size_t at) {
      const Exchange& exchange = pending(at);
      const std::size_t sender = index(schedule_.stage_of(exchange.sender));
      return sender == at ? index(schedule_.stage_of(exchange.receiver)) : sender;
    };
    for (; !seen[stage]; stage = other_end(stage)) seen[stage] = true;
    std::string chain;
    std::size_t at = stage;
    do {
      chain += chain.empty() ? "deadlock under 'blocking': " : "; ";
      chain += describe(at, pending(at));
      at = other_end(at);
    } while (at != stage);
    throw Error{ExitCode::no, Problem{graph_.place(), std::move(chain),
                                      "each stage waits for the next one listed: order tasks so that their sends and "
                                      "receives meet, or let transfers not block (`transfer` latency or link)"}};
  }

  const TaskGraph& graph_;
  const Schedule& schedule_;
  std::span<const SimTime> stage_ready_;
  Durations durations_;
  std::vector<Exchange> exchanges_;
  std::vector<std::uint32_t> exchange_of_sender_, exchange_of_receiver_;
  std::vector<StageState> stages_;
  std::vector<std::size_t> ready_;
  Timeline timeline_;
};

} // namespace

Timeline simulate_blocking(const TaskGraph& graph, std::span<const SimTime> stage_ready) {
  return BlockingSimulation{graph, stage_ready}.run();
}

} // namespace ppsim
