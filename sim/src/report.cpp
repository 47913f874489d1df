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
  if (!timeline.optimizer.empty() && timeline.optimizer[index(stage)].span.length() > Duration{0})
    report.extent.end = timeline.optimizer[index(stage)].span.end;
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

/// The chain that ends at the makespan, from its end back to its start.
class PathFinder {
public:
  PathFinder(const TaskGraph& graph, const Timeline& timeline)
      : graph_{graph}, timeline_{timeline}, shared_links_{graph.scenario().network.model == TransferModel::link} {}

  std::vector<PathStep> find() {
    if (timeline_.tasks.empty()) return {};
    const UpdateRelease last = follow_update(last_of_update());
    TaskId task = last.task == no_task ? last_task(timeline_) : last.task;
    if (last.sent) task = follow_transfer(task);
    follow_tasks(task);
    std::ranges::reverse(path_);
    return std::move(path_);
  }

private:
  /// What ends the step where that is no task: an optimizer step, the lowest stage's among equals, or a reduction. It
  /// is added to the path; what released it is returned. Nothing where the step ends with a task.
  UpdateRelease last_of_update() {
    const SimTime end = end_of(timeline_);
    const auto& steps = timeline_.optimizer;
    const auto ends = [end](const auto& part) { return part.span.end == end; };
    const auto add = [&](auto step) {
      path_.push_back({.kind = PathKind::optimizer, .number = static_cast<std::size_t>(step - steps.begin())});
      return step->released_by;
    };
    const auto works = [&](const OptimizerRun& step) { return ends(step) && step.span.length() > Duration{0}; };
    if (const auto step = std::ranges::find_if(steps, works); step != steps.end()) return add(step);
    const auto& reductions = timeline_.reductions;
    if (const auto last = std::ranges::find_if(reductions, ends); last != reductions.end())
      return {.reduction = static_cast<std::size_t>(last - reductions.begin())};
    // A step without length ends with what released it, but a measured one may be later.
    const bool ends_with_task = timeline_.tasks[index(last_task(timeline_))].end == end;
    if (const auto step = std::ranges::find_if(steps, ends); step != steps.end() && !ends_with_task) return add(step);
    return {};
  }

  /// Follows reductions back to the task that the first of them waited for.
  UpdateRelease follow_update(UpdateRelease by) {
    while (by.reduction != UpdateRelease::none) {
      path_.push_back({.kind = PathKind::reduction, .number = by.reduction});
      by = timeline_.reductions[by.reduction].released_by;
    }
    return by;
  }

  /// Adds the transfer of `sender`, and those that it queued for; returns the task that let the first of them start.
  TaskId follow_transfer(TaskId sender) {
    while (true) { // what queued was released by the transfer before it on its link or communicator, and so on
      const auto& released = timeline_.transfer_released_by;
      const bool waited = !released.empty() && released[index(sender)] != no_task;
      const auto& behind = timeline_.waited_for_transfer;
      const bool queued = waited && (shared_links_ || (!behind.empty() && behind[index(sender)]));
      path_.push_back({sender, PathKind::transfer, queued ? Cause::order : Cause::none});
      if (waited) sender = released[index(sender)];
      if (!queued) return sender;
    }
  }

  /// The transfer that ended when `task` started: that of `sender`, or of another operation of its group.
  [[nodiscard]] TaskId last_of_group(TaskId task, TaskId sender) const {
    const auto& group = timeline_.group_released_by;
    return group.empty() || group[index(task)] == no_task ? sender : group[index(task)];
  }

  void follow_tasks(TaskId task) {
    while (true) {
      const TaskId releaser = releasing_half(graph_, timeline_, task);
      const Cause cause = timeline_.cause[index(releaser)];
      const TaskId by = timeline_.released_by[index(releaser)];
      path_.push_back({task, PathKind::task, cause});
      if (by == no_task) return;
      task = comes_by_transfer(cause) ? follow_transfer(last_of_group(releaser, by)) : by;
    }
  }

  const TaskGraph& graph_;
  const Timeline& timeline_;
  bool shared_links_;
  std::vector<PathStep> path_;
};

} // namespace

std::string_view to_string(Label label) {
  constexpr std::array<std::string_view, label_count> names{
      "F",        "B",          "I",    "W",     "overlap",  "recompute", "optimizer", "warmup",
      "upstream", "downstream", "link", "stall", "transfer", "drain",     "flush",     "host"};
  return names[static_cast<std::size_t>(label)];
}

std::string_view to_string(PathKind kind) {
  constexpr std::array<std::string_view, 4> names{"task", "transfer", "reduction", "optimizer"};
  return names[static_cast<std::size_t>(kind)];
}

Span span_of(const Timeline& timeline, const PathStep& step) {
  switch (step.kind) {
  case PathKind::task:
    break;
  case PathKind::transfer: {
    Span span = timeline.transfers[index(step.task)];
    const bool waited =
        !timeline.transfer_released_by.empty() && timeline.transfer_released_by[index(step.task)] != no_task;
    if (!waited) span.start = std::max(span.start, timeline.tasks[index(step.task)].end);
    span.end = std::max(span.start, span.end); // clocks that differ can show an arrival before the sender's end
    return span;
  }
  case PathKind::reduction:
    return timeline.reductions[step.number].span;
  case PathKind::optimizer:
    return timeline.optimizer[step.number].span;
  }
  return timeline.tasks[index(step.task)];
}

StageId stage_of(const TaskGraph& graph, const Timeline& timeline, const PathStep& step) {
  if (step.kind == PathKind::reduction) return timeline.reductions[step.number].stage;
  if (step.kind == PathKind::optimizer) return make_id<StageId>(step.number);
  return graph.schedule().stage_of(step.task);
}

std::array<Duration, label_count> Report::time_by_label() const {
  std::array<Duration, label_count> total{};
  for (const StageReport& stage : stages)
    for (std::size_t label = 0; label < label_count; ++label) total[label] += stage.time[label];
  return total;
}

std::span<const Metric> metrics() {
  static constexpr std::array table{
      Metric{"makespan_ns", "makespan",
             "end of the last task, transfer, reduction or optimizer step - start of the first",
             "how long one step takes by itself", [](const Report& report) { return report.makespan; }, nullptr},
      Metric{"step_time_ns", "step time",
             "makespan; with an optimizer step per stage, or without a flush, the steady interval between steps",
             "what one training step costs in the long run", [](const Report& report) { return report.step_time; },
             nullptr},
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
  const SimTime end = end_of(timeline);
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
  report.critical_path = PathFinder{graph, timeline}.find();
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
