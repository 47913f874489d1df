#include "ppsim/engine/hang.hpp"

#include "ppsim/base/wait_graph.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/graph/detail/dag.hpp"
#include "ppsim/operations/detail/stream_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "eager.hpp"

namespace ppsim {
namespace {

using Node = WaitGraph::Node;

/// Why something waits.
enum class Why : std::uint8_t {
  order,  ///< a task waits for the one before it on its stage
  launch, ///< the launch of a unit waits for the task before it
  behind, ///< a unit waits for the unit before it on its communicator
  front,  ///< a unit is done after it reached the front
  member, ///< a unit is done after its own transfers
  meet,   ///< a transfer waits until the units of both sides are in front
  held    ///< a task waits until a unit is done
};
constexpr bool is_light(std::uint8_t why) {
  const auto reason = static_cast<Why>(why);
  return reason == Why::order || reason == Why::front || reason == Why::member;
}

/// By task, the consumer of its output on another stage; otherwise no_task.
std::vector<TaskId> consumers_of(const Schedule& schedule, const CommOrder& order) {
  const ScheduleIndex where{schedule};
  std::vector<TaskId> consumers(schedule.size(), no_task);
  for (const CommOp& op : order.ops()) {
    const Task& sender = schedule.task(op.sender);
    const std::size_t microbatch = index(sender.microbatch);
    consumers[index(op.sender)] = sender.pass == Pass::forward
                                      ? where.forward(sender.chunk_index + std::size_t{1}, microbatch)
                                      : where.backward(sender.chunk_index - std::size_t{1}, microbatch);
  }
  return consumers;
}

/// The wait graph: a node per task (a pair is one, by its first half), per unit reaching the front, per unit being
/// done, and per transfer.
class HangGraph {
public:
  HangGraph(const Schedule& schedule, const CommOrder& order, Communicators communicators,
            const std::vector<bool>& eager, const std::vector<TaskId>& consumers)
      : schedule_{schedule}, order_{order}, plan_{plan_streams(schedule, order, communicators)}, eager_{eager},
        consumers_{consumers}, tasks_{static_cast<Node>(schedule.size())}, units_{static_cast<Node>(plan_.size())} {
    std::vector<WaitGraph::Listed> listed;
    listed.reserve(2 * schedule.size() + 6 * order.size());
    list_tasks(listed);
    for (std::uint32_t unit = 0; unit < units_; ++unit) list_unit(unit, listed);
    graph_ = WaitGraph{2 * std::size_t{tasks_} + 2 * std::size_t{units_}, listed};
  }

  [[nodiscard]] const WaitGraph& graph() const { return graph_; }
  [[nodiscard]] std::size_t stuck() const {
    const std::vector<bool> stuck = graph_.stuck();
    return static_cast<std::size_t>(std::ranges::count(stuck, true));
  }
  [[nodiscard]] bool hangs() const { return !graph_.runs_to_its_end(); }

