#include "ppsim/report/critical_path.hpp"

#include "ppsim/report/detail/accounting.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace ppsim {
namespace {

/// The last task to end; of equals, the lowest id.
TaskId last_task(const Timeline& timeline) {
  std::size_t last = 0;
  for (std::size_t id = 1; id < timeline.tasks.size(); ++id)
    if (timeline.tasks[id].end > timeline.tasks[last].end) last = id;
  return make_id<TaskId>(last);
}

/// The chain that ends at the makespan, from its end back to its start.
class PathFinder {
public:
  PathFinder(const TaskGraph& graph, const Timeline& timeline)
      : graph_{graph}, timeline_{timeline}, shared_links_{graph.scenario().network.model == TransferModel::link} {}

  std::vector<PathStep> find() {
    if (timeline_.tasks.empty()) return {};
    const UpdateRelease last = follow_update(last_of_update());
    TaskId task = last.task == no_task ? last_task(timeline_) : last.task;
    if (last.sent) task = follow_transfer(task);
    follow_tasks(task);
    std::ranges::reverse(path_);
    return std::move(path_);
  }

private:
  /// If the step ends with an optimizer step (the lowest stage's among equals) or a reduction, adds it to the path and
  /// returns its release. None if the step ends with a task.
  UpdateRelease last_of_update() {
    const SimTime end = end_of(timeline_);
    const auto& steps = timeline_.optimizer;
    const auto ends = [end](const auto& part) { return part.span.end == end; };
    const auto add = [&](auto step) {
      path_.push_back({.kind = PathKind::optimizer, .number = static_cast<std::size_t>(step - steps.begin())});
      return step->released_by;
    };
    const auto works = [&](const OptimizerRun& step) { return ends(step) && step.span.length() > Duration{0}; };
    if (const auto step = std::ranges::find_if(steps, works); step != steps.end()) return add(step);
    const auto& reductions = timeline_.reductions;
    if (const auto last = std::ranges::find_if(reductions, ends); last != reductions.end())
      return {.reduction = static_cast<std::size_t>(last - reductions.begin())};
    // A step of zero length ends with its release, but a measured one may be later.
    const bool ends_with_task = timeline_.tasks[index(last_task(timeline_))].end == end;
    if (const auto step = std::ranges::find_if(steps, ends); step != steps.end() && !ends_with_task) return add(step);
    return {};
  }

  /// Follows reductions back to the task that released the first of them.
  UpdateRelease follow_update(UpdateRelease by) {
    while (by.reduction != UpdateRelease::none) {
      path_.push_back({.kind = PathKind::reduction, .number = by.reduction});
      by = timeline_.reductions[by.reduction].released_by;
    }
    return by;
  }

  /// Adds the transfer of `sender` and those that it queued for; returns the task that released the first of them.
  TaskId follow_transfer(TaskId sender) {
    while (true) { // a queued transfer was released by the one before it on its link or communicator
      const auto& released = timeline_.transfer_released_by;
      const bool waited = !released.empty() && released[index(sender)] != no_task;
      const auto& behind = timeline_.waited_for_transfer;
      const bool queued = waited && (shared_links_ || (!behind.empty() && behind[index(sender)]));
      path_.push_back({sender, PathKind::transfer, queued ? Cause::order : Cause::none});
      if (waited) sender = released[index(sender)];
      if (!queued) return sender;
    }
  }

  /// The transfer that ended when `task` started: that of `sender`, or of another operation of its group.
  [[nodiscard]] TaskId last_of_group(TaskId task, TaskId sender) const {
    const auto& group = timeline_.group_released_by;
    return group.empty() || group[index(task)] == no_task ? sender : group[index(task)];
  }

  void follow_tasks(TaskId task) {
    while (true) {
      const TaskId releaser = releasing_half(graph_, timeline_, task);
      const Cause cause = timeline_.cause[index(releaser)];
      const TaskId by = timeline_.released_by[index(releaser)];
      path_.push_back({task, PathKind::task, cause});
      if (by == no_task) return;
      task = comes_by_transfer(cause) ? follow_transfer(last_of_group(releaser, by)) : by;
    }
  }

  const TaskGraph& graph_;
  const Timeline& timeline_;
  bool shared_links_;
  std::vector<PathStep> path_;
};

} // namespace

std::string_view to_string(PathKind kind) {
  constexpr std::array<std::string_view, 4> names{"task", "transfer", "reduction", "optimizer"};
  return names[static_cast<std::size_t>(kind)];
}

Span span_of(const Timeline& timeline, const PathStep& step) {
  switch (step.kind) {
  case PathKind::task:
    break;
  case PathKind::transfer: {
    Span span = timeline.transfers[index(step.task)];
    const bool waited =
        !timeline.transfer_released_by.empty() && timeline.transfer_released_by[index(step.task)] != no_task;
    if (!waited) span.start = std::max(span.start, timeline.tasks[index(step.task)].end);
    span.end = std::max(span.start, span.end); // with different clocks, an arrival may precede the sender's end
    return span;
  }
  case PathKind::reduction:
    return timeline.reductions[step.number].span;
  case PathKind::optimizer:
    return timeline.optimizer[step.number].span;
  }
  return timeline.tasks[index(step.task)];
}

StageId stage_of(const TaskGraph& graph, const Timeline& timeline, const PathStep& step) {
  if (step.kind == PathKind::reduction) return timeline.reductions[step.number].stage;
  if (step.kind == PathKind::optimizer) return make_id<StageId>(step.number);
  return graph.schedule().stage_of(step.task);
}

std::vector<PathStep> find_critical_path(const TaskGraph& graph, const Timeline& timeline) {
  return PathFinder{graph, timeline}.find();
}

} // namespace ppsim
