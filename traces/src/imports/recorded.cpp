#include "recorded.hpp"

#include "ppsim/sim/error.hpp"
#include "ppsim/sim/generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "../formats.hpp"
#include "recorded_steps.hpp"
#include "step_clock.hpp"

namespace ppsim::traces {
namespace {

/// Time stamps of one clock may be off by this much anyway: check_run() asks for no more.
constexpr std::int64_t time_stamp_resolution = 10'000;

/// The order of a step: its tasks, stage by stage, with a mark where a stage ends.
using OrderKey = std::vector<std::uint64_t>;

OrderKey order_of(const StepEvents& step) {
  OrderKey key;
  key.reserve(step.tasks.size());
  for (const TaskEvent& event : step.tasks) {
    constexpr unsigned chunk_bits = 16, pass_bits = 4, stage_bits = 12;
    std::uint64_t word = index(event.task.microbatch);
    word = (word << chunk_bits) | event.task.chunk_index;
    word = (word << pass_bits) | (static_cast<std::uint64_t>(event.task.pass) << 2) |
           static_cast<std::uint64_t>(event.task.pairing);
    key.push_back((word << stage_bits) | event.stage);
  }
  return key;
}

Schedule schedule_of(const StepEvents& step, const ImportOptions& options, std::string_view where) {
  const std::size_t stages = options.stages.value_or(step.tasks.back().stage + std::size_t{1});
  if (step.tasks.back().stage >= stages)
    throw Error{ExitCode::bad_input,
                Problem{std::string{where},
                        fmt::format("stage {} has tasks, but --stages says {}", step.tasks.back().stage, stages),
                        "leave --stages out, or give what the run had"}};
  FoundTasks found;
  for (const TaskEvent& event : step.tasks) {
    found.offsets.resize(event.stage + std::size_t{1}, static_cast<std::uint32_t>(found.tasks.size()));
    found.add(event.task);
  }
  found.offsets.resize(stages + 1, static_cast<std::uint32_t>(found.tasks.size()));
  const Shape shape = shape_of(found, where);
  Schedule plain = to_schedule(std::move(found), shape, true);
  const std::vector<std::uint32_t> offsets = [&] {
    std::vector<std::uint32_t> result;
    for (std::size_t stage = 0; stage <= shape.stages; ++stage)
      result.push_back(static_cast<std::uint32_t>(index(plain.first_task(make_id<StageId>(stage)))));
    return result;
  }();
  const Generator* generator = generator_of(plain);
  const Schedule named{generator == nullptr ? "imported" : std::string{generator->name},
                       shape,
                       {plain.tasks().begin(), plain.tasks().end()},
                       offsets};
  return plain.forward_only() ? named.forwards() : named;
}

/// Makes the timelines of the steps of one replica that have its order.
class RunBuilder {
public:
  RunBuilder(const Recorded& recorded, const Schedule& schedule, std::string_view where, DropCounts& dropped)
      : recorded_{recorded},
        graph_{lower(schedule, uniform_scenario(schedule.shape(), Duration{1}, Duration{1}), where)},
        dropped_{dropped} {
    for (std::size_t id = 0; id < graph_.size(); ++id)
      if (const std::optional<TaskId> receiver = graph_.receiver(make_id<TaskId>(id)))
        ways_.push_back({id, index(*receiver), stage(id), stage(index(*receiver)), nullptr, nullptr});
    run_.schedule = schedule;
    run_.facts = recorded.facts;
    if (run_.facts.backend.empty()) run_.facts.backend = "import";
    run_.stages.resize(schedule.shape().stages);
  }

