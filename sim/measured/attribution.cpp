#include "ppsim/base/error.hpp"
#include "ppsim/graph/detail/dag.hpp"
#include "ppsim/measured/measured.hpp"

#include <algorithm>
#include <iterator>

namespace ppsim {
namespace {

/// Finds the release of each task.
class Attribution {
public:
  Attribution(const TaskGraph& graph, Timeline& timeline)
      : dag_{graph.dag()}, schedule_{graph.schedule()}, timeline_{timeline},
        together_{graph.scenario().update.step == OptimizerStep::synchronous}, inputs_(graph.size()) {}

  void run() {
    timeline_.released_by.assign(schedule_.size(), no_task);
    timeline_.cause.assign(schedule_.size(), Cause::none);
    for (std::size_t id = 0; id < schedule_.size(); ++id) find_inputs_from(static_cast<std::uint32_t>(id));
    for (const StageId stage : schedule_.stage_ids())
      for (const TaskId id : schedule_.task_ids(stage)) release(index(id), id != schedule_.first_task(stage));
    release_reductions();
    release_optimizers();
  }

private:
  /// The last input of a task from elsewhere.
  struct Input {
    SimTime at = SimTime::min();
    TaskId from = no_task;
    Cause cause = Cause::none;
  };

  /// Whether both halves of a pair run one after the other.
  [[nodiscard]] bool in_turn(std::size_t first_half) const {
    return timeline_.tasks[first_half + 1].start >= timeline_.tasks[first_half].end;
  }

  /// The half that needs the input: edges to a pair all lead to its first half.
  [[nodiscard]] std::size_t half_for(std::size_t target, Cause cause) const {
    const Task& task = schedule_.tasks()[target];
    const bool for_forward = cause == Cause::activation;
    const bool own = for_forward == (task.pass == Pass::forward);
    return task.pairing == Pairing::first && !own && in_turn(target) ? target + 1 : target;
  }

  void find_inputs_from(std::uint32_t from) {
    for (auto [edge, end] = out_edges(from, dag_.wiring->graph); edge != end; ++edge) {
      const EdgeTag tag = dag_.wiring->graph[*edge];
      const Cause cause = tag.cause(schedule_.tasks()[from]);
      if (cause == Cause::order || cause == Cause::pair) continue;
      Input& input = inputs_[half_for(target(*edge, dag_.wiring->graph), cause)];
      const SimTime at = tag.link() == LinkClass::none ? timeline_.tasks[from].end : timeline_.transfers[from].end;
      if (input.from == no_task || at > input.at) input = {at, TaskId{from}, cause};
    }
  }

  void release(std::size_t id, bool has_before) {
    const Input& input = inputs_[id];
    const bool second = schedule_.tasks()[id].pairing == Pairing::second;
    const bool follows = has_before && (input.from == no_task || is_there_in_time(id) || (second && !in_turn(id - 1)));
    if (follows) {
      timeline_.released_by[id] = make_id<TaskId>(id - 1);
      timeline_.cause[id] = second ? Cause::pair : Cause::order;
    } else {
      timeline_.released_by[id] = input.from;
      timeline_.cause[id] = input.cause;
    }
  }

  /// Whether the input of a task arrived before the end of the task before, or was noticed right after.
  [[nodiscard]] bool is_there_in_time(std::size_t id) const {
    const Duration notice = timeline_.tasks[id].length() * noticed_late_percent / 100;
    return inputs_[id].at <= timeline_.tasks[id - 1].end + notice;
  }

  /// A possible release of a reduction or optimizer step.
  struct Moment {
    SimTime at{};
    UpdateRelease by;
  };

  /// The last one that had ended at `start`; if clocks show none, the first one.
  static UpdateRelease last_before(SimTime start, const std::vector<Moment>& moments) {
    const Moment* last = nullptr;
    for (const Moment& moment : moments)
      if (moment.at <= start && (last == nullptr || moment.at > last->at)) last = &moment;
    if (last == nullptr && !moments.empty()) last = &moments.front();
    return last == nullptr ? UpdateRelease{} : last->by;
  }

  [[nodiscard]] Moment task_end(std::size_t id) const {
    return {timeline_.tasks[id].end, {.task = make_id<TaskId>(id)}};
  }
  [[nodiscard]] Moment reduction_end(std::size_t i) const {
    return {timeline_.reductions[i].span.end, {.reduction = i}};
  }

