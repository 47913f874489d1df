#include "ppsim/report/report.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/report/detail/accounting.hpp"
#include "ppsim/report/detail/memory.hpp"
#include "ppsim/schedule/detail/phases.hpp"

#include <algorithm>

namespace ppsim {
namespace {

void measure_memory(const TaskGraph& graph, const Timeline& timeline, StageId stage, StageReport& report) {
  report.weight_versions = weight_versions(graph, timeline, stage);
  report.static_bytes = static_bytes(graph, stage, report.weight_versions);
  Bytes bytes;
  std::ptrdiff_t live = 0;
  std::ptrdiff_t peak_live = 0;
  walk_activations(graph, timeline, stage, [&](SimTime at, Bytes change, int count, TaskId task) {
    bytes += change;
    live += count;
    const bool higher = bytes > report.peak_activation_bytes ||
                        (bytes == report.peak_activation_bytes && bytes == Bytes{} && live > peak_live);
    peak_live = std::max(peak_live, live);
    if (!higher) return;
    report.peak_activation_bytes = bytes;
    report.peak_at = at;
    report.peak_task = task;
  });
  report.peak_live_activations = static_cast<std::size_t>(peak_live);
}

StageReport report_stage(const TaskGraph& graph, const Timeline& timeline, StageId stage, SimTime end) {
  StageReport report;
  label_time(graph, timeline, stage, end, [&](const LabelledSpan& span) {
    report.time[static_cast<std::size_t>(span.label)] += span.span.length();
    (is_idle(span.label) ? report.idle : report.busy) += span.span.length();
  });
  const std::size_t first = index(graph.schedule().first_task(stage));
  const auto tasks = graph.schedule().stage(stage);
  if (!tasks.empty()) report.extent = {timeline.tasks[first].start, timeline.tasks[first + tasks.size() - 1].end};
  if (!timeline.optimizer.empty() && timeline.optimizer[index(stage)].span.length() > Duration{0})
    report.extent.end = timeline.optimizer[index(stage)].span.end;
  const Phases phases = count_phases(graph.schedule(), stage);
  report.warmup_forwards = phases.warmup_forwards;
  report.steady_pairs = phases.steady_pairs;
  report.cooldown_backwards = phases.cooldown_backwards;
  measure_memory(graph, timeline, stage, report);
  return report;
}

/// The first moment at which `stage`, which starts with `bytes`, exceeds `limit`.
std::optional<Overflow> find_overflow(const TaskGraph& graph, const Timeline& timeline, StageId stage, Bytes bytes,
                                      Bytes limit) {
  std::optional<Overflow> overflow;
  if (bytes > limit) return Overflow{stage, no_task, SimTime{}, bytes};
  walk_activations(graph, timeline, stage, [&](SimTime at, Bytes change, int, TaskId task) {
    bytes += change;
    if (bytes > limit && !overflow) overflow = Overflow{stage, task, at, bytes};
  });
  return overflow;
}

std::optional<Overflow> first_overflow(const TaskGraph& graph, const Timeline& timeline,
                                       const std::vector<StageReport>& stages) {
  const std::optional<Bytes> limit = graph.scenario().memory.limit;
  std::optional<Overflow> earliest;
  for (std::size_t stage = 0; limit && stage < stages.size(); ++stage) {
    if (stages[stage].peak_bytes() <= *limit) continue;
    const auto overflow = find_overflow(graph, timeline, make_id<StageId>(stage), stages[stage].static_bytes, *limit);
    if (overflow && (!earliest || overflow->at < earliest->at)) earliest = overflow;
  }
  return earliest;
}

} // namespace

std::string_view to_string(Label label) {
  constexpr std::array<std::string_view, label_count> names{
      "F",        "B",          "I",    "W",     "overlap",  "recompute", "optimizer", "warmup",
      "upstream", "downstream", "link", "stall", "transfer", "drain",     "flush",     "host"};
  return names[static_cast<std::size_t>(label)];
}

std::array<Duration, label_count> Report::time_by_label() const {
  std::array<Duration, label_count> total{};
  for (const StageReport& stage : stages)
    for (std::size_t label = 0; label < label_count; ++label) total[label] += stage.time[label];
  return total;
}

Bytes Report::peak_bytes() const {
  Bytes most;
  for (const StageReport& stage : stages) most = std::max(most, stage.peak_bytes());
  return most;
}

Report analyse(const TaskGraph& graph, const Timeline& timeline) {
  PPSIM_ASSERT(timeline.tasks.size() == graph.size());
  Report report;
  const SimTime end = end_of(timeline);
  report.makespan = end - SimTime{};
  Duration busy{0};
  Duration longest_span{-1};
  for (const StageId stage : graph.schedule().stage_ids()) {
    const StageReport& added = report.stages.emplace_back(report_stage(graph, timeline, stage, end));
    busy += added.busy;
    report.ideal = std::max(report.ideal, added.busy);
    if (added.extent.length() > longest_span) {
      longest_span = added.extent.length();
      report.stage_span_bubble = fraction(longest_span - added.busy, longest_span);
    }
  }
  const Duration device_time = static_cast<std::int64_t>(report.stages.size()) * report.makespan;
  report.bubble_ratio = fraction(device_time - busy, device_time);
  report.bubble_overhead = fraction(report.makespan - report.ideal, report.ideal);
  report.critical_path = find_critical_path(graph, timeline);
  report.transfers = graph.transfer_count();
  report.transfer_volume = graph.transfer_volume();
  report.overflow = first_overflow(graph, timeline, report.stages);
  return report;
}

Span recompute_span(const TaskGraph& graph, const Timeline& timeline, TaskId task) {
  const Span& span = timeline.tasks[index(task)];
  const bool paired = graph.schedule().task(task).pairing != Pairing::alone;
  const Duration length = paired ? Duration{0} : std::min(graph.recompute_time(task), span.length());
  return {span.start, span.start + length};
}

std::vector<LabelledSpan> account(const TaskGraph& graph, const Timeline& timeline, StageId stage, SimTime end) {
  std::vector<LabelledSpan> spans;
  label_time(graph, timeline, stage, end, [&](const LabelledSpan& span) {
    if (span.span.length() > Duration{0} || !is_idle(span.label)) spans.push_back(span);
  });
  return spans;
}

} // namespace ppsim
