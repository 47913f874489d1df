#include "workload_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace ppsim::traces {
namespace {

/// Makes the nodes of a graph, stage by stage.
class NodeMaker {
public:
  explicit NodeMaker(const TaskGraph& graph)
      : graph_{graph}, schedule_{graph.schedule()}, sender_of_(schedule_.size(), no_task) {
    for (std::size_t id = 0; id < schedule_.size(); ++id)
      if (const auto receiver = graph.receiver(make_id<TaskId>(id))) sender_of_[index(*receiver)] = make_id<TaskId>(id);
  }

  std::vector<WorkloadNode> of_stage(StageId stage) {
    nodes_ = {};
    before_.reset();
    const std::size_t end = index(schedule_.end_task(stage));
    for (std::size_t id = index(schedule_.first_task(stage)); id < end;) id += add(id);
    return std::move(nodes_);
  }

private:
  /// Adds a task, or an overlapped pair as one node, with its receives before and its sends after. Returns the number
  /// of tasks added.
  std::size_t add(std::size_t id) {
    const bool pair = schedule_.tasks()[id].pairing == Pairing::first;
    const bool one_piece = pair && graph_.scenario().pair.kind != PairRule::Kind::serial;
    std::vector<std::size_t> inputs;
    if (before_) inputs.push_back(*before_);
    // Inputs of both halves of a pair must arrive before the pair starts.
    for (std::size_t half = id; half < id + (pair ? 2 : 1); ++half)
      if (schedule_.tasks()[half].pairing != Pairing::second || half != id)
        if (const TaskId sender = sender_of_[half]; sender != no_task)
          inputs.push_back(add_side(WorkloadKind::receive, schedule_.stage_of(sender), sender, half, {}));
    const std::size_t tasks = one_piece ? 2 : 1;
    before_ = nodes_.size();
    nodes_.push_back({.kind = WorkloadKind::compute,
                      .name = one_piece ? fmt::format("({};{})OVERLAP_F_B", to_string(schedule_.tasks()[id]),
                                                      to_string(schedule_.tasks()[id + 1]))
                                        : to_string(schedule_.tasks()[id]),
                      .duration = graph_.duration(make_id<TaskId>(id)),
                      .after = std::move(inputs)});
    for (std::size_t half = id; half < id + tasks; ++half)
      if (const auto receiver = graph_.receiver(make_id<TaskId>(half)))
        add_side(WorkloadKind::send, schedule_.stage_of(*receiver), make_id<TaskId>(half), half, {*before_});
    return tasks;
  }

  /// One side of the transfer that `sender` begins, named after the task on this side; returns its position.
  std::size_t add_side(WorkloadKind kind, StageId peer, TaskId sender, std::size_t task,
                       std::vector<std::size_t> after) {
    const Task& here = schedule_.tasks()[task];
    nodes_.push_back({.kind = kind,
                      .name = fmt::format("{}{}_{}{}", here.chunk_index, kind == WorkloadKind::send ? "SEND" : "RECV",
                                          here.pass == Pass::forward ? 'F' : 'B', index(here.microbatch)),
                      .peer = index(peer),
                      .tag = index(sender),
                      .bytes = std::max(graph_.transfer_bytes(sender), Bytes{1}),
                      .after = std::move(after)});
    return nodes_.size() - 1;
  }

  const TaskGraph& graph_;
  const Schedule& schedule_;
  std::vector<TaskId> sender_of_;     ///< by receiver
  std::vector<WorkloadNode> nodes_;   ///< of the stage at hand
  std::optional<std::size_t> before_; ///< the node of the task before on the stage
};

} // namespace

std::vector<std::vector<WorkloadNode>> workload_of(const TaskGraph& graph) {
  NodeMaker maker{graph};
  std::vector<std::vector<WorkloadNode>> ranks;
  for (const StageId stage : graph.schedule().stage_ids()) ranks.push_back(maker.of_stage(stage));
  return ranks;
}

} // namespace ppsim::traces