  /// By chunk: on each stage that holds it, the last task that adds to its gradients.
  [[nodiscard]] std::vector<std::vector<Moment>> gradients() const {
    std::vector<std::vector<Moment>> ends(schedule_.shape().chunks());
    std::vector<std::size_t> seen_on(ends.size(), schedule_.shape().stages);
    for (const StageId stage : schedule_.stage_ids()) {
      const std::size_t first = index(schedule_.first_task(stage));
      for (std::size_t id = index(schedule_.end_task(stage)); id-- > first;) {
        const Task& task = schedule_.tasks()[id];
        if (!frees_activation(task.pass) || seen_on[task.chunk_index] == index(stage)) continue;
        seen_on[task.chunk_index] = index(stage);
        ends[task.chunk_index].push_back(task_end(id));
      }
    }
    return ends;
  }

  /// A reduction waits for its chunk's gradients and the reduction before it on its stage; that of a tied embedding
  /// waits for those of the first and the last chunk.
  void release_reductions() {
    if (timeline_.reductions.empty()) return;
    std::vector<std::vector<Moment>> ready = gradients();
    std::vector<std::optional<Moment>> before(schedule_.shape().stages);
    for (std::size_t i = 0; i < timeline_.reductions.size(); ++i) {
      Reduction& reduction = timeline_.reductions[i];
      std::vector<Moment> moments = ready[index(reduction.chunk)];
      if (reduction.tied)
        for (const std::size_t chunk : {std::size_t{0}, ready.size() - 1})
          moments.insert(moments.end(), ready[chunk].begin(), ready[chunk].end());
      if (const auto& other = before[index(reduction.stage)]) moments.push_back(*other);
      reduction.released_by = last_before(reduction.span.start, moments);
      if (reduction.tied) continue;
      before[index(reduction.stage)] = reduction_end(i);
      ready[index(reduction.chunk)].push_back(reduction_end(i));
    }
  }

  /// The possible releases of each stage's optimizer step: its last task, then its reductions.
  [[nodiscard]] std::vector<std::vector<Moment>> ends_by_stage() const {
    std::vector<std::vector<Moment>> ends(schedule_.shape().stages);
    for (const StageId stage : schedule_.stage_ids())
      if (const auto ids = schedule_.task_ids(stage); !ids.empty())
        ends[index(stage)].push_back(task_end(index(ids.back())));
    for (std::size_t i = 0; i < timeline_.reductions.size(); ++i)
      ends[index(timeline_.reductions[i].stage)].push_back(reduction_end(i));
    return ends;
  }

  void release_optimizers() {
    if (timeline_.optimizer.empty()) return;
    const std::vector<std::vector<Moment>> own = ends_by_stage();
    std::vector<Moment> all; // if stages step together, each waits for all
    for (const std::vector<Moment>& ends : own) all.insert(all.end(), ends.begin(), ends.end());
    std::ranges::stable_sort(all, {}, &Moment::at);
    for (std::size_t stage = 0; stage < own.size(); ++stage) {
      OptimizerRun& step = timeline_.optimizer[stage];
      step.released_by = last_before(step.span.start, own[stage]);
      if (together_) {
        const auto later = std::ranges::upper_bound(all, step.span.start, {}, &Moment::at);
        if (later != all.begin() && std::prev(later)->at > end_of(step.released_by))
          step.released_by = std::prev(later)->by;
      }
    }
  }

  [[nodiscard]] SimTime end_of(const UpdateRelease& by) const {
    if (by.reduction != UpdateRelease::none) return timeline_.reductions[by.reduction].span.end;
    return by.task == no_task ? SimTime::min() : timeline_.tasks[index(by.task)].end;
  }

  const Dag& dag_;
  const Schedule& schedule_;
  Timeline& timeline_;
  bool together_; ///< all stages take their optimizer step together
  std::vector<Input> inputs_;
};

} // namespace

void attribute(const TaskGraph& graph, Timeline& timeline) {
  PPSIM_ASSERT(timeline.tasks.size() == graph.size() && timeline.transfers.size() == graph.size());
  Attribution{graph, timeline}.run();
}

} // namespace ppsim
