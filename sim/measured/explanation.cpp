#include "ppsim/measured/explanation.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/percentile.hpp"
#include "ppsim/report/detail/accounting.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reasons.hpp"

namespace ppsim {
namespace {

/// Sums over all devices must stay in range.
void check_sums(std::span<const MeasuredRun> replicas) {
  Duration longest{0};
  for (const MeasuredRun& run : replicas)
    for (const Timeline& step : run.steps) longest = std::max(longest, end_of(step) - SimTime{});
  const auto devices = static_cast<std::int64_t>(replicas.size() * replicas.front().schedule.shape().stages);
  if (Int128{longest.count()} * devices > Duration::max().count() / 2)
    throw Error{ExitCode::bad_input,
                Problem{"the run", fmt::format("{} devices with steps of up to {}", devices, format_duration(longest)),
                        "explain fewer replicas at once"}};
}

void check_replicas(std::span<const MeasuredRun> replicas) {
  if (replicas.empty())
    throw Error{ExitCode::bad_input, Problem{"the run", "there is none", "name at least one run file"}};
  Problems problems;
  const auto name = [&](std::size_t replica) {
    return replicas.size() == 1 ? std::string{"the run"} : fmt::format("replica {}", replica);
  };
  for (std::size_t replica = 0; replica < replicas.size(); ++replica) {
    const MeasuredRun& run = replicas[replica];
    check_run(run, name(replica));
    if (!(run.schedule == replicas.front().schedule))
      problems.add(name(replica), "its order is not that of replica 0", "replicas of one job run the same order");
    if (run.steps.size() != replicas.front().steps.size())
      problems.add(
          name(replica),
          fmt::format("{} steps are recorded, but {} of replica 0", run.steps.size(), replicas.front().steps.size()),
          "give the same steps of every replica");
  }
  problems.throw_if_any();
  check_sums(replicas);
}

StepTimes step_times(const std::vector<Duration>& steps) {
  StepTimes times{.p5 = percentile(steps, 5), .median = percentile(steps, 50), .p95 = percentile(steps, 95)};
  const std::size_t quarter = steps.size() / 4;
  times.mean = mean_duration(steps);
  times.first = mean_duration(std::span{steps}.first(quarter));
  times.last = mean_duration(std::span{steps}.last(quarter));
  return times;
}

/// Per step, over all replicas.
struct StepEnds {
  std::vector<Duration> tasks; ///< until the last task
  std::vector<Duration> end;
};

StepEnds step_ends(std::span<const MeasuredRun> replicas) {
  StepEnds pace;
  for (std::size_t step = 0; step < replicas.front().steps.size(); ++step) {
    Duration tasks{0};
    Duration end{0};
    for (const MeasuredRun& run : replicas) {
      tasks = std::max(tasks, time_of_tasks(run.steps[step]));
      end = std::max(end, end_of(run.steps[step]) - SimTime{});
    }
    pace.tasks.push_back(tasks);
    pace.end.push_back(end);
  }
  return pace;
}

/// The use of one replica's time, by stage, over all steps.
class ReplicaAccount {
public:
  ReplicaAccount(const TaskGraph& graph, const TaskGroups& groups, const MeasuredRun& run, const StepEnds& pace)
      : graph_{graph}, groups_{groups}, run_{run}, pace_{pace}, stages_(graph.schedule().shape().stages),
        tasks_(groups.groups.size()) {}

  ReplicaExplanation make() {
    ReplicaExplanation result;
    std::vector<Duration> ends;
    RunningMean tasks;
    for (std::size_t step = 0; step < run_.steps.size(); ++step) {
      add_step(step);
      ends.push_back(end_of(run_.steps[step]) - SimTime{});
      const Duration last = time_of_tasks(run_.steps[step]);
      tasks.add(last);
      if (last == pace_.tasks[step]) ++result.slowest_in;
    }
    result.step = step_times(ends);
    result.tasks = tasks.mean();
    add_median_step(result);
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) result.stages.push_back(stage_explanation(stage));
    return result;
  }

private:
  struct StageSums {
    std::array<RunningMean, label_count> time;
    RunningMean waits_for_replicas;
  };
  /// The partial account of a stage in one step.
  struct StageStep {
    std::array<Duration, label_count> time{};
    [[nodiscard]] Duration& operator[](Label label) { return time[static_cast<std::size_t>(label)]; }
  };

