#include "ppsim/engine/detail/update.hpp"

#include <algorithm>
#include <iterator>

namespace ppsim {
namespace {

/// A time with its cause.
struct ReleasedAt {
  SimTime at{};
  UpdateRelease by;
};

/// The later of two; the first if they are equal.
ReleasedAt later(const ReleasedAt& a, const ReleasedAt& b) {
  return b.at > a.at ? b : a;
}

/// When `stage` has run its tasks and, under `blocking`, sent the last one's output; under `streams`, done the
/// operations that it waits for.
ReleasedAt own_tasks(const TaskGraph& graph, const Timeline& timeline, StageId stage) {
  const Schedule& schedule = graph.schedule();
  const std::size_t end = index(schedule.end_task(stage));
  if (schedule.stage(stage).empty()) return {};
  ReleasedAt done{timeline.tasks[end - 1].end, {.task = make_id<TaskId>(end - 1)}};
  if (!timeline.held_end.empty() && timeline.held_end[index(stage)].by != no_task) {
    const HeldEnd& held = timeline.held_end[index(stage)];
    done = later(done, {held.at, {.task = held.by, .sent = true}});
  }
  if (graph.scenario().network.model != TransferModel::blocking) return done;
  const std::size_t slot = schedule.tasks()[end - 1].pairing == Pairing::alone ? 1 : 2;
  for (std::size_t id = end - slot; id < end; ++id)
    done = later(done, {timeline.transfers[id].end, {.task = make_id<TaskId>(id), .sent = true}});
  return done;
}

/// The inputs of the update from a step's tasks.
struct TasksDone {
  std::vector<ReleasedAt> stages;    ///< when each has run its tasks
  std::vector<ReleasedAt> gradients; ///< by chunk: when they are complete, on every stage that holds it
  std::vector<bool> trained;         ///< by chunk: whether a task adds to its weights
};

/// The end of the last task that adds to a chunk's weights, on any stage.
TasksDone tasks_done(const TaskGraph& graph, const Timeline& timeline) {
  const Schedule& schedule = graph.schedule();
  const std::size_t chunks = schedule.shape().chunks();
  TasksDone done{.stages = {}, .gradients = std::vector<ReleasedAt>(chunks), .trained = std::vector<bool>(chunks)};
  for (const StageId stage : schedule.stage_ids()) done.stages.push_back(own_tasks(graph, timeline, stage));
  for (std::size_t id = 0; id < schedule.size(); ++id) {
    const Task& task = schedule.tasks()[id];
    if (!adds_to_weights(task.pass)) continue;
    const ReleasedAt ended{timeline.tasks[id].end, {.task = make_id<TaskId>(id)}};
    ReleasedAt& last = done.gradients[task.chunk_index];
    last = done.trained[task.chunk_index] ? later(last, ended) : ended;
    done.trained[task.chunk_index] = true;
  }
  return done;
}

class UpdateSimulation {
public:
  UpdateSimulation(const TaskGraph& graph, const HeldChunks& held, const TasksDone& done, Timeline& timeline)
      : graph_{graph}, schedule_{graph.schedule()}, update_{graph.scenario().update}, timeline_{timeline}, held_{held},
        done_{done}, reduced_{done.gradients}, trained_{done.trained} {}

  void run() {
    const std::vector<ReleasedAt>& gradients = done_.gradients;
    if (!update_.reduce.empty())
      for (const StageId stage : schedule_.stage_ids()) reduce(stage, gradients);
    reduce_tied_embedding();
    step();
  }

private:
  /// One reduction at a time, in the order in which they become ready; of equals the lower chunk first.
  void reduce(StageId stage, const std::vector<ReleasedAt>& gradients) {
    std::vector<std::uint16_t> queue;
    for (const std::uint16_t chunk : held_.of(stage))
      if (trained_[chunk] && update_.reduce[chunk] > Duration{0}) queue.push_back(chunk);
    std::ranges::stable_sort(queue, {}, [&](std::uint16_t chunk) { return gradients[chunk].at; });
    ReleasedAt free;
    if (!update_.overlap_reduce) free = done_.stages[index(stage)];
    for (const std::uint16_t chunk : queue) {
      const ReleasedAt begin = later(gradients[chunk], free);
      free = add(stage, chunk, false, begin, update_.reduce[chunk]);
      reduced_[chunk] = later(reduced_[chunk], free);
    }
  }

