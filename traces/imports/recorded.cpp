#include "recorded.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/schedule/generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "pp_action.hpp"
#include "recorded_steps.hpp"
#include "schedules/formats.hpp"
#include "step_clock.hpp"

namespace ppsim::traces {
namespace {

/// The order of a step: its tasks, stage by stage, with a mark at the end of each stage.
using OrderKey = std::vector<std::uint64_t>;

OrderKey order_of(const StepEvents& step) {
  OrderKey key;
  key.reserve(step.tasks.size());
  for (const TaskEvent& event : step.tasks) {
    constexpr unsigned chunk_bits = 16;
    constexpr unsigned pass_bits = 4;
    constexpr unsigned stage_bits = 12;
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
                        "leave --stages out, or give the run's number of stages"}};
  FoundTasks found;
  for (const TaskEvent& event : step.tasks) {
    found.offsets.resize(event.stage + std::size_t{1}, static_cast<std::uint32_t>(found.tasks.size()));
    found.add(event.task);
  }
  found.offsets.resize(stages + 1, static_cast<std::uint32_t>(found.tasks.size()));
  if (const auto empty = std::ranges::adjacent_find(found.offsets); empty != found.offsets.end())
    throw Error{ExitCode::bad_input,
                Problem{std::string{where}, fmt::format("stage {} has no task", empty - found.offsets.begin()),
                        "give the files of all stages, and the run's number of stages as --stages"}};
  const Shape shape = shape_of(found, where);
  const Schedule plain = to_schedule(std::move(found), shape, true);
  const Generator* generator = generator_of(plain);
  const Schedule named{generator == nullptr ? "imported" : std::string{generator->name},
                       shape,
                       {plain.tasks().begin(), plain.tasks().end()},
                       plain.offsets()};
  return plain.forward_only() ? named.forwards() : named;
}

/// A step of a replica, on one clock.
struct ReplicaStep {
  std::int64_t number = 0;
  Timeline timeline{};
  std::vector<bool> unrecorded{};            ///< as in MeasuredRun
  std::optional<std::int64_t> clock_error{}; ///< bound between any two stages; none: unbounded
  bool aligned = false;                      ///< clocks of stages were aligned
  bool matched = false;                      ///< also by transfers recorded on both sides
};

/// A replica, before its steps are selected.
struct Replica {
  std::uint32_t number = 0;
  Schedule schedule;
  std::size_t transfers = 0;        ///< per step
  std::vector<ReplicaStep> steps{}; ///< by rising number
};

/// Builds the steps of one replica that have its order.
class StepBuilder {
public:
  StepBuilder(Recorded& recorded, TaskGraph graph) : recorded_{recorded}, graph_{std::move(graph)} {
    for (std::size_t id = 0; id < graph_.size(); ++id)
      if (const std::optional<TaskId> receiver = graph_.receiver(make_id<TaskId>(id)))
        outputs_.push_back({id, index(*receiver), stage(id), stage(index(*receiver)), nullptr, nullptr});
  }

  [[nodiscard]] std::size_t transfers() const { return outputs_.size(); }

  /// None, counted as dropped, if the step is impossible.
  std::optional<ReplicaStep> build(const StepEvents& events) {
    find_transfers(events);
    ReplicaStep step{.number = events.step};
    settle_clocks(events, step);
    Timeline& timeline = step.timeline;
    timeline.transfers.resize(graph_.size());
    for (const TaskEvent& event : events.tasks)
      timeline.tasks.push_back({at(event.stage, event.start), at(event.stage, event.end)});
    if (std::ranges::any_of(timeline.tasks, [](const Span& span) { return span.end > SimTime{max_duration}; })) {
      ++recorded_.dropped["steps longer than a day"];
      return std::nullopt;
    }
    step.unrecorded.resize(graph_.size());
    for (const OutputEvents& output : outputs_) {
      timeline.transfers[output.sender] = transfer_of(output, timeline);
      step.unrecorded[output.sender] = output.sent == nullptr && output.received == nullptr;
    }
    add_updates(events, timeline);
    return step;
  }

private:
  /// An output sent from one stage to another, with its events in the current step.
  struct OutputEvents {
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

