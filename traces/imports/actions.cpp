#include "actions.hpp"

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace ppsim::traces {
namespace {

using Kind = PpAction::Kind;

bool is_update(const PpAction& action) {
  return action.kind == Kind::optimizer || action.kind == Kind::reduction;
}
bool is_forward(const PpAction& action) {
  return action.kind == Kind::task && action.task.pass == Pass::forward;
}
bool is_backward(const PpAction& action) {
  return action.kind == Kind::task && action.task.pass != Pass::forward;
}

std::uint64_t forward_of(const PpAction& action) {
  return key_of({Kind::task, make_task(Pass::forward, action.task.chunk_index, index(action.task.microbatch))});
}

/// The actions of a step so far.
class StepContent {
public:
  /// Whether `action` cannot belong to this step.
  [[nodiscard]] bool begins_next(const PpAction& action) const {
    if (is_update(action)) return false;
    return seen_.contains(key_of(action)) || (is_forward(action) && backwards_.contains(key_of(action)));
  }
  /// Whether `action` is a backward without its forward.
  [[nodiscard]] bool lacks_forward_of(const PpAction& action) const {
    return is_backward(action) && !seen_.contains(forward_of(action));
  }
  void add(const PpAction& action) {
    if (is_update(action)) return;
    seen_.insert(key_of(action));
    if (is_backward(action)) backwards_.insert(forward_of(action));
  }

private:
  std::unordered_set<std::uint64_t> seen_;
  std::unordered_set<std::uint64_t> backwards_; ///< as keys of their forwards
};

/// Finds the first complete step of a recording.
class FirstStep {
public:
  explicit FirstStep(std::span<const PpAction> actions) : actions_{actions} {
    for (const PpAction& action : actions_) {
      if (!is_forward(action)) continue;
      const auto microbatch = index(action.task.microbatch);
      const auto [lowest, is_new] = lowest_.emplace(action.task.chunk_index, microbatch);
      if (!is_new) lowest->second = std::min(lowest->second, microbatch);
    }
  }

  [[nodiscard]] std::size_t find() const {
    if (!begins_within_step()) return 0;
    for (std::size_t at = 0; at < actions_.size();) {
      if (!is_lowest_forward(actions_[at])) {
        ++at;
        continue;
      }
      const std::optional<std::size_t> fault = fault_from(at);
      if (!fault) return with_receives(at);
      at = *fault + 1; // steps that begin between lack the same forward
    }
    return 0; // no complete step: later checks report what is missing
  }

private:
  [[nodiscard]] bool is_lowest_forward(const PpAction& action) const {
    return is_forward(action) && index(action.task.microbatch) == lowest_.at(action.task.chunk_index);
  }

  [[nodiscard]] bool begins_within_step() const {
    const auto first = std::ranges::find_if(actions_, is_forward);
    if (first != actions_.end() && !is_lowest_forward(*first)) return true;
    StepContent step;
    for (const PpAction& action : actions_) {
      if (step.begins_next(action)) return false;
      if (step.lacks_forward_of(action)) return true;
      step.add(action);
    }
    return false;
  }

  /// The first action after `begin` that cannot belong to the step; none if the step is possible.
  [[nodiscard]] std::optional<std::size_t> fault_from(std::size_t begin) const {
    StepContent step;
    bool has_optimizer = false;
    for (std::size_t at = begin; at < actions_.size(); ++at) {
      const PpAction& action = actions_[at];
      if (step.begins_next(action)) return std::nullopt;
      if (step.lacks_forward_of(action) || (has_optimizer && action.kind == Kind::task)) return at;
      has_optimizer = has_optimizer || action.kind == Kind::optimizer;
      step.add(action);
    }
    return std::nullopt;
  }

  /// Includes the receives right before a task.
  [[nodiscard]] std::size_t with_receives(std::size_t at) const {
    while (at > 0 && actions_[at - 1].kind == Kind::receive) --at;
    return at;
  }

  std::span<const PpAction> actions_;
  std::unordered_map<std::uint32_t, std::size_t> lowest_; ///< microbatch of a forward, by chunk
};

/// The receive of the input of `task`.
PpAction receive_for(Task task) {
  if (task.pass == Pass::input_grad) task.pass = Pass::backward;
  return {Kind::receive, task};
}

/// The time of a task without kernels, between its neighbours with kernels (null if there is none, but not both).
std::int64_t place_between(const TaskTime& task, const TaskTime* before, const TaskTime* next) {
  const bool ends_step = next == nullptr || (next->step != task.step && before != nullptr);
  PPSIM_ASSERT(!ends_step || before != nullptr);
  std::int64_t at = ends_step ? before->ran->end : next->ran->start;
  if (task.input) at = ends_step ? std::max(at, *task.input) : std::min(at, *task.input);
  if (before != nullptr && before->step == task.step) at = std::max(at, before->ran->end);
  return next == nullptr ? at : std::min(at, next->ran->start);
}

} // namespace

void extend(std::optional<Stretch>& stretch, Stretch time) {
  stretch = stretch ? Stretch{std::min(stretch->start, time.start), std::max(stretch->end, time.end)} : time;
}

void extend(Extents& extents, std::uint64_t stream, Stretch time) {
  std::optional<Stretch> whole = time;
  if (const auto found = extents.find(stream); found != extents.end()) extend(whole, found->second);
  extents[stream] = *whole;
}

Stretch hull(const Extents& extents) {
  PPSIM_ASSERT(!extents.empty());
  std::optional<Stretch> all;
  for (const auto& [stream, time] : extents) extend(all, time);
  return *all;
}

void MainStream::add_task(const Extents& extents) {
  constexpr std::int64_t most = std::int64_t{1} << 60U;
  for (const auto& [stream, extent] : extents) {
    auto& [tasks, time] = streams_[stream];
    ++tasks;
    time = std::min(most, time + std::min(most, extent.end - extent.start));
  }
}

std::uint64_t MainStream::stream() const {
  const auto longest = std::ranges::max_element(streams_, {}, [](const auto& stream) { return stream.second; });
  return longest == streams_.end() ? 0 : longest->first;
}

ActionSteps steps_of(std::span<const PpAction> actions) {
  ActionSteps found{.cut = FirstStep{actions}.find(), .steps = {}};
  found.steps.assign(found.cut, 0);
  StepContent step;
  std::int64_t number = 0;
  for (const PpAction& action : actions.subspan(found.cut)) {
    if (step.begins_next(action)) {
      step = {};
      ++number;
    }
    step.add(action);
    found.steps.push_back(number);
  }
  return found;
}

std::optional<Stretch> time_on_device(const Extents& task, std::uint64_t main) {
  if (const auto found = task.find(main); found != task.end()) return found->second;
  return task.empty() ? std::nullopt : std::optional{hull(task)};
}

void ReceivedInputs::add_receive(std::int64_t step, const Task& task, std::optional<std::int64_t> end) {
  ends_[{step, key_of({Kind::receive, task})}] = end;
}

std::optional<std::int64_t> ReceivedInputs::of(std::int64_t step, const Task& task) const {
  const auto found = ends_.find({step, key_of(receive_for(task))});
  return found == ends_.end() ? std::nullopt : found->second;
}

bool ReceivedInputs::is_endless(std::int64_t step, const Task& task) const {
  const auto found = ends_.find({step, key_of(receive_for(task))});
  return found != ends_.end() && !found->second;
}

std::size_t place_without_kernels(std::span<TaskTime> tasks) {
  const auto ran = [](const TaskTime& task) { return task.ran.has_value(); };
  if (std::ranges::none_of(tasks, ran)) return 0;
  std::vector<std::size_t> behind(tasks.size()); // the next task with kernels; the number of tasks if there is none
  for (std::size_t i = tasks.size(), next = i; i-- > 0; behind[i] = next)
    if (ran(tasks[i])) next = i;
  std::size_t placed = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    TaskTime& task = tasks[i];
    if (ran(task)) continue;
    const TaskTime* const before = i > 0 ? &tasks[i - 1] : nullptr;
    const TaskTime* const next = behind[i] < tasks.size() ? &tasks[behind[i]] : nullptr;
    const std::int64_t at = place_between(task, before, next);
    task.ran = Stretch{at, at};
    ++placed;
  }
  return placed;
}

void note_times(std::vector<std::string>& notes, std::size_t without_kernels, std::size_t on_processor,
                std::string_view substitute) {
  if (without_kernels > 0)
    notes.push_back(fmt::format("tasks that launched no kernel take no time, and lie between their neighbours ({})",
                                without_kernels));
  if (on_processor > 0)
    notes.push_back(fmt::format("ranks without any kernel of a task: their tasks have the times of {} ({})", substitute,
                                on_processor));
}

} // namespace ppsim::traces