  ReleasedAt add(StageId stage, std::size_t chunk, bool tied, const ReleasedAt& begin, Duration length) {
    timeline_.reductions.push_back({stage, make_id<ChunkId>(chunk), tied, {begin.at, begin.at + length}, begin.by});
    return {begin.at + length, {.reduction = timeline_.reductions.size() - 1}};
  }

  [[nodiscard]] bool holds(StageId stage, std::size_t chunk) const {
    return std::ranges::binary_search(held_.of(stage), chunk);
  }

  /// The first chunk's embedding is the last chunk's output layer: their stages sum its gradients, unless one stage
  /// holds both.
  void reduce_tied_embedding() {
    const std::size_t last = schedule_.shape().chunks() - 1;
    if (update_.tied_embedding_reduce == Duration{0} || !trained_[0] || !trained_[last]) return;
    for (const StageId stage : schedule_.stage_ids())
      if (holds(stage, 0) && holds(stage, last)) return;
    const ReleasedAt begin = later(reduced_[0], reduced_[last]);
    for (const StageId stage : schedule_.stage_ids())
      for (const std::size_t chunk : {std::size_t{0}, last})
        if (holds(stage, chunk)) add(stage, chunk, true, begin, update_.tied_embedding_reduce);
  }

  [[nodiscard]] Duration step_length(StageId stage) const {
    Duration length{0};
    for (const std::uint16_t chunk : held_.of(stage))
      if (trained_[chunk] && !update_.optimizer.empty()) length += update_.optimizer[chunk];
    return graph_.scenario().costs.on_stage(stage, length);
  }

  void step() {
    std::vector<ReleasedAt> ready = done_.stages;
    for (std::size_t i = 0; i < timeline_.reductions.size(); ++i) {
      const Reduction& reduction = timeline_.reductions[i];
      ReleasedAt& own = ready[index(reduction.stage)];
      own = later(own, {reduction.span.end, {.reduction = i}});
    }
    if (update_.step == OptimizerStep::synchronous) {
      ReleasedAt all;
      for (const ReleasedAt& own : ready) all = later(all, own);
      std::ranges::fill(ready, all);
    }
    for (const StageId stage : schedule_.stage_ids()) {
      const ReleasedAt& begin = ready[index(stage)];
      timeline_.optimizer.push_back({{begin.at, begin.at + step_length(stage)}, begin.by});
    }
  }

  const TaskGraph& graph_;
  const Schedule& schedule_;
  const Update& update_;
  Timeline& timeline_;
  const HeldChunks& held_;
  const TasksDone& done_;
  std::vector<ReleasedAt> reduced_;  ///< by chunk: when its gradients are reduced on every stage
  const std::vector<bool>& trained_; ///< by chunk
};

} // namespace

void add_update(const TaskGraph& graph, Timeline& timeline) {
  if (graph.scenario().update.is_free()) return;
  UpdateSimulation{graph, HeldChunks{graph.schedule()}, tasks_done(graph, timeline), timeline}.run();
}

SimTime end_of_update(const TaskGraph& graph, const HeldChunks& held, std::span<const SimTime> stages,
                      std::span<const SimTime> gradients) {
  const auto at = [](SimTime time) { return ReleasedAt{time, {}}; };
  TasksDone done;
  std::ranges::transform(stages, std::back_inserter(done.stages), at);
  std::ranges::transform(gradients, std::back_inserter(done.gradients), at);
  done.trained.assign(gradients.size(), !graph.schedule().forward_only());
  Timeline update;
  UpdateSimulation{graph, held, done, update}.run();
  return end_of(update);
}

SimTime stage_end(const TaskGraph& graph, const Timeline& timeline, StageId stage) {
  return timeline.optimizer.empty() ? own_tasks(graph, timeline, stage).at : timeline.optimizer[index(stage)].span.end;
}

} // namespace ppsim
