#pragma once
// Faults that a run is made to have, to see that it ends as it should.

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

/// In the second step, `task` has this fault.
struct Fault {
  FaultKind kind{};
  Task task{};
  /// Whether `other` is that task, alone or in a pair.
  [[nodiscard]] bool hits(const Task& other) const {
    return task.pass == other.pass && task.chunk_index == other.chunk_index && task.microbatch == other.microbatch;
  }
};

/// "fail@1F3", "stall@0B2", "no-memory@1F0", "lose@0F2", "resize@0F1". Nothing if it is none.
[[nodiscard]] std::optional<Fault> parse_fault(std::string_view text);

} // namespace ppsim::runtime
