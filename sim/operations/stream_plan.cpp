#include "ppsim/operations/detail/stream_plan.hpp"

#include "ppsim/base/call.hpp"
#include "ppsim/base/error.hpp"

#include <algorithm>

namespace ppsim {
namespace {

class Planner {
public:
  Planner(const Schedule& schedule, const CommOrder& order, Communicators communicators)
      : schedule_{schedule}, order_{order}, communicators_{communicators},
        last_on_(2 * schedule.shape().stages, Last{}) {}

  StreamPlan plan() {
    PPSIM_ASSERT(order_.stages() == schedule_.shape().stages && order_.size() < StreamPlan::none);
    find_ends();
    plan_.send_unit.assign(schedule_.size(), StreamPlan::none);
    plan_.receive_unit.assign(schedule_.size(), StreamPlan::none);
    unit_of_.resize(order_.size());
    for (const StageId stage : order_.stage_ids()) {
      plan_.first_unit.push_back(static_cast<std::uint32_t>(plan_.units.size()));
      add_stage(stage);
    }
    plan_.first_unit.push_back(static_cast<std::uint32_t>(plan_.units.size()));
    list_members();
    return std::move(plan_);
  }

private:
  /// The last unit so far on a communicator of the current stage, with its group.
  struct Last {
    std::uint32_t unit = StreamPlan::none;
    std::uint32_t group = StreamPlan::none;
  };

  /// The stages that send and receive each transfer.
  void find_ends() {
    sent_on_.assign(schedule_.size(), StreamPlan::none);
    received_on_.assign(schedule_.size(), StreamPlan::none);
    for (const StageId stage : order_.stage_ids())
      for (const CommOp& op : order_.stage(stage)) {
        PPSIM_ASSERT(index(op.sender) < schedule_.size());
        std::uint32_t& end = (op.is_send ? sent_on_ : received_on_)[index(op.sender)];
        PPSIM_ASSERT(end == StreamPlan::none);
        end = static_cast<std::uint32_t>(stage);
      }
    PPSIM_ASSERT(std::ranges::equal(sent_on_, received_on_, [](std::uint32_t sent, std::uint32_t received) {
      return (sent == StreamPlan::none) == (received == StreamPlan::none);
    }));
  }

  [[nodiscard]] std::size_t communicator_of(const CommOp& op) const {
    return communicator_number(communicators_, schedule_.task(op.sender).pass,
                               (op.is_send ? received_on_ : sent_on_)[index(op.sender)], op.is_send);
  }

  void add_stage(StageId stage) {
    check_stop();
    const auto ops = order_.stage(stage);
    const std::size_t base = order_.first(stage);
    std::vector<std::size_t> used;
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (!ops[i].joins) ++group;
      const std::size_t communicator = communicator_of(ops[i]);
      Last& last = last_on_[communicator];
      if (last.unit == StreamPlan::none) used.push_back(communicator);
      if (last.group != group) add_unit(stage, ops[i], last, group);
      StreamUnit& unit = plan_.units[last.unit];
      unit.behind = std::max(unit.behind, place_of(stage, ops[i]));
      ++unit.first; // counts members until list_members()
      unit_of_[base + i] = last.unit;
      (ops[i].is_send ? plan_.send_unit : plan_.receive_unit)[index(ops[i].sender)] = last.unit;
    }
    for (const std::size_t communicator : used) last_on_[communicator] = {};
    join_launches(stage);
  }

  void add_unit(StageId stage, const CommOp& op, Last& last, std::uint32_t group) {
    const auto added = static_cast<std::uint32_t>(plan_.units.size());
    if (last.unit != StreamPlan::none) plan_.units[last.unit].next = added;
    plan_.units.push_back({.first = 0,
                           .next = StreamPlan::none,
                           .behind = place_of(stage, op),
                           .stage = static_cast<std::uint32_t>(index(stage)),
                           .leads = last.unit == StreamPlan::none});
    last = {added, group};
  }

  /// The id of the task before which `op` is launched.
  [[nodiscard]] std::uint32_t place_of(StageId stage, const CommOp& op) const {
    PPSIM_ASSERT(op.before <= schedule_.stage(stage).size());
    const std::size_t task = index(schedule_.first_task(stage)) + op.before;
    const bool inside = op.before < schedule_.stage(stage).size() && op.before > 0 &&
                        schedule_.tasks()[task].pairing == Pairing::second;
    return static_cast<std::uint32_t>(task + (inside ? 1 : 0));
  }

  /// A group is launched as one, with its last operation, after all of their tasks.
  void join_launches(StageId stage) {
    const auto ops = order_.stage(stage);
    const std::size_t base = order_.first(stage);
    for (std::size_t i = ops.size(); i-- > 1;)
      if (ops[i].joins) {
        std::uint32_t& behind = plan_.units[unit_of_[base + i - 1]].behind;
        behind = std::max(behind, plan_.units[unit_of_[base + i]].behind);
      }
  }

  void list_members() {
    std::uint32_t first = 0;
    for (StreamUnit& unit : plan_.units) {
      const std::uint32_t count = unit.first;
      unit.first = first;
      first += count;
    }
    plan_.units.push_back({.first = first});
    plan_.members.resize(order_.size());
    std::vector<std::uint32_t> filled(plan_.units.size() - 1, 0);
    for (std::size_t op = 0; op < order_.size(); ++op) {
      const std::uint32_t unit = unit_of_[op];
      plan_.members[plan_.units[unit].first + filled[unit]++] = static_cast<std::uint32_t>(op);
    }
  }

  const Schedule& schedule_;
  const CommOrder& order_;
  Communicators communicators_;
  std::vector<Last> last_on_; ///< by communicator_of()
  std::vector<std::uint32_t> sent_on_, received_on_;
  std::vector<std::uint32_t> unit_of_;
  StreamPlan plan_;
};

} // namespace

std::uint32_t held_by(const Schedule& schedule, const StreamUnit& unit, const CommOp& op) {
  const std::size_t end = index(schedule.end_task(make_id<StageId>(unit.stage)));
  const std::size_t task = std::min<std::size_t>(std::size_t{unit.behind} + op.holds_after, end);
  const bool inside = task < end && schedule.tasks()[task].pairing == Pairing::second;
  return static_cast<std::uint32_t>(task + (inside ? 1 : 0));
}

StreamPlan plan_streams(const Schedule& schedule, const CommOrder& order, Communicators communicators) {
  return Planner{schedule, order, communicators}.plan();
}

} // namespace ppsim
