#pragma once
// Means of measured task and transfer times, and steps simulated with them.

#include "ppsim/base/detail/wide.hpp"
#include "ppsim/measured/measured.hpp"

#include <functional>
#include <optional>
#include <ranges>
#include <vector>

namespace ppsim {

/// Running mean and standard deviation of durations (Welford). The mean is exact, rounded to the nearest; both are zero
/// without values.
class RunningMean {
public:
  void add(Duration value) {
    sum_ += value.count();
    const auto number = static_cast<double>(value.count());
    const double before = number - mean_;
    mean_ += before / static_cast<double>(++runs_);
    squares_ += before * (number - mean_);
  }
  [[nodiscard]] std::size_t runs() const { return runs_; }
  [[nodiscard]] Duration mean() const;
  [[nodiscard]] Duration spread() const;

private:
  Int128 sum_ = 0;
  double mean_ = 0, squares_ = 0;
  std::size_t runs_ = 0;
};

/// Of `values`, or of the durations that `length` finds in them.
template <class Values, class Length = std::identity>
[[nodiscard]] Duration mean_duration(const Values& values, Length length = {}) {
  RunningMean mean;
  for (const auto& value : values) mean.add(std::invoke(length, value));
  return mean.mean();
}

/// The end of the last task. The first one starts at zero.
[[nodiscard]] Duration time_of_tasks(const Timeline& timeline);

/// The time of a transfer: from its sender's end to its receiver's begin at most.
[[nodiscard]] Duration transfer_time(const Timeline& step, TaskId sender, TaskId receiver);

/// The usual transfer time: the lowest quarter of the times, at least one. The others include waits of both sides.
[[nodiscard]] RunningMean usual_transfer(std::vector<Duration> times);

/// Equivalent tasks: of one pass and chunk on one stage.
struct TaskGroup {
  StageId stage{};
  std::uint16_t chunk = 0;
  Pass pass{};
  std::size_t tasks = 0;             ///< per step
  std::optional<StageId> receiver{}; ///< of their outputs
  std::size_t way = 0;               ///< of their outputs, by number
};

/// The groups of an order's tasks.
struct TaskGroups {
  std::vector<TaskGroup> groups;  ///< by stage, pass and chunk
  std::vector<std::uint32_t> of;  ///< by task
  std::vector<std::size_t> first; ///< by stage: its first group; then the total number
  std::size_t ways = 0;           ///< directed boundaries between chunks on two stages
  /// The numbers of all groups, and of those of a stage.
  [[nodiscard]] auto all() const { return std::views::iota(std::size_t{0}, groups.size()); }
  [[nodiscard]] auto of_stage(StageId stage) const {
    return std::views::iota(first[index(stage)], first[index(stage) + 1]);
  }
};
[[nodiscard]] TaskGroups task_groups(const TaskGraph& graph);

/// Durations for a simulation, one per task.
struct StepCosts {
  std::vector<Duration> task;
  std::vector<Duration> transfer; ///< of its output; zero where it sends nothing
  std::vector<Duration>
      pair_delay; ///< from the end of a first half to the start of its second: zero, or negative if they overlapped
};

/// The task and transfer times of a step.
[[nodiscard]] StepCosts costs_of_step(const TaskGraph& graph, const Timeline& step);

/// Durations by group.
struct GroupCosts {
  std::vector<Duration> task;
  std::vector<Duration> transfer;
  std::vector<Duration> pair_delay;
};
/// Means over steps [first, last) of `run`; for transfers the usual time of recorded ones, zero if there are none.
[[nodiscard]] GroupCosts mean_costs(const TaskGraph& graph, const TaskGroups& groups, const MeasuredRun& run,
                                    std::size_t first, std::size_t last);
[[nodiscard]] StepCosts spread_over_tasks(const TaskGroups& groups, const GroupCosts& costs);

/// The end of the last task, if each begins as soon as its stage is free and its input has arrived.
[[nodiscard]] Duration tasks_end(const TaskGraph& graph, const StepCosts& costs);

} // namespace ppsim