  [[nodiscard]] std::uint32_t unit(Node node) const { return (node - tasks_) % units_; }
  [[nodiscard]] TaskId sender(Node transfer) const { return TaskId{transfer - tasks_ - 2 * units_}; }
  /// Position in CommOrder::ops() of the member of `unit` that is an end of the transfer of `sender`.
  [[nodiscard]] std::size_t end_in(std::uint32_t unit, TaskId sender) const {
    return ppsim::end_in(plan_, order_, unit, sender);
  }
  /// The same for the one that `task` waits for: its input, if that is in the unit.
  [[nodiscard]] std::size_t awaited(std::uint32_t unit, TaskId task) const {
    const auto members = plan_.of(unit);
    const auto feeds = [&](std::uint32_t position) {
      const CommOp& op = order_.ops()[position];
      return !op.is_send && slot_of(consumers_[index(op.sender)]) == index(task);
    };
    if (const auto input = std::ranges::find_if(members, feeds); input != members.end()) return *input;
    return *std::ranges::find_if(members, [&](std::uint32_t position) {
      const CommOp& op = order_.ops()[position];
      return op.holds && held_by(schedule_, plan_.units[unit], op) == index(task);
    });
  }
  [[nodiscard]] std::size_t first_of(std::uint32_t unit) const { return plan_.of(unit).front(); }
  [[nodiscard]] std::size_t stage_of(std::uint32_t unit) const { return plan_.units[unit].stage; }

private:
  [[nodiscard]] Node front(std::uint32_t unit) const { return tasks_ + unit; }
  [[nodiscard]] Node done(std::uint32_t unit) const { return tasks_ + units_ + unit; }
  [[nodiscard]] Node transfer(TaskId sender) const { return tasks_ + 2 * units_ + static_cast<Node>(index(sender)); }
  /// The task, or the first half of its pair.
  [[nodiscard]] std::size_t slot_of(TaskId task) const { return index(pair_begin(schedule_, task)); }

  static void list(std::vector<WaitGraph::Listed>& listed, std::size_t from, std::size_t to, Why why) {
    listed.push_back({static_cast<Node>(from), {static_cast<Node>(to), static_cast<std::uint8_t>(why)}});
  }

  void list_tasks(std::vector<WaitGraph::Listed>& listed) const {
    for (const StageId stage : schedule_.stage_ids()) {
      const std::size_t end = index(schedule_.end_task(stage));
      std::size_t task = index(schedule_.first_task(stage));
      while (task < end) {
        const std::size_t next = index(pair_end(schedule_, make_id<TaskId>(task)));
        if (next < end) list(listed, task, next, Why::order);
        task = next;
      }
    }
  }

  void list_unit(std::uint32_t number, std::vector<WaitGraph::Listed>& listed) const {
    const StreamUnit& unit = plan_.units[number];
    const auto stage = make_id<StageId>(unit.stage);
    list(listed, front(number), done(number), Why::front);
    if (unit.behind > index(schedule_.first_task(stage)))
      list(listed, slot_of(TaskId{unit.behind - 1}), front(number), Why::launch);
    if (unit.next != StreamPlan::none) list(listed, done(number), front(unit.next), Why::behind);
    for (const std::uint32_t position : plan_.of(number)) {
      const CommOp& op = order_.ops()[position];
      if (op.is_send || !eager_[index(op.sender)]) list(listed, front(number), transfer(op.sender), Why::meet);
      list(listed, transfer(op.sender), done(number), Why::member);
      if (!op.is_send) list(listed, done(number), slot_of(consumers_[index(op.sender)]), Why::held);
      const std::uint32_t held = held_by(schedule_, unit, op);
      if (op.holds && held < index(schedule_.end_task(stage))) list(listed, done(number), held, Why::held);
    }
  }

  const Schedule& schedule_;
  const CommOrder& order_;
  StreamPlan plan_;
  const std::vector<bool>& eager_;
  const std::vector<TaskId>& consumers_;
  Node tasks_;
  Node units_;
  WaitGraph graph_;
};

/// A cycle as it is reported: one sentence per wait; consecutive steps along the order of a stage share one.
class CycleDescription {
public:
  CycleDescription(const Schedule& schedule, const CommOrder& order, const HangGraph& graph)
      : schedule_{schedule}, order_{order}, graph_{graph} {}

  /// An operation queued after another on a communicator: positions in CommOrder::ops().
  struct CommunicatorWait {
    std::size_t operation = 0;
    std::size_t before = 0;
  };