  void add_step(std::size_t step) {
    Timeline timeline = run_.steps[step];
    for (std::size_t id = 0; id < timeline.tasks.size(); ++id) tasks_[groups_.of[id]].add(timeline.tasks[id].length());
    if (timeline.optimizer.empty()) timeline.reductions.clear(); // work after the tasks is counted below
    attribute(graph_, timeline);
    const SimTime end = end_of(timeline);
    const Duration last_task = time_of_tasks(timeline);
    for (const StageId stage : graph_.schedule().stage_ids()) {
      StageStep time;
      label_time(graph_, timeline, stage, end,
                 [&](const LabelledSpan& span) { time[span.label] += std::max(span.span.length(), Duration{0}); });
      const Duration waits = fill_up(time, step, last_task, end - SimTime{});
      StageSums& sums = stages_[index(stage)];
      for (std::size_t label = 0; label < label_count; ++label) sums.time[label].add(time.time[label]);
      sums.waits_for_replicas.add(waits);
    }
  }

  /// Adds the waits of a stage. From the end of its replica to that of the job it waits. Of the time after the tasks of
  /// its replica, the part until the slowest replica's tasks end is a wait for that replica, which is returned.
  [[nodiscard]] Duration fill_up(StageStep& time, std::size_t step, Duration last_task, Duration end) const {
    Duration& flush = time[Label::flush];
    flush += pace_.end[step] - end;
    const Duration waits = std::min(pace_.tasks[step] - last_task, flush);
    flush -= waits;
    return waits;
  }

  void add_median_step(ReplicaExplanation& result) const {
    result.median_step = median_step(run_);
    Timeline timeline = run_.steps[result.median_step];
    attribute(graph_, timeline);
    const Report report = analyse(graph_, timeline);
    result.median_time = report.time_by_label();
    result.median_bubble = report.bubble_ratio;
  }

  [[nodiscard]] StageExplanation stage_explanation(std::size_t stage) const {
    StageExplanation result;
    for (std::size_t label = 0; label < label_count; ++label) {
      result.time[label] = stages_[stage].time[label].mean();
      if (!is_idle(label_at(label))) result.busy += result.time[label];
    }
    result.waits_for_replicas = stages_[stage].waits_for_replicas.mean();
    add_passes(stage, result);
    return result;
  }

  /// Chunks of one stage are counted together.
  void add_passes(std::size_t stage, StageExplanation& result) const {
    for (const Pass pass : {Pass::forward, Pass::backward, Pass::input_grad, Pass::weight_grad}) {
      PassStatistics times{.pass = pass};
      RunningMean means;
      RunningMean spreads;
      for (const std::size_t group : groups_.of_stage(make_id<StageId>(stage))) {
        const TaskGroup& each = groups_.groups[group];
        if (each.pass != pass) continue;
        times.tasks += each.tasks;
        for (std::size_t i = 0; i < each.tasks; ++i) {
          means.add(tasks_[group].mean());
          spreads.add(tasks_[group].spread());
        }
      }
      times.mean = means.mean();
      times.spread = spreads.mean();
      if (times.tasks > 0) result.passes.push_back(times);
    }
  }

