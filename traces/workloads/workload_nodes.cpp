#include "workload_nodes.hpp"

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace ppsim::traces {
namespace {

constexpr std::size_t nobody = static_cast<std::size_t>(-1);

/// Makes the nodes of a graph, stage by stage.
class NodeMaker {
public:
  explicit NodeMaker(const TaskGraph& graph)
      : graph_{graph}, schedule_{graph.schedule()}, sender_of_(schedule_.size(), no_task) {
    for (std::size_t id = 0; id < schedule_.size(); ++id)
      if (const auto receiver = graph.receiver(make_id<TaskId>(id))) sender_of_[index(*receiver)] = make_id<TaskId>(id);
  }

  Workload make() {
    workload_.ranks = schedule_.shape().stages;
    for (const StageId stage : schedule_.stage_ids()) {
      before_ = nobody;
      const std::size_t end = index(schedule_.end_task(stage));
      for (std::size_t id = index(schedule_.first_task(stage)); id < end;)
        id += add(static_cast<std::uint32_t>(stage), id);
    }
    return std::move(workload_);
  }

private:
  /// Adds a task, or a pair that runs in one piece; with what it receives before and what it sends behind. Returns how
  /// many tasks that was.
  std::size_t add(std::uint32_t stage, std::size_t id) {
    const bool pair = schedule_.tasks()[id].pairing == Pairing::first;
    const bool one_piece = pair && graph_.scenario().pair.kind != PairRule::Kind::serial;
    std::vector<std::size_t> inputs;
    if (before_ != nobody) inputs.push_back(before_);
    // What either half of a pair needs has to be there before the pair starts.
    for (std::size_t half = id; half < id + (pair ? 2 : 1); ++half)
      if (schedule_.tasks()[half].pairing != Pairing::second || half != id)
        if (const TaskId sender = sender_of_[half]; sender != no_task)
          inputs.push_back(add_side(WorkloadKind::receive, stage, schedule_.stage_of(sender), sender, half, {}));
    const std::size_t tasks = one_piece ? 2 : 1;
    before_ = workload_.nodes.size();
    workload_.nodes.push_back({.kind = WorkloadKind::compute,
                               .rank = stage,
                               .name = one_piece ? fmt::format("({};{})OVERLAP_F_B", to_string(schedule_.tasks()[id]),
                                                               to_string(schedule_.tasks()[id + 1]))
                                                 : to_string(schedule_.tasks()[id]),
                               .duration = graph_.duration(make_id<TaskId>(id)),
                               .after = std::move(inputs)});
    for (std::size_t half = id; half < id + tasks; ++half)
      if (const auto receiver = graph_.receiver(make_id<TaskId>(half)))
        add_side(WorkloadKind::send, stage, schedule_.stage_of(*receiver), make_id<TaskId>(half), half, {before_});
    return tasks;
  }

  /// One side of the transfer that `sender` begins, named after the task on this side.
  std::size_t add_side(WorkloadKind kind, std::uint32_t stage, StageId peer, TaskId sender, std::size_t task,
                       std::vector<std::size_t> after) {
    const Task& here = schedule_.tasks()[task];
    workload_.nodes.push_back(
        {.kind = kind,
         .rank = stage,
         .name = fmt::format("{}{}_{}{}", here.chunk_index, kind == WorkloadKind::send ? "SEND" : "RECV",
                             here.pass == Pass::forward ? 'F' : 'B', index(here.microbatch)),
         .peer = static_cast<std::uint32_t>(index(peer)),
         .tag = index(sender),
         .bytes = std::max(graph_.transfer_bytes(sender), Bytes{1}),
         .after = std::move(after)});
    return workload_.nodes.size() - 1;
  }

  const TaskGraph& graph_;
  const Schedule& schedule_;
  std::vector<TaskId> sender_of_; ///< by receiver
  std::size_t before_ = nobody;   ///< the node of the task before on the stage
  Workload workload_;
};

/// What both sides of a transfer agree on: source, destination, tag and bytes.
auto ends_of(const WorkloadNode& node) {
  const bool sends = node.kind == WorkloadKind::send;
  return std::tuple{sends ? node.rank : node.peer, sends ? node.peer : node.rank, node.tag, node.bytes.count()};
}

[[noreturn]] void refuse_alone(const WorkloadNode& node, std::string_view where) {
  const auto [from, to, tag, bytes] = ends_of(node);
  const bool sends = node.kind == WorkloadKind::send;
  throw Error{ExitCode::bad_input,
              {std::string{where},
               fmt::format("the {} of {} bytes from rank {} to rank {} with tag {} has no {} on the other side",
                           sends ? "send" : "receive", bytes, from, to, tag, sends ? "receive" : "send"),
               "give both the same source, destination, tag and size"}};
}

} // namespace

Workload workload_of(const TaskGraph& graph) {
  return NodeMaker{graph}.make();
}

void match_transfers(Workload& workload, std::string_view where) {
  const std::vector<WorkloadNode>& nodes = workload.nodes;
  workload.partner.resize(nodes.size());
  std::vector<std::size_t> sends;
  std::vector<std::size_t> receives;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    workload.partner[i] = i;
    if (nodes[i].kind == WorkloadKind::send) sends.push_back(i);
    if (nodes[i].kind == WorkloadKind::receive) receives.push_back(i);
  }
  const auto key = [&](std::size_t i) { return ends_of(nodes[i]); };
  std::ranges::sort(sends, {}, key);
  std::ranges::sort(receives, {}, key);
  for (std::size_t i = 0; i < std::max(sends.size(), receives.size()); ++i) {
    if (i < sends.size() && i < receives.size() && key(sends[i]) == key(receives[i])) {
      workload.partner[sends[i]] = receives[i];
      workload.partner[receives[i]] = sends[i];
      continue;
    }
    const bool send_is_alone = i >= receives.size() || (i < sends.size() && key(sends[i]) < key(receives[i]));
    refuse_alone(nodes[send_is_alone ? sends[i] : receives[i]], where);
  }
}

} // namespace ppsim::traces