  void describe(std::vector<Waiting> cycle) {
    // Starts with an operation that waits for the other side, or, if none leads to another stage, with a task.
    const auto meets = [](const Waiting& wait) { return static_cast<Why>(wait.why) == Why::meet; };
    if (const auto meeting = std::ranges::find_if(cycle, meets); meeting != cycle.end()) {
      std::ranges::rotate(cycle, meeting);
      std::ranges::rotate(cycle, cycle.end() - 1); // with the unit of the transfer
      enter(graph_.end_in(graph_.unit(cycle[0].node), graph_.sender(cycle[0].on)));
    } else {
      const auto holds = [](const Waiting& wait) { return static_cast<Why>(wait.why) == Why::held; };
      std::ranges::rotate(cycle, std::ranges::find_if(cycle, holds));
    }
    for (std::size_t i = 0; i < cycle.size(); ++i) add(cycle[i], cycle[(i + 1) % cycle.size()]);
  }
  [[nodiscard]] std::vector<std::string>& sentences() { return sentences_; }
  [[nodiscard]] const std::vector<CommunicatorWait>& behind() const { return behind_; }

private:
  void enter(std::size_t operation) { operation_ = operation; }
  [[nodiscard]] std::string name(std::size_t operation) const { return to_string(schedule_, order_.ops()[operation]); }
  [[nodiscard]] std::string name(TaskId task) const { return to_string(schedule_.task(task)); }

  /// The member of the unit of `wait.on` that the next step is about.
  [[nodiscard]] std::size_t member(const Waiting& next, std::size_t otherwise) const {
    const std::uint32_t unit = graph_.unit(next.node);
    return static_cast<Why>(next.why) == Why::member ? graph_.end_in(unit, graph_.sender(next.on)) : otherwise;
  }

  void add(const Waiting& wait, const Waiting& next) {
    switch (static_cast<Why>(wait.why)) {
    case Why::front:
    case Why::member:
      return; // the next sentence says it
    case Why::meet:
      return meet(graph_.unit(wait.on), graph_.sender(wait.node));
    case Why::behind:
      return stand_behind(member(next, graph_.first_of(graph_.unit(wait.on))), graph_.unit(wait.node));
    case Why::launch:
      subject_ = name(operation_);
      return stand_after(graph_.stage_of(graph_.unit(wait.node)), TaskId{wait.on}, false);
    case Why::order:
      return stand_after(stage_, TaskId{wait.on}, true);
    case Why::held:
      return need(TaskId{wait.node}, graph_.unit(wait.on), next);
    }
  }

  void meet(std::uint32_t other, TaskId sender) {
    const std::size_t partner = graph_.end_in(other, sender);
    sentences_.push_back(fmt::format("stage {}: {} waits for stage {} to come to {}", stage_of(order_, operation_),
                                     name(operation_), graph_.stage_of(other), name(partner)));
    enter(partner);
  }

  void stand_behind(std::size_t before, std::uint32_t unit) {
    sentences_.push_back(fmt::format("stage {}: {} waits for {}, which is before it on the same communicator",
                                     graph_.stage_of(unit), name(operation_), name(before)));
    behind_.push_back({operation_, before});
    enter(before);
  }

  /// Describes what follows `task` on its stage; names the last task.
  void stand_after(std::size_t stage, TaskId task, bool further) {
    if (further) sentences_.pop_back();
    stage_ = stage;
    sentences_.push_back(fmt::format("stage {}: {} waits for {}, which is before it", stage, subject_, name(task)));
  }

  void need(TaskId task, std::uint32_t unit, const Waiting& next) {
    const std::size_t awaited = graph_.awaited(unit, task);
    const std::size_t last = member(next, awaited);
    const bool is_input = !order_.ops()[awaited].is_send;
    const std::string group =
        last == awaited ? "" : fmt::format(", which is done together with {} of its group", name(last));
    sentences_.push_back(fmt::format("stage {}: {} waits for {}{}{}", graph_.stage_of(unit), name(task),
                                     is_input ? "its input, " : "its stage's own ", name(awaited), group));
    enter(last);
  }

