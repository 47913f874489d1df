#pragma once
// How a stage's memory changes along its order. Only this file defines the lifetime of activations.

#include "ppsim/graph/timeline.hpp"

#include <algorithm>
#include <functional>
#include <queue>

namespace ppsim {

/// The number of parameter versions that `stage` keeps: one, or without a flush one per active microbatch of one of its
/// chunks (weight stashing: Harlap et al., arXiv 1806.03377, section 3.3).
[[nodiscard]] std::size_t weight_versions(const TaskGraph& graph, const Timeline& timeline, StageId stage);
/// Parameters (of all versions), gradients and optimizer state of the chunks that `stage` runs.
[[nodiscard]] Bytes static_bytes(const TaskGraph& graph, StageId stage, std::size_t versions);

/// The bytes of one activation in each phase.
struct ActivationBytes {
  Bytes kept;       ///< from the start of F
  Bytes output;     ///< the part that is freed after it was sent
  Bytes restored;   ///< from the start of B or I: what is recomputed; for B, the most at a time
  Bytes for_weight; ///< what remains after the end of I
  [[nodiscard]] Bytes in_backward() const { return kept - output + restored; }
};

/// The activation that `task` makes or uses.
[[nodiscard]] inline ActivationBytes activation_bytes(const TaskGraph& graph, TaskId id, const Task& task) {
  const Scenario& scenario = graph.scenario();
  const std::size_t chunk = task.chunk_index;
  const bool recomputed = scenario.recompute.is_on() && graph.is_recomputed(id);
  ActivationBytes bytes;
  bytes.kept = scenario.memory.activation[chunk];
  if (recomputed) {
    bytes.kept = scenario.recompute.checkpoint[chunk];
    bytes.restored = scenario.memory.activation[chunk] - bytes.kept;
    if (!scenario.recompute.restored.empty() && task.pass == Pass::backward)
      bytes.restored = std::min(bytes.restored, scenario.recompute.restored[chunk]);
  }
  // Full recomputation keeps the chunk's input, which does not include the output.
  const bool keeps_output = !recomputed || scenario.recompute.kind == RecomputeKind::selective;
  if (scenario.memory.release_outputs && keeps_output && graph.releases_output(id))
    bytes.output = scenario.network.boundary_bytes[chunk];
  bytes.for_weight = std::min(scenario.memory.activation_for_weight[chunk], bytes.in_backward());
  return bytes;
}

/// Calls visit(time, bytes, count, task) for each change, in time order (SPEC section 3). An activation is live from
/// the start of its F to the end of its B. With a split backward it ends with I, except for the part that W needs,
/// which ends with W. Without a backward it ends with its F. The recomputed part returns at the start of B or I, and a
/// released output is freed when its transfer ends.
template <class Visit>
class ActivationWalk {
public:
  ActivationWalk(const TaskGraph& graph, const Timeline& timeline, StageId stage, Visit visit)
      : graph_{graph}, timeline_{timeline}, tasks_{graph.schedule().stage(stage)},
        first_{index(graph.schedule().first_task(stage))}, recomputes_{graph.scenario().recompute.is_on()},
        releases_{graph.scenario().memory.release_outputs}, forward_only_{graph.schedule().forward_only()},
        visit_{visit} {}

  void run() {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const bool overlaps = tasks_[i].pairing == Pairing::first &&
                            timeline_.tasks[first_ + i + 1].start < timeline_.tasks[first_ + i].end;
      begin(i);
      if (overlaps) begin(i + 1);
      end(i);
      if (overlaps) end(++i);
    }
    release_outputs(SimTime::max());
  }

private:
  /// An output that is being sent to another stage.
  struct Output {
    SimTime sent{};
    TaskId task{};
    Bytes bytes;
    bool operator>(const Output& other) const { return sent != other.sent ? sent > other.sent : task > other.task; }
  };

  void begin(std::size_t i) {
    const TaskId id = make_id<TaskId>(first_ + i);
    const SimTime at = timeline_.tasks[first_ + i].start;
    if (tasks_[i].pass == Pass::forward)
      change(at, activation_bytes(graph_, id, tasks_[i]).kept, 1, id);
    else if (recomputes_ && gives_gradient(tasks_[i].pass))
      change(at, activation_bytes(graph_, id, tasks_[i]).restored, 0, id);
  }

  void end(std::size_t i) {
    if (tasks_[i].pass == Pass::forward && !releases_ && !forward_only_) return;
    const TaskId id = make_id<TaskId>(first_ + i);
    const SimTime at = timeline_.tasks[first_ + i].end;
    const ActivationBytes bytes = activation_bytes(graph_, id, tasks_[i]);
    switch (tasks_[i].pass) {
    case Pass::forward:
      if (bytes.output > Bytes{}) outputs_.push({std::max(at, timeline_.transfers[first_ + i].end), id, bytes.output});
      if (forward_only_) change(at, bytes.output - bytes.kept, -1, id);
      break;
    case Pass::backward:
      change(at, Bytes{} - bytes.in_backward(), -1, id);
      break;
    case Pass::input_grad:
      change(at, bytes.for_weight - bytes.in_backward(), 0, id);
      break;
    case Pass::weight_grad:
      change(at, Bytes{} - bytes.for_weight, -1, id);
      break;
    }
  }

  void change(SimTime at, Bytes bytes, int count, TaskId task) {
    release_outputs(at);
    if (bytes != Bytes{} || count != 0) visit_(at, bytes, count, task);
  }

  void release_outputs(SimTime until) {
    for (; !outputs_.empty() && outputs_.top().sent <= until; outputs_.pop())
      visit_(outputs_.top().sent, Bytes{} - outputs_.top().bytes, 0, outputs_.top().task);
  }

  const TaskGraph& graph_;
  const Timeline& timeline_;
  std::span<const Task> tasks_;
  std::size_t first_;
  bool recomputes_, releases_, forward_only_;
  Visit visit_;
  std::priority_queue<Output, std::vector<Output>, std::greater<>> outputs_;
};

template <class Visit>
void walk_activations(const TaskGraph& graph, const Timeline& timeline, StageId stage, Visit visit) {
  ActivationWalk<Visit>{graph, timeline, stage, visit}.run();
}

} // namespace ppsim