  /// Counts it as dropped where it can not be.
  void add(const StepEvents& step) {
    find_transfers(step);
    offset_.assign(schedule().shape().stages, 0);
    settle_clocks(step);
    Timeline timeline;
    timeline.tasks.resize(graph_.size());
    timeline.transfers.resize(graph_.size());
    for (std::size_t id = 0; id < graph_.size(); ++id)
      timeline.tasks[id] = {at(step.tasks[id].stage, step.tasks[id].start),
                            at(step.tasks[id].stage, step.tasks[id].end)};
    if (std::ranges::any_of(timeline.tasks, [](const Span& span) { return span.end > SimTime{max_duration}; })) {
      ++dropped_["steps longer than a day"];
      return;
    }
    for (const Way& way : ways_) timeline.transfers[way.sender] = transfer_of(way, timeline);
    add_updates(step, timeline);
    for (std::size_t id = 0; id < graph_.size(); ++id) {
      constexpr Duration enough = 1000 * max_duration; // sums of more are no sums of a run
      Duration& busy = run_.stages[step.tasks[id].stage].busy;
      busy = std::min(busy + timeline.tasks[id].length(), enough);
    }
    run_.steps.push_back(std::move(timeline));
  }

  [[nodiscard]] bool has_steps() const { return !run_.steps.empty(); }
  [[nodiscard]] std::size_t aligned() const { return aligned_; }

  MeasuredRun finish(std::uint32_t replica, std::string_view where) {
    for (std::size_t stage = 0; stage < run_.stages.size(); ++stage)
      if (const auto peak = recorded_.peak_bytes.find({replica, static_cast<std::uint32_t>(stage)});
          peak != recorded_.peak_bytes.end())
        run_.stages[stage].peak_bytes = Bytes{peak->second};
    if (clock_error_ > time_stamp_resolution || aligned_ > 0) run_.clock_error = Duration{clock_error_};
    check_run(run_, where);
    return std::move(run_);
  }

private:
  /// An output that goes from one stage to another, and the events of it in the step at hand.
  struct Way {
    std::size_t sender;
    std::size_t receiver;
    std::uint32_t from; ///< stage
    std::uint32_t to;
    const TransferEvent* sent;
    const TransferEvent* received;
  };

  [[nodiscard]] const Schedule& schedule() const { return graph_.schedule(); }
  [[nodiscard]] std::uint32_t stage(std::size_t id) const {
    return static_cast<std::uint32_t>(index(graph_.schedule().stage_of(make_id<TaskId>(id))));
  }
  [[nodiscard]] SimTime at(std::uint32_t stage, std::int64_t time) const {
    return SimTime{Duration{time + offset_[stage]}};
  }

  /// The event of one side of a transfer: by the acting task, in the order of split_steps().
  const TransferEvent* find(const StepEvents& step, std::size_t acting, bool is_send) {
    const Task& task = schedule().tasks()[acting];
    const Pass direction = task.pass == Pass::forward ? Pass::forward : Pass::backward;
    const auto key = std::tuple{stage(acting), task.chunk_index, index(task.microbatch), direction, is_send};
    const auto found = std::ranges::lower_bound(step.transfers, key, {}, [](const TransferEvent& event) {
      return std::tuple{event.stage, event.task.chunk_index, index(event.task.microbatch), event.task.pass,
                        event.is_send};
    });
    const bool is_it = found != step.transfers.end() && found->stage == stage(acting) &&
                       found->task.chunk_index == task.chunk_index && found->task.microbatch == task.microbatch &&
                       found->task.pass == direction && found->is_send == is_send;
    if (!is_it) return nullptr;
    ++matched_;
    return &*found;
  }

  void find_transfers(const StepEvents& step) {
    matched_ = 0;
    for (Way& way : ways_) {
      way.sent = find(step, way.sender, true);
      way.received = find(step, way.receiver, false);
    }
    if (matched_ < step.transfers.size())
      dropped_["transfers that join no two tasks of different stages, or are there twice"] +=
          step.transfers.size() - matched_;
  }

  [[nodiscard]] std::vector<Crossing> crossings(const StepEvents& step) const {
    std::vector<Crossing> result;
    result.reserve(ways_.size());
    for (const Way& way : ways_) {
      Crossing& crossing = result.emplace_back();
      crossing.from = way.from;
      crossing.to = way.to;
      crossing.made = step.tasks[way.sender].end + offset_[way.from];
      crossing.used = step.tasks[way.receiver].start + offset_[way.to];
      if (way.sent != nullptr) crossing.sent = way.sent->end + offset_[way.from];
      if (way.received != nullptr) crossing.received = way.received->end + offset_[way.to];
    }
    return result;
  }