  const Schedule& schedule_;
  const CommOrder& order_;
  const HangGraph& graph_;
  std::size_t operation_ = 0; ///< of the next sentence
  std::string subject_;       ///< of a sentence about the order of a stage
  std::size_t stage_ = 0;     ///< and its stage
  std::vector<std::string> sentences_;
  std::vector<CommunicatorWait> behind_;
};

/// Between two stages, on one communicator, each group of one stage must match one group of the other.
class GroupCheck {
public:
  GroupCheck(const Schedule& schedule, const CommOrder& order, Communicators communicators)
      : schedule_{schedule}, order_{order}, communicators_{communicators}, group_of_(order.size()) {
    for (std::uint32_t i = 0; i < order.size(); ++i) group_of_[i] = order.ops()[i].joins ? group_of_[i - 1] : i;
  }

  [[nodiscard]] std::optional<std::string> run() {
    std::vector<std::uint32_t> sent(schedule_.size(), StreamPlan::none); // by sender: position in CommOrder::ops()
    for (std::uint32_t i = 0; i < order_.size(); ++i)
      if (order_.ops()[i].is_send) sent[index(order_.ops()[i].sender)] = i;
    for (std::uint32_t stage = 0; stage < order_.stages(); ++stage)
      for (std::size_t i = order_.first(StageId{stage}); i < order_.first(StageId{stage + 1}); ++i) {
        if (order_.ops()[i].is_send) continue;
        const auto from = static_cast<std::uint32_t>(index(schedule_.stage_of(order_.ops()[i].sender)));
        const End send{from, sent[index(order_.ops()[i].sender)]};
        const End receive{stage, static_cast<std::uint32_t>(i)};
        if (auto found = compare(send, receive, true)) return found;
        if (auto found = compare(receive, send, false)) return found;
      }
    return std::nullopt;
  }

private:
  /// An end of a transfer: its stage, and its position in CommOrder::ops().
  struct End {
    std::uint32_t stage = 0;
    std::uint32_t operation = 0;
  };

  std::optional<std::string> compare(const End& own, const End& other, bool sends) {
    const Pass pass = schedule_.task(order_.ops()[own.operation].sender).pass;
    const auto key = std::tuple{group_of_[own.operation], other.stage,
                                communicator_number(communicators_, pass, other.stage, sends)};
    const auto [found, is_new] = first_.try_emplace(key, std::pair{own.operation, other.operation});
    const auto [own_first, other_first] = found->second;
    if (is_new || group_of_[other_first] == group_of_[other.operation]) return std::nullopt;
    const auto [first, second] = std::minmax(own_first, own.operation);
    return fmt::format("stage {} launches {} and {} as one group, stage {} launches their other ends separately: NCCL "
                       "does not define what happens",
                       own.stage, to_string(schedule_, order_.ops()[first]), to_string(schedule_, order_.ops()[second]),
                       other.stage);
  }

  const Schedule& schedule_;
  const CommOrder& order_;
  Communicators communicators_;
  std::vector<std::uint32_t> group_of_; ///< by operation: the first operation of its group
  /// By group, the other stage and the communicator: the ends of the first transfer between them.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::size_t>, std::pair<std::uint32_t, std::uint32_t>> first_;
};

/// Searches for a change with which the order runs to its end.
class FixSearch {
public:
  FixSearch(const Schedule& schedule, const CommOrder& order, Communicators communicators,
            const std::vector<bool>& eager, const std::vector<TaskId>& consumers, std::size_t stuck)
      : schedule_{schedule}, order_{order}, communicators_{communicators}, eager_{eager}, consumers_{consumers},
        stuck_{stuck} {}

