#pragma once
// All orders of a tiny pipeline, as the engine runs them.

#include "ppsim/base/error.hpp"
#include "ppsim/study/evaluate.hpp"
#include "ppsim/study/synthesize.hpp"

#include <algorithm>
#include <random>
#include <span>
#include <vector>

namespace ppsim::test {

/// All orders of the tasks of one stage that have each microbatch's tasks in the order of `tasks`, and each task by
/// rising microbatch. `pairs`: also with any neighbours that can be an overlapped pair.
class TaskOrders {
public:
  TaskOrders(std::vector<Task> tasks, std::size_t microbatches, bool pairs)
      : tasks_{std::move(tasks)}, next_(microbatches), pairs_{pairs} {}

  std::vector<std::vector<Task>> all() && {
    extend();
    return std::move(found_);
  }

private:
  void extend() {
    if (order_.size() == tasks_.size() * next_.size()) return add_pairings(0);
    for (std::size_t j = 0; j < next_.size(); ++j) {
      if (next_[j] == tasks_.size() || (j > 0 && next_[j - 1] == next_[j])) continue;
      const Task& task = tasks_[next_[j]++];
      order_.push_back(make_task(task.pass, task.chunk_index, j));
      extend();
      order_.pop_back();
      --next_[j];
    }
  }

  /// The order, and each with more pairs among the tasks from `at` on.
  void add_pairings(std::size_t at) {
    if (at + 1 >= order_.size() || !pairs_) return found_.push_back(order_);
    add_pairings(at + 1);
    Task& first = order_[at];
    Task& second = order_[at + 1];
    if (first.pass != Pass::forward || (second.pass != Pass::backward && second.pass != Pass::input_grad)) return;
    first.pairing = Pairing::first;
    second.pairing = Pairing::second;
    add_pairings(at + 2);
    first.pairing = second.pairing = Pairing::alone;
  }

  std::vector<Task> tasks_;
  std::vector<std::size_t> next_; // by microbatch
  bool pairs_;
  std::vector<Task> order_;
  std::vector<std::vector<Task>> found_;
};

inline std::vector<Task> tasks_of(std::span<const StageId> placement, StageId stage, std::span<const Pass> passes) {
  std::vector<Task> tasks;
  for (std::size_t chunk = 0; chunk < placement.size(); ++chunk)
    if (placement[chunk] == stage) tasks.push_back(make_task(Pass::forward, chunk, 0));
  for (std::size_t chunk = placement.size(); chunk-- > 0;)
    if (placement[chunk] == stage)
      for (const Pass pass : passes.subspan(1)) tasks.push_back(make_task(pass, chunk, 0));
  return tasks;
}

/// The makespan of `schedule` in the run `spec`; none if it deadlocks or holds more than `limit` activations.
inline std::optional<Duration> makespan_of(RunSpec spec, Schedule schedule, std::optional<std::size_t> limit) {
  spec.order = std::make_shared<GivenOrder>(GivenOrder{std::move(schedule), "trial", "", {}});
  try {
    const RunReport report = evaluate(spec).report;
    const bool fits = !limit || std::ranges::all_of(report.stages, [&](const StageReport& stage) {
      return stage.peak_live_activations <= *limit;
    });
    return fits ? std::optional{report.makespan} : std::nullopt;
  } catch (const Error& error) {
    if (error.code() != ExitCode::no) throw;
    return std::nullopt;
  }
}

/// The least makespan of all orders; none if there are more than `most_orders`.
inline std::optional<Duration> least_of_all(const SynthesizedOrder& found, const Shape& shape,
                                            std::optional<std::size_t> limit, std::span<const Pass> passes,
                                            std::size_t most_orders, bool pairs = false) {
  const std::vector<StageId> placement = found.placement.place(shape);
  std::vector<std::vector<std::vector<Task>>> of_stage;
  std::size_t count = 1;
  for (const StageId stage : shape.stage_ids()) {
    of_stage.push_back(TaskOrders{tasks_of(placement, stage, passes), shape.microbatches, pairs}.all());
    count *= of_stage.back().size();
  }
  if (count > most_orders) return std::nullopt;
  Duration least = Duration::max();
  for (std::size_t i = 0; i < count; ++i) {
    ScheduleBuilder builder{"trial", shape};
    std::size_t left = i;
    for (const auto& orders : of_stage) {
      for (const Task& task : orders[left % orders.size()]) builder.add(task);
      builder.end_stage();
      left /= orders.size();
    }
    if (const auto makespan = makespan_of(found.spec, builder.build(), limit)) least = std::min(least, *makespan);
  }
  return least;
}

class DrawnTimes {
public:
  explicit DrawnTimes(std::uint32_t seed) : random_{seed} {}
  std::size_t from(std::size_t low, std::size_t high) { return low + random_() % (high - low + 1); }
  Duration ms(std::size_t low, std::size_t high) {
    return Duration{1'000'000 * static_cast<std::int64_t>(from(low, high))};
  }

private:
  std::mt19937 random_;
};

} // namespace ppsim::test
