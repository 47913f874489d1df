#include "ppsim/sim/measured.hpp"

#include "ppsim/sim/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>
#include <tuple>

#include "dag.hpp"

namespace ppsim {

std::optional<std::size_t> Proof::diverged() const {
  const auto found = std::ranges::find_if_not(losses, [](double loss) { return std::isfinite(loss); });
  if (found == losses.end()) return std::nullopt;
  return static_cast<std::size_t>(found - losses.begin());
}

std::optional<double> core_share(const MeasuredRun& run) {
  std::optional<double> least;
  for (const MeasuredStage& stage : run.stages) {
    if (!stage.cpu || stage.busy <= Duration{0}) continue;
    const double share = static_cast<double>(stage.cpu->count()) / static_cast<double>(stage.busy.count());
    least = std::min(least.value_or(share), share);
  }
  return least;
}

bool is_contended(const MeasuredRun& run) {
  const std::optional<double> share = core_share(run);
  return !run.facts.timed && share && *share < least_core_share;
}

std::size_t median_step(const MeasuredRun& run) {
  PPSIM_ASSERT(!run.steps.empty());
  std::vector<std::size_t> order(run.steps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t step) { return end_of(run.steps[step]); });
  return order[(order.size() - 1) / 2];
}

std::size_t unrecorded_transfers(const MeasuredRun& run) {
  std::size_t count = 0;
  for (const std::vector<bool>& step : run.unrecorded)
    count += static_cast<std::size_t>(std::ranges::count(step, true));
  return count;
}

std::string describe(const MeasuredRun& run) {
  std::string text;
  const auto say = [&text](std::string_view words) {
    if (!words.empty()) text += (text.empty() ? "" : "; ") + std::string{words};
  };
  say(run.facts.backend);
  say(run.facts.compute);
  say(run.facts.transport);
  say(run.facts.machine);
  if (is_contended(run))
    say(fmt::format("contended: a stage had {:.0f} % of a core, so times say nothing", 100 * *core_share(run)));
  if (const std::size_t count = unrecorded_transfers(run); count > 0)
    say(fmt::format("{} transfers were not recorded: what waited for them seems to begin late", count));
  return text.empty() ? "nothing is said about where" : text;
}

namespace {

/// Far more than any machine has, and sums over all stages stay in range.
constexpr Bytes most_bytes{std::int64_t{1} << 50};
/// Sums over all steps of a run may last longer than one of them.
constexpr Duration longest_sum = 10'000 * max_duration;
/// Stages that share a clock may read it this much too early or too late: time stamps of devices come in steps.
constexpr Duration time_stamp_resolution = std::chrono::microseconds{10};

class RunCheck {
public:
  RunCheck(const MeasuredRun& run, std::string_view where) : run_{run}, schedule_{run.schedule}, where_{where} {}

  void check() {
    if (run_.steps.empty()) add("the run", "no step was recorded", "record at least one step");
    for_each_step([&](const Timeline& step) { check_step(step); });
    check_stages();
    check_unrecorded();
    if (run_.clock_error && (*run_.clock_error < Duration{0} || *run_.clock_error > max_duration))
      add("the run", fmt::format("the bound of the clocks' error is {} ns", run_.clock_error->count()),
          "give it as nanoseconds, not below 0");
    problems_.throw_if_any();
    // All numbers are in range: whether they fit each other.
    const TaskGraph graph = lower_order();
    for_each_step([&](const Timeline& step) {
      check_zero(step);
      if (!run_.unaligned) check_transfers(graph, step);
    });
    problems_.throw_if_any();
  }

private:
  template <class Check>
  void for_each_step(Check check) {
    for (std::size_t step = 0; step < run_.steps.size(); ++step) {
      place_ = fmt::format("step {}", step);
      check(run_.steps[step]);
    }
  }

  void check_unrecorded() {
    const auto fits = [&](const std::vector<bool>& step) { return step.size() == schedule_.size(); };
    if (run_.unrecorded.empty() ||
        (run_.unrecorded.size() == run_.steps.size() && std::ranges::all_of(run_.unrecorded, fits)))
      return;
    add("the run", "which transfers were not recorded is not said of each task of each step",
        "say it of all, or of none where all were recorded");
  }

