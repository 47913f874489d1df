#pragma once
// Placement: another order of sends and receives, with a shorter step.

#include "ppsim/operations/lowering.hpp"

namespace ppsim {

/// A better place for the operations of a schedule.
struct Placement {
  CommOrder order;
  Duration before{0};        ///< makespan with the order that was given
  Duration after{0};         ///< with this one; longer only where groups, or waits, were worth more than any place
  Duration stalls_before{0}; ///< of all stages
  Duration stalls_after{0};
  std::size_t moved = 0; ///< operations that are elsewhere
};
/// Searches an order of operations with a shorter step than `order`, which may also hang; the tasks keep theirs. The
/// result runs to its end. It has no groups, and no task waits for what it does not need: what is written of it says
/// all that was simulated. `before` is zero where `order` hangs, or has a find_mismatch().
[[nodiscard]] Placement place_operations(const TaskGraph& graph, const CommOrder& order, Communicators communicators);

} // namespace ppsim
