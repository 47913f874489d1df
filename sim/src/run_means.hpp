#pragma once
// What tasks and transfers of a measured run took, and steps simulated from that.

#include "ppsim/sim/measured.hpp"

#include <optional>
#include <vector>

#include "wide.hpp"

namespace ppsim {

/// The mean of many durations, rounded to the nearest; zero of none.
class Mean {
public:
  void add(Duration value) {
    sum_ += value.count();
    ++count_;
  }
  [[nodiscard]] Duration value() const {
    if (count_ == 0) return Duration{0};
    const Int128 half = count_ / 2;
    return Duration{static_cast<std::int64_t>((sum_ + (sum_ < 0 ? -half : half)) / count_)};
  }

private:
  Int128 sum_ = 0;
  Int128 count_ = 0;
};

/// The end of the last task. The first one starts at zero.
[[nodiscard]] Duration time_of_tasks(const Timeline& timeline);

/// Tasks that are alike: of one pass and chunk on one stage.
struct TaskGroup {
  StageId stage{};
  std::uint16_t chunk = 0;
  Pass pass{};
  std::size_t tasks = 0;             ///< per step
  std::optional<StageId> receiver{}; ///< of their outputs
};

/// Which tasks of an order are alike.
struct TaskGroups {
  std::vector<TaskGroup> groups; ///< by stage, pass and chunk
  std::vector<std::uint32_t> of; ///< by task
};
[[nodiscard]] TaskGroups task_groups(const TaskGraph& graph);

/// Durations for a simulation, one per task.
struct StepCosts {
  std::vector<Duration> task;
  std::vector<Duration> transfer;   ///< of its output; zero where it sends nothing
  std::vector<Duration> pair_delay; ///< from the end of a first half to the start of its second: zero, or below where
                                    ///< they ran together
};

/// What tasks and transfers of a step took. Of a transfer only the time counts that passed after its sender had ended
/// and before its receiver began.
[[nodiscard]] StepCosts own_costs(const TaskGraph& graph, const Timeline& step);

/// Durations by group.
struct GroupCosts {
  std::vector<Duration> task;
  std::vector<Duration> transfer;
  std::vector<Duration> pair_delay;
};
/// Means over steps [first, last) of `run`; of transfers the mean of the lowest quarter.
[[nodiscard]] GroupCosts mean_costs(const TaskGraph& graph, const TaskGroups& groups, const MeasuredRun& run,
                                    std::size_t first, std::size_t last);
[[nodiscard]] StepCosts spread_over_tasks(const TaskGroups& groups, const GroupCosts& costs);

/// When the last task ends, where each begins as soon as its stage is free and its input there.
[[nodiscard]] Duration tasks_end(const TaskGraph& graph, const StepCosts& costs);

} // namespace ppsim