  void add(std::string_view what, std::string found, std::string_view remedy) {
    problems_.add(fmt::format("{}: {}", where_, what), std::move(found), std::string{remedy});
  }

  /// Past the limit faults are only counted.
  template <class Name, class Found>
  void fault(const Name& name, const Found& found, std::string_view remedy) {
    if (problems_.count() >= Problems::limit) return problems_.add({}, {});
    add(fmt::format("{}, {}", place_, name()), found(), remedy);
  }

  template <class Name>
  void check_span(const Name& name, const Span& span, bool may_turn_back = false) {
    constexpr std::string_view remedy = "give times as nanoseconds since the step began, each end after its start";
    const auto out_of_range = [](SimTime at) { return at < SimTime{} || at > SimTime{max_duration}; };
    if (out_of_range(span.start) || out_of_range(span.end) || (span.end < span.start && !may_turn_back))
      fault(
          name, [&] { return fmt::format("it runs from {} to {} ns", count(span.start), count(span.end)); }, remedy);
  }

  static std::int64_t count(SimTime at) { return at.time_since_epoch().count(); }

  void check_step(const Timeline& timeline) {
    const std::size_t stages = schedule_.shape().stages;
    if (timeline.tasks.size() != schedule_.size() || timeline.transfers.size() != schedule_.size() ||
        (!timeline.optimizer.empty() && timeline.optimizer.size() != stages)) {
      add(place_,
          fmt::format("{} tasks, {} transfers and {} optimizer steps are recorded", timeline.tasks.size(),
                      timeline.transfers.size(), timeline.optimizer.size()),
          fmt::format("record a time for each of the {} tasks, and one optimizer step per stage or none",
                      schedule_.size()));
      return;
    }
    for (std::size_t stage = 0; stage < stages; ++stage) check_stage(timeline, make_id<StageId>(stage));
    for (std::size_t id = 0; id < timeline.transfers.size(); ++id)
      check_span(
          [&] {
            return fmt::format("transfer of {} from stage {}", to_string(schedule_.tasks()[id]),
                               index(schedule_.stage_of(make_id<TaskId>(id))));
          },
          timeline.transfers[id], run_.clock_error.has_value());
    check_reductions(timeline);
  }

  /// What a stage does itself is one after the other, but for the halves of a pair.
  void check_stage(const Timeline& timeline, StageId stage) {
    const std::size_t first = index(schedule_.first_task(stage));
    SimTime done{};
    for (std::size_t i = 0; i < schedule_.stage(stage).size(); ++i) {
      const Task& task = schedule_.tasks()[first + i];
      const Span& span = timeline.tasks[first + i];
      const auto name = [&] { return fmt::format("{} on stage {}", to_string(task), index(stage)); };
      check_span(name, span);
      check_begin(name, span, task.pairing == Pairing::second ? timeline.tasks[first + i - 1].start : done);
      done = std::max(done, span.end);
    }
    if (timeline.optimizer.empty()) return;
    const auto name = [&] { return fmt::format("the optimizer step of stage {}", index(stage)); };
    check_span(name, timeline.optimizer[index(stage)].span);
    check_begin(name, timeline.optimizer[index(stage)].span, done);
  }

  /// What each task waits for. An order that can not run is bad input here, as no times can be right for it.
  [[nodiscard]] TaskGraph lower_order() const {
    try {
      return lower(schedule_, uniform_scenario(schedule_.shape(), Duration{1}, Duration{1}, Duration{0}), where_);
    } catch (const Error& error) {
      throw Error{ExitCode::bad_input, error.problems()};
    }
  }

  void check_zero(const Timeline& timeline) {
    const auto first = std::ranges::min_element(timeline.tasks, {}, &Span::start);
    if (first == timeline.tasks.end() || first->start == SimTime{}) return;
    const std::int64_t begin = count(first->start);
    add(place_, fmt::format("its first task starts at {} ns, not at 0", begin),
        fmt::format("count from there: take {} from all times of the step", begin));
  }