  [[nodiscard]] std::string fix(const std::vector<CycleDescription::CommunicatorWait>& waits) const {
    constexpr std::size_t most_tried = 16;
    std::vector<Change> changes;
    for (const bool neighbours :
         {true, false}) // operations of one stage between the same two tasks are easiest to swap
      for (std::size_t i = 0; i < std::min(waits.size(), most_tried); ++i) add_changes(waits[i], neighbours, changes);
    std::string partly;
    for (const Change& change : changes) {
      const CommOrder order = changed(change);
      if (find_uneven_groups(schedule_, order, communicators_)) continue;
      const std::size_t left = stuck_after(order, communicators_);
      if (left == 0) return change.words;
      if (left < stuck_ && partly.empty()) partly = change.words + " (check again for the next hang)";
    }
    if (communicators_ != Communicators::edge && stuck_after(order_, Communicators::edge) == 0)
      return fmt::format("{}{}use `p2p` edge: two communicators for each pair of stages, one per direction", partly,
                         partly.empty() ? "" : "; or ");
    return partly.empty() ? "'ppsim place' searches for another order of sends and receives" : partly;
  }

private:
  /// Replaces the operations from `position`. The order is only built when it is tried, because it may have millions of
  /// operations.
  struct Change {
    std::size_t position = 0;
    CommOp first, second;
    std::string words;
  };

  [[nodiscard]] std::size_t stuck_after(const CommOrder& order, Communicators communicators) const {
    return HangGraph{schedule_, order, communicators, eager_, consumers_}.stuck();
  }

  /// Adds swaps and a group of two consecutive operations.
  void add_changes(const CycleDescription::CommunicatorWait& wait, bool neighbours,
                   std::vector<Change>& changes) const {
    const CommOp& before = order_.ops()[wait.before];
    const CommOp& operation = order_.ops()[wait.operation];
    if (wait.before + 1 != wait.operation || operation.joins) return;
    if ((before.before == operation.before) != neighbours) return;
    const std::size_t stage = stage_of(order_, wait.operation);
    const std::string first = to_string(schedule_, before);
    const std::string second = to_string(schedule_, operation);
    const auto add = [&](const CommOp& one, const CommOp& other, std::string words) {
      if (fits(one, stage) && fits(other, stage)) changes.push_back({wait.before, one, other, std::move(words)});
    };
    const bool alone = !before.joins && !is_joined(wait.operation + 1, stage);
    if (alone && neighbours) add(operation, before, fmt::format("swap {} and {} on stage {}", first, second, stage));
    if (alone && !neighbours) {
      add(at(operation, before.before), before, fmt::format("move {} before {} on stage {}", second, first, stage));
      add(operation, at(before, operation.before), fmt::format("move {} after {} on stage {}", first, second, stage));
    }
    for (const std::uint32_t place : {before.before, operation.before}) {
      CommOp joined = at(operation, place);
      joined.joins = true;
      add(at(before, place), joined,
          fmt::format("launch {} and {} of stage {} as one group, ({};{})BATCH_P2P", first, second, stage, first,
                      second));
      if (neighbours) break;
    }
  }

  [[nodiscard]] static CommOp at(CommOp op, std::uint32_t place) {
    op.before = place;
    return op;
  }
  [[nodiscard]] bool is_joined(std::size_t operation, std::size_t stage) const {
    return operation < order_.first(make_id<StageId>(stage + 1)) && order_.ops()[operation].joins;
  }

  /// Whether `op` is launched after its content is made and before its content is needed, as check_operations()
  /// requires.
  [[nodiscard]] bool fits(const CommOp& op, std::size_t stage) const {
    const std::size_t place = index(schedule_.first_task(make_id<StageId>(stage))) + op.before;
    return op.is_send ? place >= index(pair_end(schedule_, op.sender))
                      : place <= index(pair_begin(schedule_, consumers_[index(op.sender)]));
  }

  [[nodiscard]] CommOrder changed(const Change& change) const {
    std::vector<CommOp> ops{order_.ops().begin(), order_.ops().end()};
    ops[change.position] = change.first;
    ops[change.position + 1] = change.second;
    return {std::move(ops), order_.offsets()};
  }

