#include "ppsim/sim/report.hpp"

#include "ppsim/sim/error.hpp"

#include <algorithm>

#include "accounting.hpp"
#include "memory.hpp"
#include "phases.hpp"

namespace ppsim {
namespace {

double ratio(Duration part, Duration whole) {
  return whole == Duration{0} ? 0.0 : static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

/// The last task to end, the lowest id among equals.
TaskId last_task(const Timeline& timeline) {
  std::size_t last = 0;
  for (std::size_t id = 1; id < timeline.tasks.size(); ++id)
    if (timeline.tasks[id].end > timeline.tasks[last].end) last = id;
  return make_id<TaskId>(last);
}

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
  const Phases phases = count_phases(graph.schedule(), stage);
  report.warmup_forwards = phases.warmup_forwards;
  report.steady_pairs = phases.steady_pairs;
  report.cooldown_backwards = phases.cooldown_backwards;
  measure_memory(graph, timeline, stage, report);
  return report;
}

/// The first moment at which `stage`, which holds `bytes` from the start, holds more than `limit`.
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

/// Follows what released each task, from the last one back to the start.
std::vector<PathStep> find_critical_path(const TaskGraph& graph, const Timeline& timeline) {
  std::vector<PathStep> path;
  if (timeline.tasks.empty()) return path;
  const bool shared_links = graph.scenario().network.model == TransferModel::link;
  TaskId task = last_task(timeline);
  while (true) {
    const TaskId releaser = releasing_half(graph, timeline, task);
    const Cause cause = timeline.cause[index(releaser)];
    TaskId by = timeline.released_by[index(releaser)];
    path.push_back({task, false, cause});
    if (by == no_task) break;
    bool through_transfer = comes_by_transfer(cause);
    while (through_transfer) { // a transfer that queued was released by the transfer before it on the link, and so on
      const std::size_t sender = index(by);
      const bool waited = !timeline.transfer_released_by.empty() && timeline.transfer_released_by[sender] != no_task;
      const TaskId before = waited ? timeline.transfer_released_by[sender] : by;
      through_transfer = waited && shared_links;
      path.push_back({by, true, through_transfer ? Cause::order : Cause::none});
      by = before;
    }
    task = by;
  }
  std::ranges::reverse(path);
  return path;
}

} // namespace

std::string_view to_string(Label label) {
  constexpr std::array<std::string_view, label_count> names{
      "F", "B", "I", "W", "overlap", "recompute", "warmup", "upstream", "downstream", "link", "transfer", "drain"};
  return names[static_cast<std::size_t>(label)];
}

std::array<Duration, label_count> Report::time_by_label() const {
  std::array<Duration, label_count> total{};
  for (const StageReport& stage : stages)
    for (std::size_t label = 0; label < label_count; ++label) total[label] += stage.time[label];
  return total;
}

std::span<const Metric> metrics() {
  static constexpr std::array table{
      Metric{"makespan_ns", "makespan", "end of the last task or transfer - start of the first",
             "how long the tasks of one step take", [](const Report& report) { return report.makespan; }, nullptr},
      Metric{"step_time_ns", "step time", "makespan", "what one training step costs with a synchronous optimizer",
             [](const Report& report) { return report.step_time; }, nullptr},
      Metric{"ideal_ns", "ideal", "max over stages of compute time",
             "the busiest stage's compute time: no order is faster", [](const Report& report) { return report.ideal; },
             nullptr},
      Metric{"bubble_ratio", "bubble ratio", "idle / (p x makespan)", "the share of device time lost", nullptr,
             [](const Report& report) { return report.bubble_ratio; }},
      Metric{"bubble_overhead", "bubble overhead", "(makespan - ideal) / ideal", "Megatron-LM's bubble time fraction",
             nullptr, [](const Report& report) { return report.bubble_overhead; }},
      Metric{"stage_span_bubble", "stage span bubble",
             "(s - w) / s, s = longest first start to last end of any stage, w its work",
             "the Zero Bubble papers' bubble rate", nullptr,
             [](const Report& report) { return report.stage_span_bubble; }},
  };
  return table;
}

const Metric& find_metric(std::string_view tag) {
  const auto found = std::ranges::find(metrics(), tag, &Metric::tag);
  PPSIM_ASSERT(found != metrics().end());
  return *found;
}

Report analyse(const TaskGraph& graph, const Timeline& timeline) {
  PPSIM_ASSERT(timeline.tasks.size() == graph.size());
  Report report;
  SimTime end{};
  for (const Span& span : timeline.tasks) end = std::max(end, span.end);
  report.makespan = end - SimTime{};
  report.step_time = report.makespan;
  Duration busy{0};
  Duration longest_span{-1};
  for (std::size_t stage = 0; stage < graph.scenario().shape.stages; ++stage) {
    const StageReport& added = report.stages.emplace_back(report_stage(graph, timeline, make_id<StageId>(stage), end));
    busy += added.busy;
    report.ideal = std::max(report.ideal, added.busy);
    if (added.extent.length() > longest_span) {
      longest_span = added.extent.length();
      report.stage_span_bubble = ratio(longest_span - added.busy, longest_span);
    }
  }
  const Duration device_time = static_cast<std::int64_t>(report.stages.size()) * report.makespan;
  report.bubble_ratio = ratio(device_time - busy, device_time);
  report.bubble_overhead = ratio(report.makespan - report.ideal, report.ideal);
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