  /// An output is there after its sender has ended, and before the task that needs it starts; as exactly as clocks say.
  void check_transfers(const TaskGraph& graph, const Timeline& timeline) {
    const Duration slack = time_stamp_resolution + run_.clock_error.value_or(Duration{0});
    for (std::size_t id = 0; id < timeline.tasks.size(); ++id) {
      const std::optional<TaskId> receiver = graph.receiver(make_id<TaskId>(id));
      if (!receiver) continue;
      const auto name = [&](std::size_t task) {
        return fmt::format("{} on stage {}", to_string(schedule_.tasks()[task]),
                           index(schedule_.stage_of(make_id<TaskId>(task))));
      };
      const SimTime made = timeline.tasks[id].end;
      const SimTime there = timeline.transfers[id].end;
      const SimTime used = timeline.tasks[index(*receiver)].start;
      if (there + slack < made)
        fault([&] { return "transfer of " + name(id); },
              [&] {
                return fmt::format("it ends at {} ns, before {} ns, when its content was made", count(there),
                                   count(made));
              },
              causality_remedy());
      if (used + slack < std::max(made, there))
        fault([&] { return name(index(*receiver)); },
              [&] {
                return fmt::format("it starts at {} ns, before {} ns, when the output of {} was there", count(used),
                                   count(std::max(made, there)), name(id));
              },
              causality_remedy());
    }
  }

  [[nodiscard]] std::string_view causality_remedy() const {
    return run_.clock_error
               ? "clocks differ by no more than 'clock_error_ns'; else set 'unaligned'"
               : "stages that share a clock show what comes first; give 'clock_error_ns' where they do not";
  }

  template <class Name>
  void check_begin(const Name& name, const Span& span, SimTime least) {
    if (span.start < least)
      fault(
          name,
          [&] {
            return fmt::format("it starts at {} ns, before {} ns, when its stage is free", count(span.start),
                               count(least));
          },
          "a stage runs its tasks in its order, one after the other");
  }

  void check_reductions(const Timeline& timeline) {
    std::set<std::tuple<StageId, ChunkId, bool>> seen;
    for (std::size_t i = 0; i < timeline.reductions.size(); ++i) {
      const Reduction& reduction = timeline.reductions[i];
      const auto name = [i] { return fmt::format("reduction {}", i); };
      check_span(name, reduction.span);
      if (index(reduction.stage) >= schedule_.shape().stages || index(reduction.chunk) >= schedule_.shape().chunks())
        fault(
            name,
            [&] {
              return fmt::format("it is of chunk {} on stage {}", index(reduction.chunk), index(reduction.stage));
            },
            "name a stage and a chunk of the order");
      if (!seen.insert({reduction.stage, reduction.chunk, reduction.tied}).second)
        fault(
            name,
            [&] {
              return fmt::format("chunk {} is reduced once more on stage {}", index(reduction.chunk),
                                 index(reduction.stage));
            },
            "name each chunk of a stage once");
    }
  }

  void check_stages() {
    place_ = "the stages";
    if (run_.stages.size() != schedule_.shape().stages)
      return add(place_,
                 fmt::format("{} are recorded, and the order has {}", run_.stages.size(), schedule_.shape().stages),
                 "record every stage once");
    for (std::size_t stage = 0; stage < run_.stages.size(); ++stage) {
      const MeasuredStage& found = run_.stages[stage];
      const auto name = [stage] { return fmt::format("stage {}", stage); };
      for (const Bytes bytes : {found.static_bytes, found.peak_bytes, found.buffer_bytes})
        if (bytes < Bytes{} || bytes > most_bytes)
          fault(
              name, [&] { return fmt::format("it holds {} bytes", bytes.count()); }, "give sizes in bytes, from 0 on");
      for (const Duration time : {found.busy, found.cpu.value_or(Duration{0})})
        if (time < Duration{0} || time > longest_sum)
          fault(
              name, [&] { return fmt::format("it works for {} ns", time.count()); },
              "give wall and processor time inside tasks in nanoseconds, from 0 on");
    }
  }

  const MeasuredRun& run_;
  const Schedule& schedule_;
  std::string_view where_;
  std::string place_;
  Problems problems_;
};

/// Finds what released what.
class Attribution {
public:
  Attribution(const TaskGraph& graph, Timeline& timeline)
      : dag_{graph.dag()}, schedule_{graph.schedule()}, timeline_{timeline},
        together_{graph.scenario().update.step == OptimizerStep::synchronous}, inputs_(graph.size()) {}

