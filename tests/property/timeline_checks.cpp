// The checks of timeline_checks.hpp.

#include "property/timeline_checks.hpp"

#include <rapidcheck/catch.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include <rapidcheck.h>

namespace ppsim::test {

namespace {

/// The directed link, or the node's uplink, of a sender's transfer.
std::pair<std::size_t, std::size_t> link_of(const TaskGraph& graph, TaskId sender) {
  const Network& network = graph.scenario().network;
  const std::size_t from = index(graph.schedule().stage_of(sender));
  const std::size_t to = index(graph.schedule().stage_of(*graph.receiver(sender)));
  if (network.stages_per_node == 0 || from / network.stages_per_node == to / network.stages_per_node) return {from, to};
  return {1'000'000 + from / network.stages_per_node, 0};
}

} // namespace

bool transfers_meet(const Outcome& outcome) {
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::pair<SimTime, SimTime>>> links;
  for (std::size_t id = 0; id < outcome.graph.size(); ++id) {
    const TaskId sender = make_id<TaskId>(id);
    if (!outcome.graph.receiver(sender)) continue;
    const Span span = outcome.timeline.transfers[id];
    links[link_of(outcome.graph, sender)].emplace_back(span.start, span.end);
  }
  for (auto& [link, spans] : links) {
    // By start; equal starts keep the order of ids, which is the link's order.
    std::ranges::stable_sort(spans, {}, [](const auto& span) { return span.first; });
    for (std::size_t i = 1; i < spans.size(); ++i)
      if (spans[i].first < spans[i - 1].second) return true;
  }
  return false;
}

bool none_earlier(const Timeline& timeline, const Timeline& reference) {
  for (std::size_t id = 0; id < timeline.tasks.size(); ++id)
    if (timeline.tasks[id].start < reference.tasks[id].start) return false;
  return true;
}

void check_one_at_a_time(const Outcome& outcome, std::size_t stage) {
  const auto tasks = outcome.graph.schedule().stage(make_id<StageId>(stage));
  const std::size_t first = index(outcome.graph.schedule().first_task(make_id<StageId>(stage)));
  const bool in_one_piece = outcome.graph.scenario().pair.kind != PairRule::Kind::serial;
  for (std::size_t i = 1; i < tasks.size(); ++i) {
    const Span before = outcome.timeline.tasks[first + i - 1];
    const Span here = outcome.timeline.tasks[first + i];
    if (tasks[i].pairing == Pairing::second && in_one_piece)
      RC_ASSERT(here == before);
    else
      RC_ASSERT(here.start >= before.end);
  }
}

void check_account(const Outcome& outcome, std::size_t stage) {
  std::array<Duration, label_count> time{};
  SimTime now{};
  for (const LabelledSpan& span :
       account(outcome.graph, outcome.timeline, make_id<StageId>(stage), SimTime{outcome.report.makespan})) {
    RC_ASSERT(span.span.start == now);
    RC_ASSERT(span.span.end >= now);
    now = span.span.end;
    time[static_cast<std::size_t>(span.label)] += span.span.length();
  }
  const StageReport& report = outcome.report.stages[stage];
  RC_ASSERT(now == SimTime{outcome.report.makespan});
  RC_ASSERT(time == report.time);
  RC_ASSERT(report.busy + report.idle == outcome.report.makespan);
}

void check_critical_path(const Outcome& outcome) {
  SimTime now{};
  for (const PathStep& step : outcome.report.critical_path) {
    const Span span = span_of(outcome.timeline, step);
    RC_ASSERT(span.start == now);
    now = span.end;
  }
  RC_ASSERT(now == SimTime{outcome.report.makespan});
}

} // namespace ppsim::test
