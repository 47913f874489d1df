// The sends and receives of a graph, and their check against its schedule.

#include "ppsim/base/call.hpp"
#include "ppsim/base/error.hpp"
#include "ppsim/operations/lowering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace ppsim {
namespace {

/// The default: if both directions share a communicator, the first one intended for that, because an order made for one
/// per direction may hang there.
const Lowering* default_lowering(const Streams& streams) {
  const bool shared = streams.communicators.value_or(Communicators::edge) != Communicators::edge;
  return *std::ranges::find(lowerings(), shared ? Communicators::group : Communicators::edge, &Lowering::communicators);
}

/// The two ends of one transfer.
struct Ends {
  TaskId sender{};
  TaskId receiver{};
};

/// Checks the operations of a schedule one by one, then what is missing.
class OperationCheck {
public:
  OperationCheck(const Schedule& schedule, std::string_view where)
      : schedule_{schedule}, index_{schedule, where}, where_{where}, sent_(schedule.size()),
        received_(schedule.size()) {}

  void check(const CommOrder& order) {
    for (const StageId stage : order.stage_ids()) {
      check_stop();
      const CommOp* before = nullptr;
      for (const CommOp& op : order.stage(stage)) {
        check(stage, op);
        if (before != nullptr && op.before < before->before)
          fault("{} of stage {} is after an operation that belongs later among its tasks", op, index(stage));
        if (op.joins && (before == nullptr || before->before != op.before))
          fault("{} of stage {} joins a group, but no operation stands right before it", op, index(stage));
        before = &op;
      }
    }
    check_nothing_is_missing();
    problems_.throw_if_any();
  }

private:
  [[nodiscard]] std::optional<Ends> ends(TaskId sender) const {
    if (index(sender) >= schedule_.size()) return std::nullopt;
    const Task& task = schedule_.task(sender);
    const std::size_t chunk = task.chunk_index;
    TaskId receiver = no_task;
    if (task.pass == Pass::forward && chunk + 1 < schedule_.shape().chunks())
      receiver = index_.forward(chunk + 1, index(task.microbatch));
    if (gives_gradient(task.pass) && chunk > 0) receiver = index_.backward(chunk - 1, index(task.microbatch));
    if (receiver == no_task || schedule_.stage_of(receiver) == schedule_.stage_of(sender)) return std::nullopt;
    return Ends{sender, receiver};
  }

  void check(StageId stage, const CommOp& op) {
    const std::optional<Ends> found = ends(op.sender);
    if (!found) return fault("{} of stage {} belongs to no transfer between two stages", op, index(stage));
    const TaskId acting = op.is_send ? found->sender : found->receiver;
    if (schedule_.stage_of(acting) != stage)
      return fault("{} is on stage {}, where its task does not run", op, index(stage));
    auto seen = (op.is_send ? sent_ : received_)[index(op.sender)];
    if (seen) return fault("{} appears twice on stage {}", op, index(stage));
    seen = true;
    check_place(stage, op, acting);
  }

  /// An operation must be on the correct side of its task and of the other half of its pair.
  void check_place(StageId stage, const CommOp& op, TaskId acting) {
    const std::size_t launched = index(schedule_.first_task(stage)) + op.before; // before this task
    if (op.before > schedule_.stage(stage).size())
      return fault("{} is after more tasks than stage {} has", op, index(stage));
    if (op.is_send && launched < index(pair_end(schedule_, acting)))
      fault("{} of stage {} is before the task or pair that makes its data", op, index(stage));
    if (!op.is_send && launched > index(pair_begin(schedule_, acting)))
      fault("{} of stage {} is after the task, or inside the pair, that needs its data", op, index(stage));
  }

  void check_nothing_is_missing() {
    for (std::size_t id = 0; id < schedule_.size(); ++id) {
      const auto sender = make_id<TaskId>(id);
      if (sent_[id] && received_[id]) continue;
      const std::optional<Ends> found = ends(sender);
      if (!found) continue;
      if (!sent_[id])
        fault("{} is missing on stage {}", {.sender = sender, .is_send = true}, index(schedule_.stage_of(sender)));
      if (!received_[id])
        fault("{} is missing on stage {}", {.sender = sender}, index(schedule_.stage_of(found->receiver)));
    }
  }

  /// `what` has placeholders for the operation and the stage.
  void fault(fmt::format_string<const std::string&, const std::size_t&> what, const CommOp& op,
             const std::size_t stage) {
    if (problems_.count() >= Problems::limit) return problems_.add({}, {});
    const std::string who = name(op);
    problems_.add(where_, fmt::format(what, who, stage),
                  "every transfer has one send after its task and one receive before the task that needs it");
  }
  [[nodiscard]] std::string name(const CommOp& op) const {
    if (index(op.sender) >= schedule_.size()) return fmt::format("the operation for task number {}", index(op.sender));
    return fmt::format("the {} of {}'s output", op.is_send ? "send" : "receive", to_string(schedule_.task(op.sender)));
  }

  const Schedule& schedule_;
  ScheduleIndex index_;
  std::string where_;
  std::vector<bool> sent_, received_; ///< by sender
  Problems problems_;
};

} // namespace

const Lowering* lowering_of(const TaskGraph& graph) {
  const Streams& streams = graph.scenario().network.streams;
  if (streams.lowering.empty())
    return graph.schedule().communications() != nullptr ? nullptr : default_lowering(streams);
  const Lowering* const found = find_lowering(streams.lowering);
  PPSIM_ASSERT(found != nullptr); // the name was checked with the options
  return found;
}

CommOrder operations_of(const TaskGraph& graph) {
  const Lowering* const lowering = lowering_of(graph);
  if (lowering == nullptr) return *graph.schedule().communications();
  return lowering->place(graph, graph.scenario().network.streams.overlap);
}

Communicators communicators_of(const TaskGraph& graph) {
  const Streams& streams = graph.scenario().network.streams;
  if (streams.communicators) return *streams.communicators;
  const Lowering* const lowering = lowering_of(graph);
  if (lowering == nullptr) return Communicators::group;
  const Shape& shape = graph.schedule().shape();
  if (!lowering->takes_overlap || streams.overlap == Overlap::none || shape.vpp == 1) return lowering->communicators;
  return shape.stages == 2 ? lowering->overlapped_by_two : lowering->overlapped;
}

void check_operations(const Schedule& schedule, const CommOrder& order, std::string_view where) {
  if (order.stages() != schedule.shape().stages)
    throw Error{ExitCode::bad_input, Problem{std::string{where},
                                             fmt::format("has sends and receives for {} stages, but tasks for {}",
                                                         order.stages(), schedule.shape().stages),
                                             "every stage has its own"}};
  OperationCheck{schedule, where}.check(order);
}

std::string to_string(const Schedule& schedule, const CommOp& op) {
  const Task& sender = schedule.task(op.sender);
  const bool forward = sender.pass == Pass::forward;
  const int receiver = int{sender.chunk_index} + (forward ? 1 : -1);
  return fmt::format("{}{}_{}{}", op.is_send ? int{sender.chunk_index} : receiver, op.is_send ? "SEND" : "RECV",
                     forward ? 'F' : 'B', index(sender.microbatch));
}

} // namespace ppsim
