#pragma once
// The sends and receives of a schedule as communicators take them; what the engine of `streams` and the check for hangs
// walk over.

#include "ppsim/schedule/comm_order.hpp"
#include "ppsim/schedule/schedule.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace ppsim {

/// The operations of one group on one communicator of a stage: they get in front together, and are done together. One
/// that is alone is a unit by itself.
struct StreamUnit {
  std::uint32_t first = 0;  ///< in StreamPlan::members, up to the first of the unit after it
  std::uint32_t next = 0;   ///< the unit after it on its communicator, on its stage; StreamPlan::none for the last
  std::uint32_t behind = 0; ///< launched when the tasks of its stage with ids below this one are done
  std::uint32_t stage = 0;
  bool leads = false; ///< it is the first on its communicator there
};

/// Who is after whom.
struct StreamPlan {
  static constexpr std::uint32_t none = 0xFFFFFFFFU;

  std::vector<StreamUnit> units;           ///< stage by stage, in launch order; and one that says where they end
  std::vector<std::uint32_t> first_unit;   ///< by stage, and one more
  std::vector<std::uint32_t> members;      ///< positions in CommOrder::ops(), unit by unit
  std::vector<std::uint32_t> send_unit;    ///< by the task that sends; none where it does not
  std::vector<std::uint32_t> receive_unit; ///< as above

  [[nodiscard]] std::size_t size() const { return units.size() - 1; }
  [[nodiscard]] std::span<const std::uint32_t> of(std::size_t unit) const {
    return std::span{members}.subspan(units[unit].first, units[unit + 1].first - units[unit].first);
  }
};

/// Whether what a `sender` of that pass sends has another communicator than an activation that goes the same way.
[[nodiscard]] inline bool is_apart(Communicators communicators, Pass sender) {
  return communicators == Communicators::direction && sender != Pass::forward;
}

/// A number for the communicator of an operation, unlike those of the other communicators of its stage; `sender` is the
/// pass whose output goes, `peer` the stage at the other end.
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

/// Position in CommOrder::ops() of the member of `unit` that is an end of the transfer of `sender`.
[[nodiscard]] inline std::size_t end_in(const StreamPlan& plan, const CommOrder& order, std::uint32_t unit,
                                        TaskId sender) {
  return *std::ranges::find(plan.of(unit), sender, [&](std::uint32_t op) { return order.ops()[op].sender; });
}

/// Whose operation it is: `operation` is a position in CommOrder::ops().
[[nodiscard]] inline std::size_t stage_of(const CommOrder& order, std::size_t operation) {
  std::size_t stage = 0;
  while (order.first(make_id<StageId>(stage + 1)) <= operation) ++stage;
  return stage;
}

/// The id of the task that waits for `op` of `unit`, which CommOp::holds; after the last one of its stage, of the next
/// stage's first.
[[nodiscard]] std::uint32_t held_by(const Schedule& schedule, const StreamUnit& unit, const CommOp& op);

/// `order` has to fit `schedule`, as check_operations() asks for. An operation between the halves of a pair is launched
/// after both; a group, after all that its last operation is behind.
[[nodiscard]] StreamPlan plan_streams(const Schedule& schedule, const CommOrder& order, Communicators communicators);

} // namespace ppsim