  void run() {
    timeline_.released_by.assign(schedule_.size(), no_task);
    timeline_.cause.assign(schedule_.size(), Cause::none);
    for (std::size_t id = 0; id < schedule_.size(); ++id) find_inputs_from(static_cast<std::uint32_t>(id));
    for (std::size_t stage = 0; stage < schedule_.shape().stages; ++stage) {
      const std::size_t first = index(schedule_.first_task(make_id<StageId>(stage)));
      for (std::size_t i = 0; i < schedule_.stage(make_id<StageId>(stage)).size(); ++i) release(first + i, i > 0);
    }
    release_reductions();
    release_optimizers();
  }

private:
  /// The last to come of what a task gets from elsewhere.
  struct Input {
    SimTime at = SimTime::min();
    TaskId from = no_task;
    Cause cause = Cause::none;
  };

  /// Both halves of a pair that run one after the other.
  [[nodiscard]] bool in_turn(std::size_t first_half) const {
    return timeline_.tasks[first_half + 1].start >= timeline_.tasks[first_half].end;
  }

  /// Whose input it really is: edges to a pair all lead to its first half.
  [[nodiscard]] std::size_t half_for(std::size_t target, Cause cause) const {
    const Task& task = schedule_.tasks()[target];
    const bool for_forward = cause == Cause::activation;
    const bool own = for_forward == (task.pass == Pass::forward);
    return task.pairing == Pairing::first && !own && in_turn(target) ? target + 1 : target;
  }

  void find_inputs_from(std::uint32_t from) {
    for (auto [edge, end] = out_edges(from, dag_.graph); edge != end; ++edge) {
      const EdgeTag tag = dag_.graph[*edge];
      if (tag.cause == Cause::order || tag.cause == Cause::pair) continue;
      Input& input = inputs_[half_for(target(*edge, dag_.graph), tag.cause)];
      const SimTime at = tag.link == LinkClass::none ? timeline_.tasks[from].end : timeline_.transfers[from].end;
      if (input.from == no_task || at > input.at) input = {at, TaskId{from}, tag.cause};
    }
  }

  void release(std::size_t id, bool has_before) {
    const Input& input = inputs_[id];
    const bool second = schedule_.tasks()[id].pairing == Pairing::second;
    const bool follows = has_before && (input.from == no_task || is_there_in_time(id) || (second && !in_turn(id - 1)));
    if (follows) {
      timeline_.released_by[id] = make_id<TaskId>(id - 1);
      timeline_.cause[id] = second ? Cause::pair : Cause::order;
    } else {
      timeline_.released_by[id] = input.from;
      timeline_.cause[id] = input.cause;
    }
  }

  /// Whether the input of a task was there when the one before it had ended, or was noticed right after.
  [[nodiscard]] bool is_there_in_time(std::size_t id) const {
    const Duration notice = timeline_.tasks[id].length() * noticed_late_percent / 100;
    return inputs_[id].at <= timeline_.tasks[id - 1].end + notice;
  }

  /// A moment that may have let a reduction or optimizer step start.
  struct Moment {
    SimTime at{};
    UpdateRelease by;
  };

  /// The last of those that were over at `start`; where clocks show none, the first of them.
  static UpdateRelease last_before(SimTime start, const std::vector<Moment>& moments) {
    const Moment* last = nullptr;
    for (const Moment& moment : moments)
      if (moment.at <= start && (last == nullptr || moment.at > last->at)) last = &moment;
    if (last == nullptr && !moments.empty()) last = &moments.front();
    return last == nullptr ? UpdateRelease{} : last->by;
  }

  [[nodiscard]] Moment task_end(std::size_t id) const {
    return {timeline_.tasks[id].end, {.task = make_id<TaskId>(id)}};
  }
  [[nodiscard]] Moment reduction_end(std::size_t i) const {
    return {timeline_.reductions[i].span.end, {.reduction = i}};
  }

