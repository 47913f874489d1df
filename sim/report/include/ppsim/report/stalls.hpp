#pragma once
// Stalls: what the order of sends and receives cost a task.

#include "ppsim/graph/timeline.hpp"
#include "ppsim/operations/lowering.hpp"

#include <string>
#include <vector>

namespace ppsim {

/// A task that waited for an input because one of its two operations stood after another one on its communicator, or
/// was launched late.
struct Stall {
  TaskId task{};           ///< that waited
  StageId stage{};         ///< where it did
  Span wait;               ///< the part of its wait that the order of operations cost: the label `stall`
  std::size_t waiting = 0; ///< position in CommOrder::ops(): the send or the receive of its input that was held up
  std::size_t behind = 0;  ///< as above: the operation that held it up; `waiting` itself where it was launched late
  [[nodiscard]] Duration length() const { return wait.length(); }
};
/// All those of `timeline`, a run of `order` on `communicators`: longest first, of equal ones the earliest.
[[nodiscard]] std::vector<Stall> find_stalls(const TaskGraph& graph, const CommOrder& order,
                                             Communicators communicators, const Timeline& timeline);
/// "stage 1's 1F1 waits 4 ns: 2RECV_F0 from stage 1 was posted before 0SEND_F1 on the same communicator of stage 0". Of
/// several operations in front the one is named for which nothing flowed for longest.
[[nodiscard]] std::string describe(const TaskGraph& graph, const CommOrder& order, const Stall& stall);

} // namespace ppsim
