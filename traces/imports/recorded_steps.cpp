#include "recorded_steps.hpp"

#include "ppsim/measured/times_alone.hpp"
#include "ppsim/scenario/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "schedules/formats.hpp"

namespace ppsim::traces {
namespace {

/// Differences of two times stay in range.
constexpr std::int64_t latest = std::int64_t{1} << 61;

bool has_possible_ids(const UpdateEvent& event) {
  return event.chunk <= max_chunk;
}
bool has_possible_ids(const auto& event) {
  return event.task.chunk_index <= max_chunk && index(event.task.microbatch) <= max_microbatch;
}
bool is_possible(const auto& event) {
  return event.stage < Limits::stages && event.start >= -latest && event.end <= latest && event.start <= event.end &&
         has_possible_ids(event);
}

auto place_in_run(const auto& event) {
  return std::tuple{event.replica, event.step};
}

/// Equal events give an equal order, however they were sorted.
auto rank(const TaskEvent& event) {
  return std::tuple{event.replica,
                    event.step,
                    event.stage,
                    event.start,
                    event.task.pairing == Pairing::second,
                    event.end,
                    event.place,
                    event.task.chunk_index,
                    index(event.task.microbatch),
                    event.task.pass};
}
auto rank(const TransferEvent& event) {
  return std::tuple{
      event.replica, event.step,  event.stage, event.task.chunk_index, index(event.task.microbatch), event.task.pass,
      event.is_send, event.start, event.end};
}
auto rank(const UpdateEvent& event) {
  return std::tuple{event.replica, event.step, event.stage, event.kind, event.chunk, event.start, event.end};
}

template <class Event>
void keep_possible(std::vector<Event>& events, DropCounts& dropped) {
  const std::size_t gone = std::erase_if(events, [](const Event& event) { return !is_possible(event); });
  if (gone > 0) dropped["events with impossible times or numbers"] += gone;
  std::ranges::sort(events, {}, [](const Event& event) { return rank(event); });
}

/// Removes the events of a step from the front of `events`, and those before it, which belong to no step with tasks.
template <class Event>
std::span<Event> take_step(std::span<Event>& events, std::tuple<std::uint32_t, std::int64_t> step,
                           DropCounts& dropped) {
  const auto begin = std::ranges::lower_bound(events, step, {}, [](const Event& event) { return place_in_run(event); });
  const auto end = std::ranges::upper_bound(events, step, {}, [](const Event& event) { return place_in_run(event); });
  if (begin != events.begin())
    dropped["transfers and updates of steps without a task"] += static_cast<std::size_t>(begin - events.begin());
  const std::span<Event> found{begin, end};
  events = {end, events.end()};
  return found;
}

/// The passes of each chunk and microbatch in a step; one bit per pass.
class Cells {
public:
  Cells(std::size_t chunks, std::size_t microbatches) : microbatches_{microbatches}, seen_(chunks * microbatches) {}
  /// False if it already exists.
  bool add(const Task& task) {
    std::uint8_t& cell = seen_[task.chunk_index * microbatches_ + index(task.microbatch)];
    const auto bit = static_cast<std::uint8_t>(1U << static_cast<unsigned>(task.pass));
    const bool is_new = (cell & bit) == 0;
    cell |= bit;
    return is_new;
  }
  /// The first incomplete cell, in words.
  [[nodiscard]] std::optional<std::string> first_missing(bool forward_only) const {
    constexpr std::uint8_t forward = 1;
    constexpr std::uint8_t whole = 1 | 2;
    constexpr std::uint8_t split = 1 | 4 | 8;
    for (std::size_t at = 0; at < seen_.size(); ++at) {
      const std::uint8_t cell = seen_[at];
      if (forward_only ? cell == forward : cell == whole || cell == split) continue;
      const auto name = [&](Pass pass) { return to_string(make_task(pass, at / microbatches_, at % microbatches_)); };
      if ((cell & forward) == 0) return name(Pass::forward) + " is missing";
      if ((cell & (split - forward)) == 0) return name(Pass::backward) + " is missing";
      if ((cell & 2) != 0) return fmt::format("there is {} in addition to its I or W", name(Pass::backward));
      return name((cell & 4) == 0 ? Pass::input_grad : Pass::weight_grad) + " is missing";
    }
    return std::nullopt;
  }

private:
  std::size_t microbatches_;
  std::vector<std::uint8_t> seen_;
};

/// Makes the times of a step relative to its first task, or, with separate clocks, to the first task of the stage.
/// Saturates times that are too far off.
void count_from_start(const StepEvents& step, bool one_clock) {
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t far = 2 * max_duration.count();
  std::vector<std::int64_t> by_stage(step.tasks.back().stage + std::size_t{1}, none);
  for (const TaskEvent& event : step.tasks) by_stage[event.stage] = std::min(by_stage[event.stage], event.start);
  const std::int64_t first = std::ranges::min(by_stage);
  const auto apply = [&](auto& events) {
    for (auto& event : events) {
      const bool has_own = !one_clock && event.stage < by_stage.size() && by_stage[event.stage] != none;
      const std::int64_t zero = has_own ? by_stage[event.stage] : first;
      event.start = std::clamp(event.start - zero, -far, far);
      event.end = std::clamp(event.end - zero, -far, far);
    }
  };
  apply(step.tasks);
  apply(step.transfers);
  apply(step.updates);
}

/// The first task's share of the time of two tasks.
double share(const TimesAlone& alone, const Task& first, const Task& second) {
  const auto passes_in = [](const Task& task) { return task.pass == Pass::backward ? 2.0 : 1.0; };
  const std::optional<double> one = alone.time_of(first);
  const std::optional<double> other = alone.time_of(second);
  const bool known = one && other && *one + *other > 0;
  const double part = known ? *one : passes_in(first);
  return part / (part + (known ? *other : passes_in(second)));
}

std::string name_of(const TaskEvent& event) {
  return fmt::format("{} on stage {}", to_string(event.task), event.stage);
}

} // namespace

std::vector<StepEvents> split_steps(Recorded& recorded) {
  DropCounts& dropped = recorded.dropped;
  keep_possible(recorded.tasks, dropped);
  keep_possible(recorded.transfers, dropped);
  keep_possible(recorded.updates, dropped);
  std::vector<StepEvents> steps;
  std::span<TransferEvent> transfers{recorded.transfers};
  std::span<UpdateEvent> updates{recorded.updates};
  for (auto begin = recorded.tasks.begin(); begin != recorded.tasks.end();) {
    const auto place = place_in_run(*begin);
    const auto end =
        std::find_if(begin, recorded.tasks.end(), [&](const auto& each) { return place_in_run(each) != place; });
    steps.push_back({.replica = begin->replica,
                     .step = begin->step,
                     .tasks = {begin, end},
                     .transfers = take_step(transfers, place, dropped),
                     .updates = take_step(updates, place, dropped)});
    begin = end;
  }
  if (const std::size_t left = transfers.size() + updates.size(); left > 0)
    dropped["transfers and updates of steps without a task"] += left;
  return steps;
}

std::size_t part_pairs(std::span<TaskEvent> tasks) {
  const auto in_one_piece = [](const TaskEvent& first, const TaskEvent& second) {
    return first.task.pairing == Pairing::first && second.task.pairing == Pairing::second &&
           first.stage == second.stage && first.start == second.start && first.end == second.end;
  };
  if (std::ranges::all_of(tasks, [](const TaskEvent& event) { return event.task.pairing == Pairing::alone; })) return 0;
  TimesAlone alone;
  for (const TaskEvent& event : tasks) alone.add(event.task, Duration{event.end - event.start});
  std::size_t pairs = 0;
  for (std::size_t i = 1; i < tasks.size(); ++i) {
    TaskEvent& first = tasks[i - 1];
    TaskEvent& second = tasks[i];
    if (!in_one_piece(first, second)) continue;
    const double length = static_cast<double>(first.end - first.start) * share(alone, first.task, second.task);
    first.end = std::min(first.start + static_cast<std::int64_t>(std::llround(length)), second.end);
    second.start = first.end;
    ++pairs;
  }
  return pairs;
}

std::optional<StepFault> find_incomplete(const StepEvents& step) {
  const std::string incomplete = "incomplete steps";
  std::size_t chunks = 0;
  std::size_t microbatches = 0;
  bool forward_only = true;
  for (const TaskEvent& event : step.tasks) {
    chunks = std::max(chunks, event.task.chunk_index + std::size_t{1});
    microbatches = std::max(microbatches, index(event.task.microbatch) + 1);
    forward_only = forward_only && event.task.pass == Pass::forward;
  }
  if (chunks * microbatches > step.tasks.size()) // the table is no larger than the step
    return StepFault{incomplete, fmt::format("{} tasks of {} chunks and {} microbatches are recorded",
                                             step.tasks.size(), chunks, microbatches)};
  Cells cells{chunks, microbatches};
  for (const TaskEvent& event : step.tasks)
    if (!cells.add(event.task)) return StepFault{task_is_twice, fmt::format("{} appears twice", to_string(event.task))};
  if (auto missing = cells.first_missing(forward_only)) return StepFault{incomplete, std::move(*missing)};
  return std::nullopt;
}

std::optional<StepFault> bring_into_order(const StepEvents& step, bool one_clock, std::int64_t time_error) {
  count_from_start(step, one_clock);
  std::int64_t done = 0;
  for (std::size_t i = 0; i < step.tasks.size(); ++i) {
    TaskEvent& event = step.tasks[i];
    if (event.end > max_duration.count())
      return StepFault{"steps longer than a day",
                       fmt::format("{} ends {} ns after the first task", name_of(event), event.end)};
    const bool first = i == 0 || step.tasks[i - 1].stage != event.stage;
    if (first) done = 0;
    const std::int64_t free = event.task.pairing == Pairing::second && !first ? step.tasks[i - 1].start : done;
    if (event.start < free - time_error)
      return StepFault{"steps whose tasks overlap on a stage",
                       fmt::format("{} starts {} ns before {} has ended", name_of(event), free - event.start,
                                   first ? "the step" : to_string(step.tasks[i - 1].task))};
    event.start = std::max(event.start, free);
    event.end = std::max(event.end, event.start);
    done = std::max(done, event.end);
  }
  return std::nullopt;
}

} // namespace ppsim::traces