  /// Stages whose clocks are said to be one are believed unless something is used before it was made.
  void settle_clocks(const StepEvents& step) {
    std::vector<Crossing> found = crossings(step);
    std::int64_t error = worst_violation(found);
    if (!recorded_.one_clock || error > std::max(recorded_.time_error, time_stamp_resolution)) {
      const StageClocks clocks = align_clocks(offset_.size(), found);
      offset_ = clocks.offset;
      error = std::max(clocks.error, worst_violation(crossings(step)));
      ++aligned_;
    }
    std::int64_t zero = std::numeric_limits<std::int64_t>::max();
    for (const TaskEvent& event : step.tasks) zero = std::min(zero, event.start + offset_[event.stage]);
    for (std::int64_t& offset : offset_) offset -= zero;
    clock_error_ = std::clamp(error, clock_error_, max_duration.count());
  }

  /// It ends when the receiver says so, but not before its content was made nor after it was used. Of the time before,
  /// the side that came first waited for the other: it took what the one that came last says.
  [[nodiscard]] Span transfer_of(const Way& way, const Timeline& timeline) const {
    const SimTime made = timeline.tasks[way.sender].end;
    const SimTime used = timeline.tasks[way.receiver].start;
    const TransferEvent* last = way.received != nullptr ? way.received : way.sent;
    if (last == nullptr) return {made, made};
    std::int64_t length = last->end - last->start;
    if (way.sent != nullptr) length = std::min(length, way.sent->end - way.sent->start);
    const SimTime end = std::clamp(limited(last->stage, last->end), made, std::max(made, used));
    return {std::max(made, end - Duration{std::min(length, max_duration.count())}), end};
  }

  /// A moment of a stage, at most a day off the step.
  [[nodiscard]] SimTime limited(std::uint32_t stage, std::int64_t time) const {
    const std::int64_t day = max_duration.count();
    return std::clamp(at(stage, std::clamp(time, -2 * day, 2 * day)), SimTime{}, SimTime{max_duration});
  }
  [[nodiscard]] Span limited(const UpdateEvent& event) const {
    return {limited(event.stage, event.start), limited(event.stage, event.end)};
  }

  void add_updates(const StepEvents& step, Timeline& timeline) {
    const std::size_t stages = offset_.size();
    std::vector<std::optional<Span>> optimizer(stages);
    std::set<std::tuple<StageId, ChunkId, bool>> seen;
    for (const UpdateEvent& event : step.updates) {
      if (event.stage >= stages || event.chunk >= schedule().shape().chunks()) {
        ++dropped_["updates of stages or chunks without tasks"];
        continue;
      }
      const Span span = limited(event);
      if (event.kind == UpdateEvent::Kind::optimizer) {
        std::optional<Span>& whole = optimizer[event.stage];
        whole = whole ? Span{std::min(whole->start, span.start), std::max(whole->end, span.end)} : span;
        continue;
      }
      const Reduction reduction{.stage = make_id<StageId>(event.stage),
                                .chunk = make_id<ChunkId>(event.chunk),
                                .tied = event.kind == UpdateEvent::Kind::tied_reduction,
                                .span = span,
                                .released_by = {}};
      if (seen.insert({reduction.stage, reduction.chunk, reduction.tied}).second)
        timeline.reductions.push_back(reduction);
      else
        ++dropped_["reductions of a chunk after its first in a step"];
    }
    std::ranges::stable_sort(timeline.reductions, {}, [](const Reduction& each) {
      return std::tuple{each.tied, each.stage, each.span.start};
    });
    add_optimizer(optimizer, timeline);
  }