  /// The event of one side of a transfer, by the acting task, in the order of split_steps().
  const TransferEvent* find(const StepEvents& step, std::size_t acting, bool is_send) {
    const Task& task = schedule().tasks()[acting];
    const Pass direction = task.pass == Pass::forward ? Pass::forward : Pass::backward;
    const auto key = std::tuple{stage(acting), task.chunk_index, index(task.microbatch), direction, is_send};
    const auto key_of = [](const TransferEvent& event) {
      return std::tuple{event.stage, event.task.chunk_index, index(event.task.microbatch), event.task.pass,
                        event.is_send};
    };
    const auto found = std::ranges::lower_bound(step.transfers, key, {}, key_of);
    if (found == step.transfers.end() || key_of(*found) != key) return nullptr;
    ++matched_;
    return &*found;
  }

  void find_transfers(const StepEvents& step) {
    matched_ = 0;
    for (OutputEvents& output : outputs_) {
      output.sent = find(step, output.sender, true);
      output.received = find(step, output.receiver, false);
    }
    if (matched_ < step.transfers.size())
      recorded_.dropped
          ["transfers that do not join two tasks of different stages, or appear twice (are all ranks in the files?)"] +=
          step.transfers.size() - matched_;
  }

  [[nodiscard]] std::vector<StampedTransfer> stamped_transfers(const StepEvents& step) const {
    std::vector<StampedTransfer> result;
    result.reserve(outputs_.size());
    for (const OutputEvents& output : outputs_) {
      StampedTransfer& transfer = result.emplace_back();
      transfer.from = output.from;
      transfer.to = output.to;
      transfer.made = step.tasks[output.sender].end;
      transfer.used = step.tasks[output.receiver].start;
      if (output.sent != nullptr) transfer.sent = output.sent->end;
      if (output.received != nullptr) transfer.received = output.received->end;
    }
    return result;
  }

  /// Accepts a stated common clock unless something is used before it was made.
  void settle_clocks(const StepEvents& events, ReplicaStep& step) {
    const std::vector<StampedTransfer> found = stamped_transfers(events);
    offset_.assign(schedule().shape().stages, 0);
    step.clock_error = worst_violation(found, offset_);
    if (!recorded_.one_clock || *step.clock_error > std::max(recorded_.time_error, time_stamp_resolution.count())) {
      StageClocks clocks = align_clocks(offset_.size(), found);
      offset_ = std::move(clocks.offset);
      step.clock_error = clocks.error;
      if (step.clock_error) step.clock_error = std::max(*step.clock_error, worst_violation(found, offset_));
      step.aligned = offset_.size() > 1;
      step.matched = std::ranges::any_of(found, [](const StampedTransfer& each) { return each.sent && each.received; });
    }
    std::int64_t zero = std::numeric_limits<std::int64_t>::max();
    for (const TaskEvent& event : events.tasks) zero = std::min(zero, event.start + offset_[event.stage]);
    for (std::int64_t& offset : offset_) offset -= zero;
  }

  /// The transfer ends when the receiver says so, but not before its content was made nor after it was used. Before
  /// that, the side that came first waited for the other: the duration is that of the later side.
  [[nodiscard]] Span transfer_of(const OutputEvents& output, const Timeline& timeline) const {
    const SimTime made = timeline.tasks[output.sender].end;
    const SimTime used = timeline.tasks[output.receiver].start;
    const TransferEvent* last = output.received != nullptr ? output.received : output.sent;
    if (last == nullptr) return {made, made};
    std::int64_t length = last->end - last->start;
    if (output.sent != nullptr) length = std::min(length, output.sent->end - output.sent->start);
    const SimTime end = std::clamp(limited(last->stage, last->end), made, std::max(made, used));
    return {std::max(made, end - Duration{std::min(length, max_duration.count())}), end};
  }

  /// A time of a stage, at most one day from the step.
  [[nodiscard]] SimTime limited(std::uint32_t stage, std::int64_t time) const {
    const std::int64_t day = max_duration.count();
    return std::clamp(at(stage, std::clamp(time, -2 * day, 2 * day)), SimTime{}, SimTime{max_duration});
  }

