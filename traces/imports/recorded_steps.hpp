#pragma once
// Splits the events of a Recorded into steps, and finds the complete ones.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "recorded.hpp"

namespace ppsim::traces {

/// The events of one step of one replica. Tasks are sorted by stage, then in running order.
struct StepEvents {
  std::uint32_t replica = 0;
  std::int64_t step = 0;
  std::span<TaskEvent> tasks;
  std::span<TransferEvent> transfers;
  std::span<UpdateEvent> updates;
};

/// A reason to drop a step, with details for the user.
struct StepFault {
  std::string reason;
  std::string found;
};

/// The reason for a step recorded twice, or in two runs.
inline constexpr const char* task_is_twice = "steps in which a task appears twice";

/// Sorts events and splits them into steps, by rising replica and step. Removes those with impossible times or ids and
/// counts them as dropped. The spans point into `recorded`.
[[nodiscard]] std::vector<StepEvents> split_steps(Recorded& recorded);

/// For tasks in the order of split_steps(): if both halves of an overlapped pair have the time of the pair, the first
/// gets the share of its pass in the times alone (a B counts as I and W; F, I and W count equally if unknown), and the
/// second the rest. Returns the number of such pairs.
std::size_t part_pairs(std::span<TaskEvent> tasks);

/// None if every chunk has one F and one B (or I and W) for each microbatch; in a step without any backward one F.
[[nodiscard]] std::optional<StepFault> find_incomplete(const StepEvents& step);

/// Makes the times of a step relative: to its first task, or, with separate clocks, to the first task of the stage.
/// Then moves tasks of a stage apart that overlap by up to `time_error`. Returns the fault if the step is impossible.
[[nodiscard]] std::optional<StepFault> bring_into_order(const StepEvents& step, bool one_clock,
                                                        std::int64_t time_error);

} // namespace ppsim::traces