  const Schedule& schedule_;
  const CommOrder& order_;
  Communicators communicators_;
  const std::vector<bool>& eager_;
  const std::vector<TaskId>& consumers_;
  std::size_t stuck_;
};

} // namespace

std::optional<std::string> find_mismatch(const Schedule& schedule, const CommOrder& order,
                                         Communicators communicators) {
  std::vector<std::uint32_t> receiver_stage(schedule.size(), 0);
  for (const StageId stage : order.stage_ids())
    for (const CommOp& op : order.stage(stage))
      if (!op.is_send) receiver_stage[index(op.sender)] = static_cast<std::uint32_t>(stage);
  using Transfer = std::pair<std::tuple<std::uint64_t, std::uint64_t, bool>, TaskId>; // from, to, on which communicator
  std::vector<Transfer> sent;
  std::vector<Transfer> received;
  for (const StageId stage : order.stage_ids())
    for (const CommOp& op : order.stage(stage)) {
      const std::uint64_t from = index(op.is_send ? stage : schedule.stage_of(op.sender));
      const std::uint64_t to = op.is_send ? receiver_stage[index(op.sender)] : index(stage);
      (op.is_send ? sent : received)
          .push_back({{from, to, is_apart(communicators, schedule.task(op.sender).pass)}, op.sender});
    }
  std::ranges::stable_sort(sent, {}, &Transfer::first);
  std::ranges::stable_sort(received, {}, &Transfer::first);
  const auto [sends, receives] = std::ranges::mismatch(sent, received);
  if (sends == sent.end() || receives == received.end()) return std::nullopt;
  const auto [from, to, apart] = sends->first;
  return fmt::format(
      "stage {} sends {}, but stage {} receives {}: NCCL matches them in order, so the data would go astray", from,
      to_string(schedule, CommOp{.sender = sends->second, .is_send = true}), to,
      to_string(schedule, CommOp{.sender = receives->second}));
}

std::optional<std::string> find_uneven_groups(const Schedule& schedule, const CommOrder& order,
                                              Communicators communicators) {
  return GroupCheck{schedule, order, communicators}.run();
}

std::optional<Hang> find_hang(const Schedule& schedule, const CommOrder& order, Communicators communicators,
                              const std::vector<bool>& eager) {
  const std::vector<TaskId> consumers = consumers_of(schedule, order);
  const HangGraph graph{schedule, order, communicators, eager, consumers};
  if (!graph.hangs()) return std::nullopt;
  CycleDescription description{schedule, order, graph};
  description.describe(shortest_cycle(graph.graph(), is_light));
  return Hang{.cycle = std::move(description.sentences()),
              .fix =
                  FixSearch{schedule, order, communicators, eager, consumers, graph.stuck()}.fix(description.behind())};
}

std::optional<Hang> find_hang(const Schedule& schedule, const CommOrder& order, Communicators communicators,
                              bool eager) {
  return find_hang(schedule, order, communicators, std::vector<bool>(schedule.size(), eager));
}

std::optional<Hang> find_hang(const TaskGraph& graph, const CommOrder& order, Communicators communicators) {
  std::vector<bool> eager(graph.size());
  for (const CommOp& op : order.ops()) eager[index(op.sender)] = is_eager(graph, op.sender);
  return find_hang(graph.schedule(), order, communicators, eager);
}

bool is_eager(const TaskGraph& graph, TaskId sender) {
  const Network& network = graph.scenario().network;
  return network.boundary_bytes[Dag::boundary_of(graph.schedule().task(sender))] < network.streams.eager_below;
}

std::string in_a_line(const Hang& hang) {
  constexpr std::size_t most_said = 16;
  const std::size_t said = std::min(hang.cycle.size(), most_said);
  std::string line = fmt::format("deadlock: {}", joined(std::span{hang.cycle}.first(said), "; "));
  if (hang.cycle.size() > said)
    line += fmt::format("; and so on through {} more, back to the first", hang.cycle.size() - said);
  return line;
}

} // namespace ppsim