  void add_updates(const StepEvents& step, Timeline& timeline) {
    const std::size_t stages = offset_.size();
    std::vector<std::optional<Span>> optimizer(stages);
    std::set<std::tuple<StageId, ChunkId, bool>> seen;
    for (const UpdateEvent& event : step.updates) {
      if (event.stage >= stages || event.chunk >= schedule().shape().chunks()) {
        ++recorded_.dropped["updates of stages or chunks without tasks"];
        continue;
      }
      const Span span{limited(event.stage, event.start), limited(event.stage, event.end)};
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
        ++recorded_.dropped["reductions of a chunk after its first in a step"];
    }
    std::ranges::stable_sort(timeline.reductions, {}, [](const Reduction& each) {
      return std::tuple{each.tied, each.stage, each.span.start};
    });
    add_optimizer(optimizer, timeline);
  }

  /// For all stages or none, and not before a stage's tasks have ended.
  void add_optimizer(const std::vector<std::optional<Span>>& found, Timeline& timeline) {
    const auto there =
        static_cast<std::size_t>(std::ranges::count_if(found, [](const auto& span) { return span.has_value(); }));
    if (there < found.size()) {
      if (there > 0) recorded_.dropped["optimizer steps of some stages only"] += there;
      return;
    }
    for (std::size_t stage = 0; stage < found.size(); ++stage) {
      SimTime done{};
      for (const TaskId id : schedule().task_ids(make_id<StageId>(stage)))
        done = std::max(done, timeline.tasks[index(id)].end);
      const Span span{std::max(found[stage]->start, done), std::max(found[stage]->end, done)};
      timeline.optimizer.push_back({span, {}});
    }
  }

  Recorded& recorded_;
  TaskGraph graph_;
  std::vector<OutputEvents> outputs_;
  std::vector<std::int64_t> offset_; ///< by stage, for the current step
  std::size_t matched_ = 0;
};

/// The run with the steps of a replica.
MeasuredRun run_of(Replica replica, const Recorded& recorded, std::string_view where) {
  MeasuredRun run{.schedule = std::move(replica.schedule), .facts = recorded.facts};
  if (run.facts.backend.empty()) run.facts.backend = "import";
  std::int64_t error = 0;
  bool aligned = false;
  for (ReplicaStep& step : replica.steps) {
    error = std::min(std::max(error, step.clock_error.value_or(0)), max_duration.count());
    aligned = aligned || step.aligned;
    run.unaligned = run.unaligned || !step.clock_error;
    run.steps.push_back(std::move(step.timeline));
    run.unrecorded.push_back(std::move(step.unrecorded));
  }
  if (!run.unaligned && (aligned || error > time_stamp_resolution.count())) run.clock_error = Duration{error};
  if (unrecorded_transfers(run) == 0) run.unrecorded.clear();
  for (const StageId stage : run.schedule.stage_ids()) {
    MeasuredStage& measured = run.stages.emplace_back();
    if (const auto peak = recorded.peak_bytes.find({replica.number, static_cast<std::uint32_t>(stage)});
        peak != recorded.peak_bytes.end())
      measured.peak_bytes = Bytes{peak->second};
    constexpr Duration enough = 1000 * max_duration; // sums above are not valid for a run
    for (const Timeline& step : run.steps)
      for (const TaskId id : run.schedule.task_ids(stage))
        measured.busy = std::min(measured.busy + step.tasks[index(id)].length(), enough);
  }
  check_run(run, where);
  return run;
}

/// Replicas are compared step by step: keeps only steps that all have. Drops a replica without any of them; the
/// replicas with the most steps define them.
void keep_common_steps(std::vector<Replica>& replicas, DropCounts& dropped) {
  std::vector<Replica*> by_steps;
  by_steps.reserve(replicas.size());
  for (Replica& replica : replicas) by_steps.push_back(&replica);
  std::ranges::stable_sort(by_steps, std::greater{}, [](const Replica* replica) { return replica->steps.size(); });
  std::vector<std::int64_t> common;
  for (const ReplicaStep& step : by_steps.front()->steps) common.push_back(step.number);
  for (Replica* replica : by_steps) {
    std::vector<std::int64_t> both;
    for (const ReplicaStep& step : replica->steps)
      if (std::ranges::binary_search(common, step.number)) both.push_back(step.number);
    if (both.empty())
      replica->steps.clear();
    else
      common = std::move(both);
  }
  dropped["replicas without any step that the others have"] +=
      std::erase_if(replicas, [](const Replica& replica) { return replica.steps.empty(); });
  for (Replica& replica : replicas)
    dropped["steps that another replica lacks"] += std::erase_if(
        replica.steps, [&](const ReplicaStep& step) { return !std::ranges::binary_search(common, step.number); });
}

class Assembly {
public:
  Assembly(Recorded& recorded, const ImportOptions& options, std::string_view where)
      : recorded_{recorded}, options_{options}, where_{where}, dropped_{recorded.dropped} {}

