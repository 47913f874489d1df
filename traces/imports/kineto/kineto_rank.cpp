// One rank of a profile: annotations of the processor give the actions, kernels their times. The processor runs ahead
// of the device, so a task ran when its kernels did. Without kernels, the processor computes itself, and waits for a
// task's input inside the task's annotation: the task begins when that wait ends.

#include <algorithm>
#include <set>
#include <unordered_map>

#include "kineto.hpp"

namespace ppsim::traces {
namespace {

using ActionKind = PpAction::Kind;

/// One annotation with its kernels.
struct Action {
  PpAction what{};
  Stretch on_processor{};
  Extents extents{};
  Extents send_recvs{}; ///< only of NCCL's kernels, if there are any
  std::int64_t step = 0;
  bool is_cut = false; ///< of a step that began before the recording
  bool has_gpu_annotation = false;
};

class RankBuilder {
public:
  explicit RankBuilder(const KinetoTrace& trace) : trace_{trace} {}

  KinetoRank build() {
    static_cast<KinetoFacts&>(rank_) = static_cast<const KinetoFacts&>(trace_);
    order_annotations();
    join_gpu_annotations();
    join_kernels();
    join_gloo();
    take_pairs_apart(actions_, &Action::what);
    set_steps();
    take_actions();
    return std::move(rank_);
  }

private:
  void order_annotations() {
    actions_.reserve(trace_.annotations.size());
    std::vector<std::uint32_t> order(trace_.annotations.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return trace_.annotations[i].time.start; });
    for (const std::uint32_t i : order) {
      const KinetoAnnotation& annotation = trace_.annotations[i];
      if (annotation.external_id != 0) by_external_id_.emplace(annotation.external_id, actions_.size());
      by_key_[key_of(annotation.action)].push_back(actions_.size());
      actions_.push_back({.what = annotation.action, .on_processor = annotation.time});
    }
  }

  /// The processor's annotation for a GPU annotation: the one with its id, otherwise the last one with its name that
  /// began before it.
  Action* action_of(const KinetoGpuAnnotation& annotation) {
    if (const auto found = by_external_id_.find(annotation.external_id);
        found != by_external_id_.end() && actions_[found->second].what == annotation.action)
      return &actions_[found->second];
    const auto same = by_key_.find(key_of(annotation.action));
    if (same == by_key_.end()) return nullptr;
    const auto behind = std::ranges::upper_bound(same->second, annotation.time.start, {},
                                                 [&](std::size_t i) { return actions_[i].on_processor.start; });
    return behind == same->second.begin() ? nullptr : &actions_[*(behind - 1)];
  }

  void join_gpu_annotations() {
    for (const KinetoGpuAnnotation& annotation : trace_.gpu_annotations) {
      if (annotation.action.kind == ActionKind::shard) continue; // counted with those of the processor
      if (Action* const action = action_of(annotation)) {
        extend(action->extents, annotation.stream, annotation.time);
        action->has_gpu_annotation = true;
      } else {
        ++rank_.dropped["GPU annotations without one of the processor"];
      }
    }
  }

  /// The action of the processor at this time; null if there is none.
  Action* action_at(std::int64_t time) {
    const auto behind =
        std::ranges::upper_bound(actions_, time, {}, [](const Action& action) { return action.on_processor.start; });
    if (behind == actions_.begin()) return nullptr;
    Action& action = *(behind - 1);
    return time <= action.on_processor.end ? &action : nullptr;
  }

  /// The action in which the processor launched a kernel.
  Action* launcher_of(const KinetoKernel& kernel) {
    if (const auto launch = launches_.find(kernel.correlation); launch != launches_.end())
      return action_at(launch->second);
    const auto same = by_external_id_.find(kernel.external_id);
    return same == by_external_id_.end() ? nullptr : &actions_[same->second];
  }

  static bool moves_data(const Action& action) {
    return action.what.kind == ActionKind::send || action.what.kind == ActionKind::receive;
  }

