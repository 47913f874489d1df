#pragma once
// Stalls: time that tasks lose to the order of sends and receives.

#include "ppsim/graph/timeline.hpp"
#include "ppsim/operations/lowering.hpp"

#include <string>
#include <vector>

namespace ppsim {

/// A task that waited for an input because one of the two operations was queued after another one on its communicator,
/// or was launched late.
struct Stall {
  TaskId task{};           ///< the waiting task
  StageId stage{};         ///< its stage
  Span wait;               ///< the part of its wait that the order of operations caused: the label `stall`
  std::size_t waiting = 0; ///< position in CommOrder::ops(): the delayed send or receive of its input
  std::size_t behind = 0;  ///< position of the operation that delayed it; `waiting` itself if it was launched late
  [[nodiscard]] Duration length() const { return wait.length(); }
};
/// All stalls of `timeline`, a run of `order` on `communicators`: longest first; of equal ones the earliest first.
[[nodiscard]] std::vector<Stall> find_stalls(const TaskGraph& graph, const CommOrder& order,
                                             Communicators communicators, const Timeline& timeline);
/// "stage 1's 1F1 waits 4 ns: 2RECV_F0 from stage 1 was posted before 0SEND_F1 on the same communicator of stage 0". Of
/// several operations in front, it names the one that blocked longest.
[[nodiscard]] std::string describe(const TaskGraph& graph, const CommOrder& order, const Stall& stall);

} // namespace ppsim
