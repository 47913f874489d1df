#pragma once
// The transfers between stages, and where each side may launch its operation. All lowerings use it.

#include "ppsim/operations/lowering.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace ppsim::lowering {

/// A transfer between two stages.
struct StageTransfer {
  TaskId sender{};
  TaskId receiver{};
  StageId from{};
  StageId to{};
  Pass pass{};                 ///< of the sender
  std::uint32_t edge = 0;      ///< the directed edge from `from` to `to`; numbered from 0
  std::uint32_t send_from = 0; ///< the least CommOp::before of its send: after its sender and the other half of a pair
  std::uint32_t needed = 0; ///< the largest CommOp::before of its receive: ahead of its receiver, or of the whole pair
};

/// All transfers between two stages.
class StageTransfers {
public:
  explicit StageTransfers(const TaskGraph& graph);
  /// By rising sender: on every edge in the order of its sends, if each send follows its task.
  [[nodiscard]] std::span<const StageTransfer> all() const { return all_; }
  [[nodiscard]] std::size_t edges() const { return edges_; }
  /// By transfer: the latest place of each receive if those of one edge keep the order of its sends.
  [[nodiscard]] std::vector<std::uint32_t> latest() const;

private:
  std::vector<StageTransfer> all_;
  std::size_t edges_ = 0;
};

/// By task, its end under `latency`; for both halves of a pair, the end of the pair, when both send.
[[nodiscard]] std::vector<SimTime> unit_ends(const TaskGraph& graph, const StageTransfers& transfers);

/// By task, its place in an order by these times in which every task follows all that it needs. Halves of a pair are
/// adjacent.
[[nodiscard]] std::vector<std::uint32_t> places_in_time(const TaskGraph& graph, std::span<const SimTime> ends);

/// An operation with its sort key among those at the same place.
struct PlacedOp {
  CommOp op;
  std::uint64_t key = 0;
};

/// The order with each stage's operations sorted by `before`, then by key.
[[nodiscard]] CommOrder sorted_order(std::vector<std::vector<PlacedOp>> stages);

/// Each send right after its task or pair; each receive at the place in `receives` for its transfer, after the sends
/// there.
[[nodiscard]] CommOrder order_with(const StageTransfers& transfers, std::span<const std::uint32_t> receives,
                                   std::size_t stages);

} // namespace ppsim::lowering