  void join_kernels() {
    if (actions_.empty()) return;
    const bool all_annotated = std::ranges::all_of(
        actions_, [](const Action& action) { return action.has_gpu_annotation || moves_data(action); });
    if (all_annotated && trace_.send_recvs.empty()) return;
    launches_.reserve(trace_.launches.size());
    for (const KinetoLaunch& launch : trace_.launches) launches_.emplace(launch.correlation, launch.time);
    if (!all_annotated)
      for (const KinetoKernel& kernel : trace_.kernels)
        if (Action* const action = launcher_of(kernel); action != nullptr && !action->has_gpu_annotation)
          extend(action->extents, kernel.stream, kernel.time);
    for (const KinetoKernel& kernel : trace_.send_recvs) {
      Action* const action = launcher_of(kernel);
      if (action == nullptr || !moves_data(*action)) {
        ++rank_.dropped["NCCL sends and receives outside of PP:SEND and PP:RECV"];
        continue;
      }
      extend(action->send_recvs, kernel.stream, kernel.time);
    }
  }

  [[nodiscard]] bool has_kernels() const {
    return !trace_.kernels.empty() || !trace_.send_recvs.empty() || !trace_.gpu_annotations.empty();
  }

  /// Gloo's record of a receive begins when it is posted, under PP:RECV, and ends with the wait for it.
  void join_gloo() {
    for (const Stretch& receive : trace_.gloo_receives) {
      Action* const action = has_kernels() ? nullptr : action_at(receive.start);
      if (action != nullptr && action->what.kind == ActionKind::receive)
        extend(action->send_recvs, 0, receive);
      else
        ++rank_.dropped["receives of gloo outside of PP:RECV, or next to kernels"];
    }
  }

  /// The ProfilerStep in which the processor began an action; none if there is none.
  static std::optional<std::int64_t> step_at(const std::vector<KinetoStep>& steps, std::int64_t time) {
    const auto behind =
        std::ranges::upper_bound(steps, time, {}, [](const KinetoStep& step) { return step.time.start; });
    if (behind == steps.begin() || (behind - 1)->time.end < time) return std::nullopt;
    return (behind - 1)->number;
  }

  /// Assigns actions to the ProfilerStep that they began in; removes those in none.
  void set_profiler_steps() {
    std::vector<KinetoStep> steps = trace_.steps;
    std::ranges::stable_sort(steps, {}, [](const KinetoStep& step) { return step.time.start; });
    rank_.has_steps = !steps.empty();
    if (!rank_.has_steps) return;
    const std::size_t outside = std::erase_if(actions_, [&](Action& action) {
      const std::optional<std::int64_t> step = step_at(steps, action.on_processor.start);
      action.step = step.value_or(0);
      return !step;
    });
    if (outside > 0) rank_.dropped["actions outside of every ProfilerStep"] += outside;
  }

  void set_steps() {
    set_profiler_steps();
    std::vector<PpAction> group;
    for (std::size_t begin = 0; begin < actions_.size(); begin += group.size()) {
      group.clear();
      const std::int64_t number = actions_[begin].step;
      for (std::size_t i = begin; i < actions_.size() && actions_[i].step == number; ++i)
        group.push_back(actions_[i].what);
      const ActionSteps found = steps_of(group);
      if (found.cut > 0) rank_.dropped[std::string{begun_before}] += found.cut;
      for (std::size_t i = 0; i < group.size(); ++i) {
        actions_[begin + i].is_cut = i < found.cut;
        actions_[begin + i].step = number * repeats_per_step + std::min(found.steps[i], repeats_per_step - 1);
      }
      rank_.repeats = rank_.repeats || found.steps.back() > 0;
    }
    std::erase_if(actions_, [](const Action& action) { return action.is_cut; });
  }

  void take_actions() {
    std::set<std::uint32_t> chunks;
    for (const Action& action : actions_) {
      switch (action.what.kind) {
      case ActionKind::task:
        chunks.insert(action.what.task.chunk_index);
        break;
      case ActionKind::send:
      case ActionKind::receive:
        take_transfer(action);
        break;
      default:
        take_update(action);
      }
    }
    rank_.chunks.assign(chunks.begin(), chunks.end());
    take_tasks();
  }