  /// Of all stages or of none, and not before a stage's tasks have ended.
  void add_optimizer(const std::vector<std::optional<Span>>& found, Timeline& timeline) {
    const auto there =
        static_cast<std::size_t>(std::ranges::count_if(found, [](const auto& span) { return span.has_value(); }));
    if (there < found.size()) {
      if (there > 0) dropped_["optimizer steps of some stages only"] += there;
      return;
    }
    for (std::size_t stage = 0; stage < found.size(); ++stage) {
      SimTime done{};
      const std::size_t first = index(schedule().first_task(make_id<StageId>(stage)));
      for (std::size_t i = 0; i < schedule().stage(make_id<StageId>(stage)).size(); ++i)
        done = std::max(done, timeline.tasks[first + i].end);
      const Span span{std::max(found[stage]->start, done), std::max(found[stage]->end, done)};
      timeline.optimizer.push_back({span, {}});
    }
  }

  const Recorded& recorded_;
  TaskGraph graph_;
  DropCounts& dropped_;
  MeasuredRun run_;
  std::vector<Way> ways_;
  std::vector<std::int64_t> offset_; ///< by stage, of the step at hand
  std::int64_t clock_error_ = 0;
  std::size_t matched_ = 0;
  std::size_t aligned_ = 0;
};

class Assembly {
public:
  Assembly(Recorded& recorded, const ImportOptions& options, std::string_view where)
      : recorded_{recorded}, options_{options}, where_{where}, dropped_{recorded.dropped} {}

  Imported run() {
    const std::vector<StepEvents> steps = split_steps(recorded_, dropped_);
    for (auto begin = steps.begin(); begin != steps.end();) {
      const auto end =
          std::find_if(begin, steps.end(), [&](const StepEvents& each) { return each.replica != begin->replica; });
      add_replica({begin, end});
      begin = end;
    }
    if (imported_.runs.empty()) refuse();
    for (const auto& [what, count] : dropped_)
      if (count > 0) imported_.dropped.push_back({what, count});
    imported_.notes = std::move(recorded_.notes);
    if (aligned_ > 0)
      imported_.notes.push_back(
          recorded_.one_clock
              ? fmt::format("the clocks of stages do not agree in {} steps: there they were aligned by transfers",
                            aligned_)
              : fmt::format("the clocks of stages were aligned by transfers, step by step ({} steps)", aligned_));
    return std::move(imported_);
  }

private:
  void drop(const StepEvents& step, const StepFault& fault) {
    ++dropped_[fault.reason];
    if (first_fault_.empty())
      first_fault_ = fmt::format("step {} of replica {}: {}", step.step, step.replica, fault.found);
  }

  void add_replica(std::span<const StepEvents> steps) {
    std::map<OrderKey, std::vector<const StepEvents*>> orders;
    for (const StepEvents& step : steps) {
      std::optional<StepFault> fault = find_incomplete(step);
      if (!fault) fault = bring_into_order(step, recorded_.one_clock, recorded_.time_error);
      if (fault)
        drop(step, *fault);
      else
        orders[order_of(step)].push_back(&step);
    }
    if (orders.empty()) return;
    const auto& most =
        std::ranges::max_element(orders, {}, [](const auto& each) { return each.second.size(); })->second;
    for (const auto& [key, others] : orders)
      if (&others != &most) dropped_["steps with another order than most"] += others.size();
    RunBuilder builder{recorded_, schedule_of(*most.front(), options_, where_), where_, dropped_};
    for (const StepEvents* step : most) builder.add(*step);
    aligned_ += builder.aligned();
    if (builder.has_steps()) imported_.runs.push_back(builder.finish(steps.front().replica, where_));
  }

  [[noreturn]] void refuse() const {
    const bool none = recorded_.tasks.empty();
    throw Error{
        ExitCode::bad_input,
        Problem{std::string{where_},
                none ? "no forward or backward was found"
                     : fmt::format("no step is whole; {}",
                                   first_fault_.empty() ? "all are longer than a day" : first_fault_),
                none ? "record the passes of the pipeline" : "give the files of all stages, and record whole steps"}};
  }

  Recorded& recorded_;
  const ImportOptions& options_;
  std::string_view where_;
  DropCounts& dropped_;
  Imported imported_;
  std::string first_fault_;
  std::size_t aligned_ = 0;
};

} // namespace

Imported assemble(Recorded recorded, const ImportOptions& options, std::string_view where) {
  return Assembly{recorded, options, where}.run();
}

} // namespace ppsim::traces