  const TaskGraph& graph_;
  const TaskGroups& groups_;
  const MeasuredRun& run_;
  const StepEnds& pace_;
  std::vector<StageSums> stages_;
  std::vector<RunningMean> tasks_; ///< by group
};

/// Time and bubble of all devices.
void add_totals(Explanation& result) {
  Duration busy{0};
  Duration all{0};
  for (const ReplicaExplanation& replica : result.replicas)
    for (const StageExplanation& stage : replica.stages) {
      for (std::size_t label = 0; label < label_count; ++label) {
        result.time[label] += stage.time[label];
        all += stage.time[label];
      }
      result.waits_for_replicas += stage.waits_for_replicas;
      all += stage.waits_for_replicas;
      busy += stage.busy;
    }
  result.bubble = fraction(all - busy, all);
}

/// The stage with the largest `size`.
template <class Size>
Suspect largest(const Explanation& result, Size size) {
  Suspect most;
  double largest = -1;
  for (std::size_t replica = 0; replica < result.replicas.size(); ++replica)
    for (std::size_t stage = 0; stage < result.replicas[replica].stages.size(); ++stage) {
      const StageExplanation& each = result.replicas[replica].stages[stage];
      const double found = size(each);
      if (found <= largest) continue;
      largest = found;
      most = {.replica = replica, .stage = make_id<StageId>(stage), .own = each.busy, .others = {}, .passes = {}};
    }
  return most;
}

/// The variation of a stage's tasks per step.
double variation(const StageExplanation& stage) {
  double sum = 0;
  for (const PassStatistics& pass : stage.passes)
    sum += static_cast<double>(pass.tasks) * static_cast<double>(pass.spread.count());
  return sum;
}

/// Adds the places of late starts and jitter.
void add_places(Explanation& result) {
  const auto waits = [](const StageExplanation& stage) {
    return static_cast<double>(stage.time[static_cast<std::size_t>(Label::host)].count());
  };
  for (Finding& finding : result.findings) {
    if (finding.reason == Reason::late_starts) finding.suspects.push_back(largest(result, waits));
    if (finding.reason == Reason::jitter) finding.suspects.push_back(largest(result, variation));
  }
}

void add_trust(std::span<const MeasuredRun> replicas, Explanation& result) {
  for (const MeasuredRun& run : replicas) {
    result.contended = result.contended || is_contended(run);
    result.unaligned = result.unaligned || run.unaligned;
    if (run.clock_error) result.clock_error = std::max(result.clock_error.value_or(Duration{0}), *run.clock_error);
  }
}

} // namespace

std::string_view to_string(Reason reason) {
  constexpr std::array<std::string_view, reasons_of_a_step + 1> names{
      "after_tasks", "late_starts", "transfer_waits", "jitter",   "slow_worker", "heavy_stage",
      "imbalance",   "slow_link",   "transfers",      "schedule", "work",        "drift"};
  return names[static_cast<std::size_t>(reason)];
}

double StepTimes::drift() const {
  return fraction(last - first, first);
}

Explanation explain(std::span<const MeasuredRun> replicas, std::optional<double> calibrate) {
  check_replicas(replicas);
  const TaskGraph graph = measured_graph(replicas.front());
  const StepEnds pace = step_ends(replicas);
  Explanation result;
  result.shape = graph.schedule().shape();
  result.steps = pace.end.size();
  result.step = step_times(pace.end);
  result.tasks = step_times(pace.tasks);
  const Replicas job{replicas, graph, task_groups(graph), result.step.mean, result.tasks.mean};
  for (const MeasuredRun& run : replicas)
    result.replicas.push_back(ReplicaAccount{graph, job.groups, run, pace}.make());
  add_totals(result);
  find_reasons(job, result);
  add_places(result);
  add_trust(replicas, result);
  if (calibrate && result.steps > 1)
    for (const MeasuredRun& run : replicas) result.held_out.push_back(hold_out(run, *calibrate));
  return result;
}

std::vector<Suspect> slow_workers(std::span<const MeasuredRun> replicas) {
  check_replicas(replicas);
  const TaskGraph graph = measured_graph(replicas.front());
  return find_slow_workers({.runs = replicas, .graph = graph, .groups = task_groups(graph)});
}

} // namespace ppsim