  Imported run() {
    const std::vector<StepEvents> steps = split_steps(recorded_);
    const std::size_t parted = part_pairs(recorded_.tasks);
    for (auto begin = steps.begin(); begin != steps.end();) {
      const auto end =
          std::find_if(begin, steps.end(), [&](const StepEvents& each) { return each.replica != begin->replica; });
      add_replica({begin, end});
      begin = end;
    }
    if (replicas_.empty()) refuse();
    check_shapes();
    keep_common_steps(replicas_, dropped_);
    add_notes(parted);
    Imported imported;
    for (Replica& replica : replicas_) {
      imported.replicas.push_back(replica.number);
      imported.runs.push_back(run_of(std::move(replica), recorded_, where_));
    }
    for (const auto& [what, count] : dropped_)
      if (count > 0) imported.dropped.push_back({what, count});
    imported.notes = std::move(recorded_.notes);
    return imported;
  }

private:
  void drop(const StepEvents& step, const StepFault& fault) {
    ++dropped_[fault.reason];
    if (first_fault_.empty())
      first_fault_ = fmt::format("step {} of replica {}: {}", step.step, step.replica, fault.found);
  }

  using SameOrder = std::vector<const StepEvents*>;

  /// The complete steps, by order.
  std::map<OrderKey, SameOrder> orders_of(std::span<const StepEvents> steps) {
    std::map<OrderKey, SameOrder> orders;
    for (const StepEvents& step : steps) {
      std::optional<StepFault> fault = find_incomplete(step);
      if (!fault) fault = bring_into_order(step, recorded_.one_clock, recorded_.time_error);
      if (fault)
        drop(step, *fault);
      else
        orders[order_of(step)].push_back(&step);
    }
    return orders;
  }

  /// Of the possible orders, the one with the most steps is the replica's.
  void add_replica(std::span<const StepEvents> steps) {
    const std::map<OrderKey, SameOrder> orders = orders_of(steps);
    std::vector<const SameOrder*> by_steps;
    by_steps.reserve(orders.size());
    for (const auto& [key, same] : orders) by_steps.push_back(&same);
    std::ranges::stable_sort(by_steps, std::greater{}, [](const SameOrder* same) { return same->size(); });
    std::optional<Replica> replica;
    for (const SameOrder* same : by_steps) {
      if (replica)
        dropped_["steps with another order than most"] += same->size();
      else if (std::optional<TaskGraph> graph = graph_of(*same))
        replica = replica_of(*same, std::move(*graph));
    }
    if (replica && !replica->steps.empty())
      replicas_.push_back(std::move(*replica));
    else
      ++dropped_["replicas without a complete step"];
  }

  /// None if the tasks do not form a schedule, or an impossible one.
  std::optional<TaskGraph> graph_of(const SameOrder& steps) {
    try {
      Schedule schedule = schedule_of(*steps.front(), options_, where_);
      Scenario scenario = uniform_scenario(schedule.shape(), Duration{1}, Duration{1});
      return lower(std::move(schedule), std::move(scenario), where_);
    } catch (const Error& error) {
      dropped_[error.code() == ExitCode::bad_input ? "steps whose tasks do not make a schedule"
                                                   : "steps whose order cannot have run"] += steps.size();
      if (first_error_.empty()) first_error_ = error.problems();
      return std::nullopt;
    }
  }

  Replica replica_of(const SameOrder& steps, TaskGraph graph) {
    Replica replica{.number = steps.front()->replica, .schedule = graph.schedule()};
    StepBuilder builder{recorded_, std::move(graph)};
    replica.transfers = builder.transfers();
    for (const StepEvents* events : steps)
      if (std::optional<ReplicaStep> step = builder.build(*events)) replica.steps.push_back(std::move(*step));
    return replica;
  }

