#include "ppsim/measured/validation.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/percentile.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/measured/cost_model.hpp"
#include "ppsim/report/detail/accounting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace ppsim {
namespace {

double relative(Duration part, Duration whole) {
  return static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

void require_same_order(const Schedule& expected, const Schedule& found) {
  if (expected == found) return;
  std::string what;
  if (!(expected.shape() == found.shape())) {
    const auto words = [](const Shape& shape) {
      return fmt::format("{} stages, {} microbatches, vpp {}", shape.stages, shape.microbatches, shape.vpp);
    };
    what = fmt::format("it ran {}, but the prediction is for {}", words(found.shape()), words(expected.shape()));
  } else {
    for (std::size_t stage = 0; stage < expected.shape().stages && what.empty(); ++stage) {
      const auto ours = expected.stage(make_id<StageId>(stage));
      const auto theirs = found.stage(make_id<StageId>(stage));
      const auto [our, their] = std::ranges::mismatch(ours, theirs);
      if (our == ours.end() && their == theirs.end()) continue;
      const auto name = [](auto at, auto end) { return at == end ? std::string{"nothing"} : to_string(*at); };
      what = fmt::format("task {} of stage {} was {}, but the prediction has {}", our - ours.begin(), stage,
                         name(their, theirs.end()), name(our, ours.end()));
    }
  }
  throw Error{ExitCode::bad_input,
              {"the measured run", what, "predict the order that was run: the same schedule, shape and options"}};
}

class Comparer {
public:
  Comparer(const TaskGraph& graph, const Timeline& prediction, const MeasuredRun& run, Timeline measured)
      : graph_{graph}, schedule_{graph.schedule()}, prediction_{prediction}, run_{run}, measured_{std::move(measured)} {
    attribute(graph_, measured_);
    predicted_report_ = analyse(graph_, prediction_);
    measured_report_ = analyse(graph_, measured_);
  }

  void compare(std::size_t most, Validation& result) const {
    result.step = {predicted_report_.makespan, measured_report_.makespan};
    for (const Timeline& step : run_.steps) result.steps.push_back(end_of(step) - SimTime{});
    result.bubble_predicted = predicted_report_.bubble_ratio;
    result.bubble_measured = measured_report_.bubble_ratio;
    for (std::size_t stage = 0; stage < schedule_.shape().stages; ++stage) result.stages.push_back(stage_error(stage));
    for (const Pass pass : {Pass::forward, Pass::backward, Pass::input_grad, Pass::weight_grad})
      if (const PassError found = pass_error(pass); found.tasks > 0) result.passes.push_back(found);
    result.start_error_p95 = start_error();
    result.deviations = deviations(most);
    result.knows_memory = knows_memory();
  }

private:
  /// A task, or a pair whose halves share their time in the prediction or in the run.
  struct Unit {
    Span predicted;
    Span measured;
    std::size_t first = 0;
    std::size_t size = 1;
    [[nodiscard]] Duration length_error() const { return measured.length() - predicted.length(); }
    [[nodiscard]] Duration start_error() const { return measured.start - predicted.start; }
    [[nodiscard]] Duration end_error() const { return measured.end - predicted.end; }
  };

  [[nodiscard]] bool shares_time(std::size_t first_half) const {
    const auto overlap = [first_half](const Timeline& timeline) {
      return timeline.tasks[first_half + 1].start < timeline.tasks[first_half].end;
    };
    return overlap(prediction_) || overlap(measured_);
  }

  /// The unit that task `id` belongs to.
  [[nodiscard]] Unit unit_of(std::size_t id) const {
    const Pairing pairing = schedule_.tasks()[id].pairing;
    const std::size_t first = pairing == Pairing::second ? id - 1 : id;
    if (pairing == Pairing::alone || !shares_time(first)) return {prediction_.tasks[id], measured_.tasks[id], id, 1};
    const auto both = [first](const Timeline& timeline) {
      return Span{timeline.tasks[first].start, std::max(timeline.tasks[first].end, timeline.tasks[first + 1].end)};
    };
    return {both(prediction_), both(measured_), first, 2};
  }

  template <class Visit>
  void for_each_unit(Visit visit) const {
    for (const StageId stage : schedule_.stage_ids()) {
      const std::size_t end = index(schedule_.end_task(stage));
      Span before_predicted;
      Span before_measured;
      for (std::size_t id = index(schedule_.first_task(stage)); id < end;) {
        const Unit unit = unit_of(id);
        const Duration wait =
            (unit.measured.start - before_measured.end) - (unit.predicted.start - before_predicted.end);
        visit(unit, wait);
        before_predicted = unit.predicted;
        before_measured = unit.measured;
        id = unit.first + unit.size;
      }
    }
  }

  [[nodiscard]] StageError stage_error(std::size_t stage) const {
    const StageReport& predicted = predicted_report_.stages[stage];
    const StageReport& measured = measured_report_.stages[stage];
    StageError error;
    error.busy = {predicted.busy, measured.busy};
    error.idle = {predicted.idle, measured.idle};
    if (const auto ids = schedule_.task_ids(make_id<StageId>(stage)); !ids.empty())
      error.end = {prediction_.tasks[index(ids.back())].end - SimTime{},
                   measured_.tasks[index(ids.back())].end - SimTime{}};
    error.predicted_peak = predicted.peak_bytes();
    error.measured_peak = run_.stages[stage].peak_bytes;
    return error;
  }

  [[nodiscard]] PassError pass_error(Pass pass) const {
    PassError error;
    error.pass = pass;
    std::vector<double> predicted;
    std::vector<double> measured;
    std::vector<double> errors;
    for_each_unit([&](const Unit& unit, Duration) {
      if (unit.size > 1 || schedule_.tasks()[unit.first].pass != pass) return;
      predicted.push_back(static_cast<double>(unit.predicted.length().count()));
      measured.push_back(static_cast<double>(unit.measured.length().count()));
      if (unit.predicted.length() > Duration{0})
        errors.push_back(relative(unit.length_error(), unit.predicted.length()));
    });
    error.tasks = predicted.size();
    const auto middle = [](std::vector<double>& values) {
      return Duration{static_cast<Duration::rep>(percentile(std::move(values), 50))};
    };
    error.median = {middle(predicted), middle(measured)};
    if (errors.empty()) return error;
    error.median_error = percentile(errors, 50);
    for (double& value : errors) value = std::abs(value);
    error.p95_error = percentile(std::move(errors), 95);
    return error;
  }

  [[nodiscard]] double start_error() const {
    std::vector<double> errors;
    for_each_unit([&](const Unit& unit, Duration) {
      errors.push_back(std::abs(static_cast<double>(unit.start_error().count())));
    });
    const Duration step = measured_report_.makespan;
    return step == Duration{0} ? 0 : percentile(std::move(errors), 95) / static_cast<double>(step.count());
  }

  [[nodiscard]] std::vector<Deviation> deviations(std::size_t most) const {
    std::vector<Deviation> found;
    for_each_unit([&](const Unit& unit, Duration wait) {
      Deviation deviation{.task = make_id<TaskId>(unit.first),
                          .predicted = unit.predicted.length(),
                          .start = unit.start_error(),
                          .length = unit.length_error(),
                          .wait = wait};
      deviation.because = wait > std::chrono::abs(deviation.length) ? Lateness::waited : Lateness::slow;
      if (deviation.size() > Duration{0}) found.push_back(deviation);
    });
    // Of equal ones the earliest first: a cause precedes its effects.
    std::ranges::stable_sort(found, {}, [this](const Deviation& deviation) {
      return std::pair{-deviation.size(), measured_.tasks[index(deviation.task)].start};
    });
    if (found.size() > most) found.resize(most);
    for (Deviation& deviation : found)
      if (deviation.because == Lateness::waited) find_culprit(deviation);
    return found;
  }

  /// From its sender's end to its own end.
  static Duration way(const Timeline& timeline, TaskId sender) {
    const std::size_t id = index(sender);
    return timeline.transfers[id].end - timeline.tasks[id].end;
  }

  /// How long `id` had not started although its stage was free and its last input had arrived.
  [[nodiscard]] Duration idle_start(TaskId id) const {
    SimTime ready{};
    if (const TaskId by = measured_.released_by[index(id)]; by != no_task)
      ready = comes_by_transfer(measured_.cause[index(id)]) ? measured_.transfers[index(by)].end
                                                            : measured_.tasks[index(by)].end;
    if (index(id) > index(schedule_.first_task(schedule_.stage_of(id))))
      ready = std::max(ready, measured_.tasks[index(id) - 1].end);
    return measured_.tasks[index(id)].start - ready;
  }

  /// Follows the releases of a waiting task back while they were late, and names the one that exceeded its prediction
  /// most.
  void find_culprit(Deviation& deviation) const {
    TaskId at = deviation.task;
    if (2 * idle_start(at) >= deviation.wait) return;
    deviation.waited_for = measured_.released_by[index(at)];
    deviation.behind = deviation.waited_for;
    const auto blame = [&](TaskId task, Duration over, Delay how) {
      if (over <= deviation.delayed) return;
      deviation.delayed = over;
      deviation.behind = task;
      deviation.delay = how;
    };
    for (TaskId by = deviation.waited_for; by != no_task; by = measured_.released_by[index(at)]) {
      if (comes_by_transfer(measured_.cause[index(at)]))
        blame(by, way(measured_, by) - way(prediction_, by), Delay::transfer);
      const Unit unit = unit_of(index(by));
      if (unit.end_error() <= Duration{0}) break; // it ended in time
      at = make_id<TaskId>(unit.first);
      blame(at, unit.length_error(), Delay::length);
      blame(at, idle_start(at), Delay::start);
      if (unit.start_error() <= Duration{0}) break; // nothing made it late
    }
  }

  [[nodiscard]] bool knows_memory() const {
    const Memory& memory = graph_.scenario().memory;
    const auto has_sizes = [](const std::vector<Bytes>& sizes) {
      return std::ranges::any_of(sizes, [](Bytes size) { return size > Bytes{}; });
    };
    return has_sizes(memory.activation) && has_sizes(memory.parameters) &&
           std::ranges::any_of(run_.stages, [](const MeasuredStage& stage) { return stage.peak_bytes > Bytes{}; });
  }

  const TaskGraph& graph_;
  const Schedule& schedule_;
  const Timeline& prediction_;
  const MeasuredRun& run_;
  Timeline measured_;
  Report predicted_report_;
  Report measured_report_;
};

} // namespace

double ComparedTime::error() const {
  if (predicted == measured) return 0;
  if (measured == Duration{0}) return std::numeric_limits<double>::infinity();
  return relative(predicted - measured, measured);
}

Duration Deviation::size() const {
  return std::max(wait, std::chrono::abs(length));
}

bool Validation::same_peaks() const {
  return !knows_memory || std::ranges::all_of(stages, &StageError::same_peak);
}

bool Validation::in_tolerance() const {
  return std::abs(step.error()) <= tolerance;
}

namespace {

/// The end of the last task and of the last reduction.
struct Done {
  SimTime tasks{}, reductions{};
  void wait_for(const Done& other) {
    tasks = std::max(tasks, other.tasks);
    reductions = std::max(reductions, other.reductions);
  }
};

/// The inputs of each stage's optimizer step.
std::vector<Done> awaited(const TaskGraph& graph, const Timeline& step) {
  const Schedule& schedule = graph.schedule();
  std::vector<Done> done(schedule.shape().stages);
  for (const StageId stage : schedule.stage_ids())
    if (const auto ids = schedule.task_ids(stage); !ids.empty())
      done[index(stage)].tasks = step.tasks[index(ids.back())].end;
  for (const Reduction& reduction : step.reductions)
    done[index(reduction.stage)].wait_for({.tasks = {}, .reductions = reduction.span.end});
  if (graph.scenario().update.step == OptimizerStep::per_stage) return done;
  Done all;
  for (const Done& each : done) all.wait_for(each);
  std::ranges::fill(done, all);
  return done;
}

/// Removes the time of reductions.
void take_out_reductions(const TaskGraph& graph, Timeline& step) {
  const std::vector<Done> done = awaited(graph, step);
  for (std::size_t stage = 0; stage < step.optimizer.size(); ++stage) {
    Span& span = step.optimizer[stage].span;
    const Duration waited = std::min(done[stage].reductions, span.start) - done[stage].tasks;
    const Duration earlier = std::max(waited, Duration{0});
    span = {span.start - earlier, span.end - earlier};
  }
  step.reductions.clear();
}

/// The part of a measured step that was predicted; `result` records what is left out.
Timeline predicted_part(const TaskGraph& graph, const Timeline& prediction, Timeline step, Validation& result) {
  const auto takes_time = [](const OptimizerRun& each) { return each.span.length() > Duration{0}; };
  const SimTime end = end_of(step);
  if (prediction.reductions.empty() && !step.reductions.empty()) {
    take_out_reductions(graph, step);
    result.unpredicted_exchange = end - end_of(step);
  }
  if (std::ranges::none_of(prediction.optimizer, takes_time) && std::ranges::any_of(step.optimizer, takes_time)) {
    const SimTime with_optimizer = end_of(step);
    step.optimizer.clear();
    result.unpredicted_optimizer = with_optimizer - end_of(step);
  }
  return step;
}

/// See Validation::own_times; `step` is the measured one.
std::optional<ComparedTime> with_tasks_of(const Timeline& step, const TaskGraph& graph, const MeasuredRun& run,
                                          Duration measured) {
  const Schedule& schedule = graph.schedule();
  const bool shared =
      std::ranges::any_of(schedule.tasks(), [](const Task& task) { return task.pairing != Pairing::alone; });
  if (shared || graph.scenario().recompute.is_on()) return std::nullopt;
  Scenario scenario = with_own_times(graph.scenario(), schedule, step);
  if (run.facts.timed) scenario.costs.overhead = Duration{0}; // a timed task's time includes it
  try {
    const TaskGraph own = lower(schedule, std::move(scenario), "the measured run");
    return ComparedTime{end_of(simulate(own)).time_since_epoch(), measured};
  } catch (const Error&) { // a task that took days may exceed the range of a simulation
    return std::nullopt;
  }
}

} // namespace

Validation validate_run(const TaskGraph& graph, const Timeline& prediction, const MeasuredRun& run, double tolerance,
                        const PredictionFacts& known, std::size_t most) {
  require_same_order(graph.schedule(), run.schedule);
  check_run(run, "the measured run");
  Validation result;
  result.step_used = median_step(run);
  Timeline measured = predicted_part(graph, prediction, run.steps[result.step_used], result);
  Comparer{graph, prediction, run, std::move(measured)}.compare(most, result);
  if (known.alone) result.alone = {*known.alone, result.step.measured};
  result.own_times = with_tasks_of(run.steps[result.step_used], graph, run, result.step.measured);
  result.tolerance = tolerance;
  result.contended = is_contended(run);
  result.unaligned = run.unaligned;
  result.own_costs = known.costs_of == run_id(run);
  if (run.proof) result.proved = run.proof->holds();
  result.holds = result.in_tolerance() && result.same_peaks() && result.proved.value_or(true) && result.counts();
  return result;
}

} // namespace ppsim
