#pragma once
// Labels each nanosecond of a stage's time (SPEC section 4). Only this file assigns labels.

#include "ppsim/report/report.hpp"

#include <algorithm>

namespace ppsim {

/// Whether the release came by a transfer.
[[nodiscard]] constexpr bool comes_by_transfer(Cause cause) {
  return cause == Cause::activation || cause == Cause::gradient || cause == Cause::send_activation ||
         cause == Cause::send_gradient;
}

/// The half of `task`'s pair that has the release: the first, if both halves start together.
[[nodiscard]] inline TaskId releasing_half(const TaskGraph& graph, const Timeline& timeline, TaskId task) {
  const bool second = graph.schedule().task(task).pairing == Pairing::second;
  return second && timeline.tasks[index(task)].start < timeline.tasks[index(task) - 1].end
             ? make_id<TaskId>(index(task) - 1)
             : task;
}

/// The label of a wait for a peer that is not ready. Activations come from the chunk before, gradients from the chunk
/// after. A stage that waits for the end of its own send waits for the other side.
[[nodiscard]] constexpr Label peer_label(Cause cause) {
  return cause == Cause::activation || cause == Cause::send_gradient ? Label::upstream : Label::downstream;
}

/// Under `streams`: the time between the end of the sender and the start of the flow, and between arrival and the
/// arrival of the rest of its group, are stalls caused by the order of operations.
template <class Visit>
void label_stream_wait(const Timeline& timeline, TaskId id, Span wait, Visit visit) {
  const std::size_t sender = index(timeline.released_by[index(id)]);
  const SimTime made = std::clamp(timeline.tasks[sender].end, wait.start, wait.end);
  const SimTime flows = std::clamp(timeline.transfers[sender].start, made, wait.end);
  const SimTime arrived = std::clamp(timeline.transfers[sender].end, flows, wait.end);
  visit(LabelledSpan{peer_label(timeline.cause[index(id)]), {wait.start, made}, id});
  visit(LabelledSpan{Label::stall, {made, flows}, id});
  visit(LabelledSpan{Label::transfer, {flows, arrived}, id});
  visit(LabelledSpan{Label::stall, {arrived, wait.end}, id});
}

/// Splits the wait of `task` in [begin, end) and calls visit(LabelledSpan) for each part. The time after the arrival of
/// its last input is the host's; only measured timelines have such gaps.
template <class Visit>
void label_wait(const Timeline& timeline, TaskId id, Span wait, Visit visit) {
  const Cause cause = timeline.cause[index(id)];
  if (!comes_by_transfer(cause)) return visit(LabelledSpan{Label::host, wait, id});
  if (!timeline.group_released_by.empty()) return label_stream_wait(timeline, id, wait, visit);
  const std::size_t sender = index(timeline.released_by[index(id)]);
  const bool own_send = cause == Cause::send_activation || cause == Cause::send_gradient;
  SimTime started = std::clamp(timeline.transfers[sender].start, wait.start, wait.end);
  // A stage's own send is delayed by the peer, not by a link.
  const SimTime asked = own_send ? started : std::clamp(timeline.tasks[sender].end, wait.start, wait.end);
  started = std::max(started, asked); // slices leave before their sender has ended
  const SimTime arrived = std::clamp(timeline.transfers[sender].end, started, wait.end);
  visit(LabelledSpan{peer_label(cause), {wait.start, asked}, id});
  visit(LabelledSpan{Label::link, {asked, started}, id});
  visit(LabelledSpan{Label::transfer, {started, arrived}, id});
  visit(LabelledSpan{Label::host, {arrived, wait.end}, id});
}

[[nodiscard]] constexpr Label busy_label(const Task& task) {
  return static_cast<Label>(task.pass);
}
static_assert(static_cast<int>(Label::weight_grad) == static_cast<int>(Pass::weight_grad));

/// Splits a wait after a stage's last task: `drain` until `border`, then `flush`.
template <class Visit>
void label_rest(Span rest, SimTime border, Visit visit) {
  const SimTime drained = std::clamp(border, rest.start, rest.end);
  visit(LabelledSpan{Label::drain, {rest.start, drained}, no_task});
  visit(LabelledSpan{Label::flush, {drained, rest.end}, no_task});
}

/// Labels the time of `stage` from the end of its last task, `now`, to `end`: drain until the last task of all stages
/// has ended, then flush (reductions and optimizer steps). A stage with its own optimizer step does not wait for other
/// stages' tasks before it: that time is also flush, except for its last send.
template <class Visit>
void label_end(const TaskGraph& graph, const Timeline& timeline, StageId stage, SimTime now, SimTime end, Visit visit) {
  if (timeline.optimizer.empty()) return visit(LabelledSpan{Label::drain, {now, end}, no_task});
  const Span step = timeline.optimizer[index(stage)].span;
  const SimTime all_done = tasks_end(graph, timeline);
  const bool alone = graph.scenario().update.step == OptimizerStep::per_stage;
  const std::size_t last = index(graph.schedule().end_task(stage)) - 1;
  const bool blocking = graph.scenario().network.model == TransferModel::blocking;
  SimTime sent = blocking ? std::max(now, timeline.transfers[last].end) : now;
  if (!timeline.held_end.empty()) sent = std::max(now, timeline.held_end[index(stage)].at);
  label_rest({now, step.start}, alone ? sent : all_done, visit);
  if (step.length() > Duration{0}) visit(LabelledSpan{Label::optimizer, step, no_task});
  label_rest({step.end, end}, all_done, visit);
}

/// Calls visit(LabelledSpan) for `stage`'s time from zero to `end`, without gaps; spans may be empty.
template <class Visit>
void label_time(const TaskGraph& graph, const Timeline& timeline, StageId stage, SimTime end, Visit visit) {
  const std::size_t first = index(graph.schedule().first_task(stage));
  const auto tasks = graph.schedule().stage(stage);
  const bool recomputes = graph.scenario().recompute.is_on();
  SimTime now{};
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const TaskId id = make_id<TaskId>(first + i);
    Span busy = timeline.tasks[first + i];
    if (busy.start > now) {
      if (i == 0)
        visit(LabelledSpan{Label::warmup, {now, busy.start}, id});
      else
        label_wait(timeline, id, {now, busy.start}, visit);
    }
    Label label = busy_label(tasks[i]);
    if (tasks[i].pairing == Pairing::first) { // one span for both halves
      label = Label::overlap;
      const Span other = timeline.tasks[first + ++i];
      if (other.start > busy.end) { // measured, one after the other
        visit(LabelledSpan{label, busy, id});
        label_wait(timeline, make_id<TaskId>(first + i), {busy.end, other.start}, visit);
        busy.start = other.start;
      }
      busy.end = std::max(busy.end, other.end);
    } else if (recomputes) {
      const Span again = recompute_span(graph, timeline, id);
      if (again.length() > Duration{0}) visit(LabelledSpan{Label::recompute, again, id});
      busy.start = again.end;
    }
    visit(LabelledSpan{label, busy, id});
    now = busy.end;
  }
  if (tasks.empty())
    visit(LabelledSpan{Label::warmup, {now, end}, no_task});
  else if (end > now)
    label_end(graph, timeline, stage, now, end, visit);
}

} // namespace ppsim