  /// By chunk: on each stage that holds it the last task that adds to its gradients.
  [[nodiscard]] std::vector<std::vector<Moment>> gradients() const {
    std::vector<std::vector<Moment>> ends(schedule_.shape().chunks());
    std::vector<std::size_t> seen_on(ends.size(), schedule_.shape().stages);
    for (std::size_t stage = 0; stage < schedule_.shape().stages; ++stage) {
      const std::size_t first = index(schedule_.first_task(make_id<StageId>(stage)));
      for (std::size_t id = index(schedule_.first_task(make_id<StageId>(stage + 1))); id-- > first;) {
        const Task& task = schedule_.tasks()[id];
        if (!frees_activation(task.pass) || seen_on[task.chunk_index] == stage) continue;
        seen_on[task.chunk_index] = stage;
        ends[task.chunk_index].push_back(task_end(id));
      }
    }
    return ends;
  }

  /// A reduction waits for its chunk's gradients, and for the one before it on its stage; that of a tied embedding for
  /// those of the first and the last chunk instead.
  void release_reductions() {
    if (timeline_.reductions.empty()) return;
    std::vector<std::vector<Moment>> ready = gradients();
    std::vector<std::optional<Moment>> before(schedule_.shape().stages);
    for (std::size_t i = 0; i < timeline_.reductions.size(); ++i) {
      Reduction& reduction = timeline_.reductions[i];
      std::vector<Moment> moments = ready[index(reduction.chunk)];
      if (reduction.tied)
        for (const std::size_t chunk : {std::size_t{0}, ready.size() - 1})
          moments.insert(moments.end(), ready[chunk].begin(), ready[chunk].end());
      if (const auto& other = before[index(reduction.stage)]) moments.push_back(*other);
      reduction.released_by = last_before(reduction.span.start, moments);
      if (reduction.tied) continue;
      before[index(reduction.stage)] = reduction_end(i);
      ready[index(reduction.chunk)].push_back(reduction_end(i));
    }
  }

  /// What may hold up the optimizer step of each stage: its last task, then its reductions.
  [[nodiscard]] std::vector<std::vector<Moment>> ends_by_stage() const {
    std::vector<std::vector<Moment>> ends(schedule_.shape().stages);
    for (std::size_t stage = 0; stage < ends.size(); ++stage)
      if (!schedule_.stage(make_id<StageId>(stage)).empty())
        ends[stage].push_back(task_end(index(schedule_.first_task(make_id<StageId>(stage + 1))) - 1));
    for (std::size_t i = 0; i < timeline_.reductions.size(); ++i)
      ends[index(timeline_.reductions[i].stage)].push_back(reduction_end(i));
    return ends;
  }

  void release_optimizers() {
    if (timeline_.optimizer.empty()) return;
    const std::vector<std::vector<Moment>> own = ends_by_stage();
    std::vector<Moment> all; // where stages step together, each waits for what the others do
    for (const std::vector<Moment>& ends : own) all.insert(all.end(), ends.begin(), ends.end());
    std::ranges::stable_sort(all, {}, &Moment::at);
    for (std::size_t stage = 0; stage < own.size(); ++stage) {
      OptimizerRun& step = timeline_.optimizer[stage];
      step.released_by = last_before(step.span.start, own[stage]);
      if (together_) {
        const auto later = std::ranges::upper_bound(all, step.span.start, {}, &Moment::at);
        if (later != all.begin() && std::prev(later)->at > end_of(step.released_by))
          step.released_by = std::prev(later)->by;
      }
    }
  }

  [[nodiscard]] SimTime end_of(const UpdateRelease& by) const {
    if (by.reduction != UpdateRelease::none) return timeline_.reductions[by.reduction].span.end;
    return by.task == no_task ? SimTime::min() : timeline_.tasks[index(by.task)].end;
  }

  const Dag& dag_;
  const Schedule& schedule_;
  Timeline& timeline_;
  bool together_; ///< all stages take their optimizer step together
  std::vector<Input> inputs_;
};

} // namespace

void check_run(const MeasuredRun& run, std::string_view where) {
  RunCheck{run, where}.check();
}

void attribute(const TaskGraph& graph, Timeline& timeline) {
  PPSIM_ASSERT(timeline.tasks.size() == graph.size() && timeline.transfers.size() == graph.size());
  Attribution{graph, timeline}.run();
}

} // namespace ppsim
