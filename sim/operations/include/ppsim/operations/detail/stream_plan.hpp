#pragma once
// The sends and receives of a schedule by communicator, for the engine of `streams` and the check for hangs.

#include "ppsim/schedule/comm_order.hpp"
#include "ppsim/schedule/schedule.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace ppsim {

/// The operations of one group on one communicator of a stage: they reach the front together and end together. A single
/// operation is a unit of one.
struct StreamUnit {
  std::uint32_t first = 0;  ///< in StreamPlan::members; ends at the next unit's first
  std::uint32_t next = 0;   ///< the next unit on its communicator, on its stage; StreamPlan::none for the last
  std::uint32_t behind = 0; ///< launched when the tasks of its stage with ids below this one are done
  std::uint32_t stage = 0;
  bool leads = false; ///< it is the first on its communicator there
};

/// The order of all units.
struct StreamPlan {
  static constexpr std::uint32_t none = 0xFFFFFFFFU;

  std::vector<StreamUnit> units;           ///< stage by stage, in launch order; one more marks the end
  std::vector<std::uint32_t> first_unit;   ///< by stage, and one more
  std::vector<std::uint32_t> members;      ///< positions in CommOrder::ops(), unit by unit
  std::vector<std::uint32_t> send_unit;    ///< by the sending task; none if it does not send
  std::vector<std::uint32_t> receive_unit; ///< as above

  [[nodiscard]] std::size_t size() const { return units.size() - 1; }
  [[nodiscard]] std::span<const std::uint32_t> of(std::size_t unit) const {
    return std::span{members}.subspan(units[unit].first, units[unit + 1].first - units[unit].first);
  }
};

/// Whether the output of a `sender` of that pass uses another communicator than an activation in the same direction.
[[nodiscard]] inline bool is_apart(Communicators communicators, Pass sender) {
  return communicators == Communicators::direction && sender != Pass::forward;
}

/// A number for the communicator of an operation, unique among those of its stage; `sender` is the pass whose output is
/// sent, `peer` the stage at the other end.
[[nodiscard]] inline std::size_t communicator_number(Communicators communicators, Pass sender, std::size_t peer,
                                                     bool is_send) {
  switch (communicators) {
  case Communicators::edge:
    return 2 * peer + (is_send ? 1 : 0);
  case Communicators::pair:
    return peer;
  case Communicators::direction:
    return is_apart(communicators, sender) ? 1 : 0;
  case Communicators::group:
    break;
  }
  return 0;
}

/// Position in CommOrder::ops() of the member of `unit` that sends or receives the transfer of `sender`.
[[nodiscard]] inline std::size_t end_in(const StreamPlan& plan, const CommOrder& order, std::uint32_t unit,
                                        TaskId sender) {
  return *std::ranges::find(plan.of(unit), sender, [&](std::uint32_t op) { return order.ops()[op].sender; });
}

/// The stage of an operation, a position in CommOrder::ops().
[[nodiscard]] inline std::size_t stage_of(const CommOrder& order, std::size_t operation) {
  std::size_t stage = 0;
  while (order.first(make_id<StageId>(stage + 1)) <= operation) ++stage;
  return stage;
}

/// The id of the task that waits for `op` of `unit` (CommOp::holds); after the last task of its stage, the next stage's
/// first.
[[nodiscard]] std::uint32_t held_by(const Schedule& schedule, const StreamUnit& unit, const CommOp& op);

/// Plans `order`, which must pass check_operations() for `schedule`. An operation between the halves of a pair is
/// launched after both; a group after all tasks before its last operation.
[[nodiscard]] StreamPlan plan_streams(const Schedule& schedule, const CommOrder& order, Communicators communicators);

} // namespace ppsim
