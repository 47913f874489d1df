#pragma once
// Faults: injected failures, to test how a run ends.

#include "ppsim/schedule/schedule.hpp"

#include <optional>
#include <string_view>

namespace ppsim::runtime {

enum class FaultKind : std::uint8_t {
  fail,      ///< the task throws
  stall,     ///< the task never ends
  no_memory, ///< its stash cannot be allocated
  lose,      ///< its output is never sent
  resize     ///< its output is sent with another size
};

/// A fault of `task` in the second step.
struct Fault {
  FaultKind kind{};
  Task task{};
  /// Whether `other` is that task, alone or in a pair.
  [[nodiscard]] bool hits(const Task& other) const {
    return task.pass == other.pass && task.chunk_index == other.chunk_index && task.microbatch == other.microbatch;
  }
};

/// Parses "fail@1F3", "stall@0B2", "no-memory@1F0", "lose@0F2", "resize@0F1". None if `text` is not a fault.
[[nodiscard]] std::optional<Fault> parse_fault(std::string_view text);

} // namespace ppsim::runtime
