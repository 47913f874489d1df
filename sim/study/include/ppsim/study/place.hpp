#pragma once
// Placement: finds an order of sends and receives with a shorter step.

#include "ppsim/operations/lowering.hpp"

namespace ppsim {

/// A better placement of a schedule's operations.
struct Placement {
  CommOrder order;
  Duration before{0}; ///< makespan with the given order
  Duration after{0};  ///< makespan with this order; longer only if groups, or waits, were worth more than any placement
  Duration stalls_before{0}; ///< of all stages
  Duration stalls_after{0};
  std::size_t moved = 0; ///< number of operations at another position
};
/// Searches for an order of operations with a shorter step than `order`, which may also hang; the order of tasks stays
/// unchanged. The result runs to its end. It has no groups, and no task waits for an operation that it does not need,
/// so a written schedule contains everything that was simulated. `before` is zero if `order` hangs or has a
/// find_mismatch().
[[nodiscard]] Placement place_operations(const TaskGraph& graph, const CommOrder& order, Communicators communicators);

} // namespace ppsim