  /// After the transfers, whose receives give the arrival of inputs.
  void take_tasks() {
    MainStream main;
    for (const Action& action : actions_)
      if (action.what.kind == ActionKind::task) main.add_task(action.extents);
    const std::uint64_t stream = main.stream();
    for (const TransferEvent& transfer : rank_.transfers)
      if (!transfer.is_send) inputs_.add_receive(transfer.step, transfer.task, transfer.end);
    std::vector<TaskTime> times;
    for (const Action& action : actions_)
      if (action.what.kind == ActionKind::task)
        times.push_back(
            {action.step, time_on_device(action.extents, stream), inputs_.of(action.step, action.what.task)});
    rank_.without_kernels = place_without_kernels(times);
    auto found = times.begin();
    for (const Action& action : actions_) {
      if (action.what.kind != ActionKind::task) continue;
      const TaskTime& time = *found++;
      if (time.ran)
        add_task(action, *time.ran);
      else
        take_on_processor(action, time);
    }
  }

  void add_task(const Action& action, Stretch time) {
    rank_.tasks.push_back({0, 0, action.step, action.what.task, time.start, time.end, rank_.tasks.size()});
  }

  void take_on_processor(const Action& action, const TaskTime& found) {
    if (inputs_.is_endless(action.step, action.what.task)) {
      ++rank_.dropped["tasks on the processor whose wait for their input has no end"];
      return;
    }
    ++rank_.on_processor;
    Stretch time = action.on_processor;
    if (found.input && !has_kernels()) time.start = std::clamp(*found.input, time.start, time.end);
    if (action.what.task.pairing == Pairing::second && !rank_.tasks.empty() &&
        rank_.tasks.back().task.pairing == Pairing::first) {
      // Both halves are under one annotation, one after the other: when the second has its input, the first is done.
      TaskEvent& first = rank_.tasks.back();
      time.start = std::max(time.start, first.start);
      if (time.start > first.start) first.end = time.start;
    }
    add_task(action, time);
  }

  void take_transfer(const Action& action) {
    // Its annotation may also contain copies.
    const Extents& extents = action.send_recvs.empty() ? action.extents : action.send_recvs;
    const bool is_wait = !has_kernels() && action.what.kind == ActionKind::receive;
    if (is_wait) ++rank_.waits;
    if (extents.empty()) {
      if (is_wait) {
        ++rank_.endless;
        inputs_.add_receive(action.step, action.what.task, std::nullopt);
      }
      ++rank_.dropped["sends and receives without a kernel"];
      return;
    }
    const Stretch time = hull(extents);
    rank_.transfers.push_back(
        {0, 0, action.step, action.what.task, action.what.kind == ActionKind::send, time.start, time.end});
  }

  void take_update(const Action& action) {
    if (action.extents.empty()) {
      ++rank_.dropped["reductions and optimizer steps without a kernel"];
      return;
    }
    const Stretch time = hull(action.extents);
    const bool is_optimizer = action.what.kind == ActionKind::optimizer;
    rank_.updates.push_back({0, 0, action.step,
                             is_optimizer ? UpdateEvent::Kind::optimizer : UpdateEvent::Kind::reduction,
                             action.what.task.chunk_index, time.start, time.end});
  }

  const KinetoTrace& trace_;
  KinetoRank rank_;
  std::vector<Action> actions_; ///< in the order in which the processor began them
  ReceivedInputs inputs_;
  std::unordered_map<std::uint64_t, std::size_t> by_external_id_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_key_;
  std::unordered_map<std::uint64_t, std::int64_t> launches_; ///< when, by correlation
};

} // namespace

KinetoRank kineto_rank(const KinetoTrace& trace) {
  return RankBuilder{trace}.build();
}

} // namespace ppsim::traces
