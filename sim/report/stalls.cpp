// Finds the stalls caused by the order of sends and receives, by name.

#include "ppsim/report/stalls.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/operations/detail/stream_plan.hpp"
#include "ppsim/report/detail/accounting.hpp"
#include "ppsim/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace ppsim {
namespace {

class StallFinder {
public:
  StallFinder(const TaskGraph& graph, const CommOrder& order, Communicators communicators, const Timeline& timeline)
      : graph_{graph}, order_{order}, timeline_{timeline}, runs_{timeline.operations},
        plan_{plan_streams(graph.schedule(), order, communicators)}, before_(plan_.size(), StreamPlan::none),
        unit_of_(order.size()) {
    PPSIM_ASSERT(runs_.size() == order.size());
    for (std::uint32_t unit = 0; unit < plan_.size(); ++unit) {
      if (plan_.units[unit].next != StreamPlan::none) before_[plan_.units[unit].next] = unit;
      for (const std::uint32_t member : plan_.of(unit)) unit_of_[member] = unit;
    }
  }

  std::vector<Stall> find() {
    const SimTime end = end_of(timeline_);
    for (const StageId stage : order_.stage_ids())
      label_time(graph_, timeline_, stage, end, [&](const LabelledSpan& span) {
        if (span.label == Label::stall && span.span.length() > Duration{0}) stalls_.push_back(explain(stage, span));
      });
    std::ranges::sort(stalls_, {}, [](const Stall& stall) {
      return std::tuple{-stall.length(), stall.wait.start, stall.task};
    });
    return std::move(stalls_);
  }

private:
  Stall explain(StageId stage, const LabelledSpan& span) {
    const TaskId sender = timeline_.released_by[index(span.task)];
    Stall stall{.task = span.task, .stage = stage, .wait = span.span};
    const std::size_t receive = end_in(plan_, order_, plan_.receive_unit[index(sender)], sender);
    const std::size_t send = end_in(plan_, order_, plan_.send_unit[index(sender)], sender);
    const Cause cause = timeline_.cause[index(span.task)];
    const bool own_send = cause == Cause::send_activation || cause == Cause::send_gradient;
    if (span.span.start >= timeline_.transfers[index(sender)].end) { // only the rest of its group was missing
      stall.waiting = own_send ? send : receive;
      stall.behind = rest_of_group(span.task, stall.waiting);
      return stall;
    }
    const bool sent_alone = timeline_.transfers[index(sender)].start < runs_[receive].front; // eager
    stall.waiting = !sent_alone && runs_[receive].front > runs_[send].front ? receive : send;
    stall.behind = held_up_by(stall.waiting, span.span.start);
    return stall;
  }

  /// The member of the group of `waiting` that was done last.
  [[nodiscard]] std::size_t rest_of_group(TaskId task, std::size_t waiting) const {
    const TaskId last = timeline_.group_released_by[index(task)];
    const auto members = plan_.of(unit_of_[waiting]);
    const auto found = std::ranges::find(members, last, [&](std::uint32_t op) { return order_.ops()[op].sender; });
    if (found != members.end()) return *found;
    return held_up_by(waiting, runs_[waiting].launched); // its data had arrived before it was in front
  }

  /// Among the operations in front of `waiting` after `since`, the one without a flowing transfer for longest; of equal
  /// ones the first. `waiting` itself if there are none.
  [[nodiscard]] std::size_t held_up_by(std::size_t waiting, SimTime since) const {
    std::size_t blamed = waiting;
    Duration longest{-1};
    std::uint32_t unit = unit_of_[waiting];
    while (runs_[plan_.of(unit).front()].front > runs_[plan_.of(unit).front()].launched &&
           before_[unit] != StreamPlan::none) {
      unit = before_[unit];
      if (runs_[plan_.of(unit).front()].done <= since) break;
      for (const std::uint32_t member : plan_.of(unit)) {
        const Span transfer = timeline_.transfers[index(order_.ops()[member].sender)];
        const SimTime from = std::max(runs_[member].front, since);
        const Duration idle = std::max(transfer.start - from, Duration{0});
        if (idle < longest) continue;
        longest = idle;
        blamed = member;
      }
    }
    return blamed;
  }

  const TaskGraph& graph_;
  const CommOrder& order_;
  const Timeline& timeline_;
  const std::vector<OpRun>& runs_; ///< by operation
  StreamPlan plan_;
  std::vector<std::uint32_t> before_;  ///< by unit: the one before it on its communicator
  std::vector<std::uint32_t> unit_of_; ///< by operation
  std::vector<Stall> stalls_;
};

bool same_group(const CommOrder& order, std::size_t a, std::size_t b) {
  if (stage_of(order, a) != stage_of(order, b)) return false;
  for (std::size_t i = std::min(a, b) + 1; i <= std::max(a, b); ++i)
    if (!order.ops()[i].joins) return false;
  return true;
}

/// The other end of `op`: "from stage 2".
std::string other_end(const TaskGraph& graph, const CommOp& op) {
  const StageId from = graph.schedule().stage_of(op.sender);
  return op.is_send ? fmt::format("to stage {}", index(graph.schedule().stage_of(*graph.receiver(op.sender))))
                    : fmt::format("from stage {}", index(from));
}

} // namespace

std::vector<Stall> find_stalls(const TaskGraph& graph, const CommOrder& order, Communicators communicators,
                               const Timeline& timeline) {
  return StallFinder{graph, order, communicators, timeline}.find();
}

std::string describe(const TaskGraph& graph, const CommOrder& order, const Stall& stall) {
  const Schedule& schedule = graph.schedule();
  const CommOp& waiting = order.ops()[stall.waiting];
  const CommOp& behind = order.ops()[stall.behind];
  const std::size_t stage = stage_of(order, stall.waiting);
  const std::string name = to_string(schedule, waiting);
  const std::string head = fmt::format("stage {}'s {} waits {}: ", index(stall.stage),
                                       to_string(schedule.task(stall.task)), format_duration(stall.length()));
  if (stall.waiting == stall.behind) {
    if (waiting.before == 0) return fmt::format("{}stage {} launched {} late, at its start", head, stage, name);
    const std::size_t after = index(schedule.first_task(make_id<StageId>(stage))) + waiting.before - 1;
    return fmt::format("{}stage {} launched {} late, after {}", head, stage, name, to_string(schedule.tasks()[after]));
  }
  const std::string first = fmt::format("{} {}", to_string(schedule, behind), other_end(graph, behind));
  if (same_group(order, stall.waiting, stall.behind))
    return fmt::format("{}{}, of the same group as {} on stage {}, had not finished", head, first, name, stage);
  return fmt::format("{}{} was posted before {} on the same communicator of stage {}", head, first, name, stage);
}

} // namespace ppsim