  /// Replicas of one run have equal shapes. Others are of another run, or lack the files of a stage.
  void check_shapes() const {
    const auto words = [](const Replica& replica) {
      const Shape& shape = replica.schedule.shape();
      return fmt::format("replica {} has {}, {} and {} per stage", replica.number, counted(shape.stages, "stage"),
                         counted(shape.microbatches, "microbatch", "es"), counted(shape.vpp, "chunk"));
    };
    const auto other = std::ranges::find_if(replicas_, [this](const Replica& replica) {
      return !(replica.schedule.shape() == replicas_.front().schedule.shape());
    });
    if (other == replicas_.end()) return;
    throw Error{ExitCode::bad_input,
                Problem{std::string{where_}, fmt::format("{}, and {}", words(replicas_.front()), words(*other)),
                        "give the files of all stages of each replica, and of one run only"}};
  }

  /// `parted`: number of pairs whose halves had to be separated.
  void add_notes(std::size_t parted) {
    std::size_t transfers = 0;
    std::size_t unrecorded = 0; // those that neither side recorded
    std::size_t aligned = 0;    // steps
    std::size_t matched = 0;    // those with transfers for the alignment
    std::size_t unbounded = 0;  // those with unbounded clocks
    for (const Replica& replica : replicas_)
      for (const ReplicaStep& step : replica.steps) {
        transfers += replica.transfers;
        unrecorded += static_cast<std::size_t>(std::ranges::count(step.unrecorded, true));
        aligned += step.aligned ? 1 : 0;
        matched += step.aligned && step.matched ? 1 : 0;
        unbounded += step.clock_error ? 0 : 1;
      }
    std::vector<std::string>& notes = recorded_.notes;
    if (unrecorded > 0)
      notes.push_back(fmt::format("{} of {} were not recorded", unrecorded, counted(transfers, "transfer")));
    if (parted > 0)
      notes.push_back(fmt::format(
          "only the whole of {} was recorded: each half gets the share that its pass has of both when they run alone",
          counted(parted, "overlapped pair")));
    note_alignment(matched, "transfers");
    note_alignment(aligned - matched, "the order of tasks");
    if (unbounded > 0)
      notes.push_back(fmt::format(
          "in {} some stages only send to others, or only receive: the difference of their clocks has no bound",
          counted(unbounded, "step")));
  }

  void note_alignment(std::size_t steps, std::string_view by) {
    if (steps == 0) return;
    recorded_.notes.push_back(
        recorded_.one_clock
            ? fmt::format("the clocks of stages do not agree in {}: they were aligned by {} there",
                          counted(steps, "step"), by)
            : fmt::format("the clocks of stages were aligned by {}, step by step ({})", by, counted(steps, "step")));
  }

  [[noreturn]] void refuse() const {
    if (!first_error_.empty()) throw Error{ExitCode::bad_input, first_error_};
    const bool none = recorded_.tasks.empty();
    const auto unknown = dropped_.find(unknown_action);
    throw Error{ExitCode::bad_input,
                Problem{std::string{where_},
                        none ? "no forward or backward was found"
                             : fmt::format("no step is complete; {}",
                                           first_fault_.empty() ? "all are longer than a day" : first_fault_),
                        none                               ? "record the passes of the pipeline"
                        : dropped_.contains(task_is_twice) ? "give each file once, and files of one run only"
                        : unknown != dropped_.end()
                            ? fmt::format("the files have {} {}: record a schedule without them", unknown->second,
                                          unknown_action)
                            : "give the files of all stages, and record complete steps"}};
  }

  Recorded& recorded_;
  const ImportOptions& options_;
  std::string_view where_;
  DropCounts& dropped_; ///< of `recorded_`
  std::vector<Replica> replicas_;
  std::string first_fault_;
  std::vector<Problem> first_error_; ///< of complete steps that do not form a run
};

} // namespace

Imported assemble(Recorded recorded, const ImportOptions& options, std::string_view where) {
  return Assembly{recorded, options, where}.run();
}

} // namespace ppsim::traces
