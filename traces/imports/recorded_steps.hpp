#pragma once
// The events of a Recorded step by step, and which steps are whole.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "recorded.hpp"

namespace ppsim::traces {

/// The events of one step of one replica. Tasks stand stage by stage, each stage's as they ran.
struct StepEvents {
  std::uint32_t replica = 0;
  std::int64_t step = 0;
  std::span<TaskEvent> tasks;
  std::span<TransferEvent> transfers;
  std::span<UpdateEvent> updates;
};

/// A reason to leave a step out, and what was found, for a person who wonders.
struct StepFault {
  std::string reason;
  std::string found;
};

/// The reason where it was recorded twice, or in two runs.
inline constexpr const char* task_is_twice = "steps in which a task appears twice";

/// Sorts events and cuts them into steps, by rising replica and step. Those with impossible times or ids are taken out
/// and counted as dropped. The spans point into `recorded`.
[[nodiscard]] std::vector<StepEvents> split_steps(Recorded& recorded);

/// Of tasks in the order of split_steps(): where both halves of an overlapped pair have the time of the pair, the first
/// gets the share that its pass takes of both where they run alone (a B as much as I and W; an F, an I and a W as much
/// as each other where that is not known), and the second the rest. Returns of how many pairs.
std::size_t part_pairs(std::span<TaskEvent> tasks);

/// Nothing where every chunk has one F and one B (or I and W) of each microbatch; in a step without any backward one F.
[[nodiscard]] std::optional<StepFault> find_incomplete(const StepEvents& step);

/// Makes the times of a step small numbers: since its first task, or where stages have clocks of their own since the
/// first task of the stage. Then moves tasks of a stage apart that overlap by up to `time_error`. Says what cannot be.
[[nodiscard]] std::optional<StepFault> bring_into_order(const StepEvents& step, bool one_clock,
                                                        std::int64_t time_error);

} // namespace ppsim::traces
