#include "ppsim/base/error.hpp"
#include "ppsim/graph/detail/dag.hpp"
#include "ppsim/measured/measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace ppsim {
namespace {

/// Far more than any machine has; sums over all stages stay in range.
constexpr Bytes most_bytes{std::int64_t{1} << 50};
/// Sums over all steps of a run may last longer than one of them.
constexpr Duration longest_sum = 10'000 * max_duration;

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
          "give nanoseconds, 0 or more");
    problems_.throw_if_any();
    // All numbers are in range: check whether they fit each other.
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
    add("the run", "the list of transfers that were not recorded does not cover each task of each step",
        "cover all of them, or none if all were recorded");
  }

  void add(std::string_view what, std::string found, std::string_view remedy) {
    problems_.add(fmt::format("{}: {}", where_, what), std::move(found), std::string{remedy});
  }

  /// Beyond the limit, faults are only counted.
  template <class Name, class... Values>
  void fault(const Name& name, std::string_view remedy, fmt::format_string<Values...> found, Values&&... values) {
    if (problems_.count() >= Problems::limit) return problems_.add({}, {});
    add(fmt::format("{}, {}", place_, name()), fmt::format(found, std::forward<Values>(values)...), remedy);
  }

  template <class Name>
  void check_span(const Name& name, const Span& span, bool may_turn_back = false) {
    constexpr std::string_view remedy = "give times as nanoseconds since the step began, each end after its start";
    const auto out_of_range = [](SimTime at) { return at < SimTime{} || at > SimTime{max_duration}; };
    if (out_of_range(span.start) || out_of_range(span.end) || (span.end < span.start && !may_turn_back))
      fault(name, remedy, "it runs from {} to {} ns", count(span.start), count(span.end));
  }

  static std::int64_t count(SimTime at) { return at.time_since_epoch().count(); }

  void check_step(const Timeline& timeline) {
    if (timeline.tasks.size() != schedule_.size() || timeline.transfers.size() != schedule_.size() ||
        (!timeline.optimizer.empty() && timeline.optimizer.size() != schedule_.shape().stages)) {
      add(place_,
          fmt::format("{} tasks, {} transfers and {} optimizer steps are recorded", timeline.tasks.size(),
                      timeline.transfers.size(), timeline.optimizer.size()),
          fmt::format("record a time for each of the {} tasks, and one optimizer step per stage or none",
                      schedule_.size()));
      return;
    }
    for (const StageId stage : schedule_.stage_ids()) check_stage(timeline, stage);
    for (std::size_t id = 0; id < timeline.transfers.size(); ++id)
      check_span(
          [&] {
            return fmt::format("transfer of {} from stage {}", to_string(schedule_.tasks()[id]),
                               index(schedule_.stage_of(make_id<TaskId>(id))));
          },
          timeline.transfers[id], run_.clock_error.has_value());
    check_reductions(timeline);
  }

  /// The operations of a stage must not overlap, except the halves of a pair.
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

  /// The dependencies of tasks. An impossible order is bad input here, because no times can fit it.
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

  /// An output is available after its sender ended and before its consumer starts, within the clocks' error.
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
        fault([&] { return "transfer of " + name(id); }, causality_remedy(),
              "it ends at {} ns, before {} ns, when its task made the data", count(there), count(made));
      if (used + slack < std::max(made, there))
        fault([&] { return name(index(*receiver)); }, causality_remedy(),
              "it starts at {} ns, before {} ns, when the output of {} had arrived", count(used),
              count(std::max(made, there)), name(id));
    }
  }

  [[nodiscard]] std::string_view causality_remedy() const {
    return run_.clock_error
               ? "clocks may differ by at most 'clock_error_ns'; otherwise set 'unaligned'"
               : "stages that share a clock must show causes first; give 'clock_error_ns' if they do not share one";
  }

  template <class Name>
  void check_begin(const Name& name, const Span& span, SimTime least) {
    if (span.start < least)
      fault(name, "a stage runs its tasks in its order, one after the other",
            "it starts at {} ns, before {} ns, when its stage is free", count(span.start), count(least));
  }

  void check_reductions(const Timeline& timeline) {
    std::set<std::tuple<StageId, ChunkId, bool>> seen;
    for (std::size_t i = 0; i < timeline.reductions.size(); ++i) {
      const Reduction& reduction = timeline.reductions[i];
      const auto name = [i] { return fmt::format("reduction {}", i); };
      check_span(name, reduction.span);
      if (index(reduction.stage) >= schedule_.shape().stages || index(reduction.chunk) >= schedule_.shape().chunks())
        fault(name, "name a stage and a chunk of the order", "it is of chunk {} on stage {}", index(reduction.chunk),
              index(reduction.stage));
      if (!seen.insert({reduction.stage, reduction.chunk, reduction.tied}).second)
        fault(name, "name each chunk of a stage once", "chunk {} is reduced once more on stage {}",
              index(reduction.chunk), index(reduction.stage));
    }
  }

  void check_stages() {
    place_ = "the stages";
    if (run_.stages.size() != schedule_.shape().stages)
      return add(place_,
                 fmt::format("{} are recorded, but the order has {}", run_.stages.size(), schedule_.shape().stages),
                 "record every stage once");
    for (std::size_t stage = 0; stage < run_.stages.size(); ++stage) {
      const MeasuredStage& found = run_.stages[stage];
      const auto name = [stage] { return fmt::format("stage {}", stage); };
      for (const Bytes bytes : {found.static_bytes, found.peak_bytes, found.buffer_bytes})
        if (bytes < Bytes{} || bytes > most_bytes)
          fault(name, "give sizes in bytes, 0 or more", "it holds {} bytes", bytes.count());
      for (const Duration time : {found.busy, found.cpu.value_or(Duration{0})})
        if (time < Duration{0} || time > longest_sum)
          fault(name, "give wall and processor time inside tasks in nanoseconds, 0 or more", "it works for {} ns",
                time.count());
    }
  }

  const MeasuredRun& run_;
  const Schedule& schedule_;
  std::string_view where_;
  std::string place_;
  Problems problems_;
};

} // namespace

void check_run(const MeasuredRun& run, std::string_view where) {
  RunCheck{run, where}.check();
}

} // namespace ppsim
