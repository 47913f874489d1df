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

/// The order of a step: its tasks, stage by stage, with a mark where a stage ends.
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
                        "leave --stages out, or give what the run had"}};
  for (std::size_t stage = 0, i = 0; stage < stages; ++stage) {
    if (i == step.tasks.size() || step.tasks[i].stage != stage)
      throw Error{ExitCode::bad_input, Problem{std::string{where}, fmt::format("stage {} has no task", stage),
                                               "give the files of all stages, and as --stages what the run had"}};
    while (i < step.tasks.size() && step.tasks[i].stage == stage) ++i;
  }
  FoundTasks found;
  for (const TaskEvent& event : step.tasks) {
    found.offsets.resize(event.stage + std::size_t{1}, static_cast<std::uint32_t>(found.tasks.size()));
    found.add(event.task);
  }
  found.offsets.resize(stages + 1, static_cast<std::uint32_t>(found.tasks.size()));
  const Shape shape = shape_of(found, where);
  const Schedule plain = to_schedule(std::move(found), shape, true);
  const Generator* generator = generator_of(plain);
  const Schedule named{generator == nullptr ? "imported" : std::string{generator->name},
                       shape,
                       {plain.tasks().begin(), plain.tasks().end()},
                       plain.offsets()};
  return plain.forward_only() ? named.forwards() : named;
}

/// What is known of a step beside its timeline.
struct StepFacts {
  std::int64_t number = 0;
  std::optional<std::int64_t> clock_error{}; ///< bound between any two stages; none: nothing bounds it
  bool aligned = false;                      ///< clocks of stages were brought together
  bool matched = false;                      ///< by transfers that both sides show, too
};

/// The run of a replica, and the facts of each of its steps. Nothing is summed up over them yet.
struct ReplicaRun {
  std::uint32_t replica = 0;
  MeasuredRun run;
  std::vector<StepFacts> facts; ///< by rising number
  std::size_t transfers = 0;    ///< per step
};

/// Makes the timelines of the steps of one replica that have its order.
class RunBuilder {
public:
  RunBuilder(const Recorded& recorded, TaskGraph graph, DropCounts& dropped)
      : recorded_{recorded}, graph_{std::move(graph)}, dropped_{dropped} {
    for (std::size_t id = 0; id < graph_.size(); ++id)
      if (const std::optional<TaskId> receiver = graph_.receiver(make_id<TaskId>(id)))
        outputs_.push_back({id, index(*receiver), stage(id), stage(index(*receiver)), nullptr, nullptr});
    made_.run.schedule = schedule();
    made_.run.facts = recorded.facts;
    if (made_.run.facts.backend.empty()) made_.run.facts.backend = "import";
  }

  /// Counts it as dropped where it can not be.
  void add(const StepEvents& step) {
    find_transfers(step);
    offset_.assign(schedule().shape().stages, 0);
    const StepFacts facts = settle_clocks(step);
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
    std::vector<bool> unrecorded(graph_.size(), false);
    for (const OutputEvents& output : outputs_) {
      timeline.transfers[output.sender] = transfer_of(output, timeline);
      unrecorded[output.sender] = output.sent == nullptr && output.received == nullptr;
    }
    add_updates(step, timeline);
    made_.replica = step.replica;
    made_.run.steps.push_back(std::move(timeline));
    made_.run.unrecorded.push_back(std::move(unrecorded));
    made_.facts.push_back(facts);
  }

  /// Nothing where no step was added.
  std::optional<ReplicaRun> take() {
    if (made_.facts.empty()) return std::nullopt;
    made_.transfers = outputs_.size();
    return std::move(made_);
  }

private:
  /// An output that goes from one stage to another, and the events of it in the step at hand.
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
    for (OutputEvents& output : outputs_) {
      output.sent = find(step, output.sender, true);
      output.received = find(step, output.receiver, false);
    }
    if (matched_ < step.transfers.size())
      dropped_
          ["transfers that join no two tasks of different stages, or are there twice (are all ranks in the files?)"] +=
          step.transfers.size() - matched_;
  }

  [[nodiscard]] std::vector<StampedTransfer> stamped_transfers(const StepEvents& step) const {
    std::vector<StampedTransfer> result;
    result.reserve(outputs_.size());
    for (const OutputEvents& output : outputs_) {
      StampedTransfer& transfer = result.emplace_back();
      transfer.from = output.from;
      transfer.to = output.to;
      transfer.made = step.tasks[output.sender].end + offset_[output.from];
      transfer.used = step.tasks[output.receiver].start + offset_[output.to];
      if (output.sent != nullptr) transfer.sent = output.sent->end + offset_[output.from];
      if (output.received != nullptr) transfer.received = output.received->end + offset_[output.to];
    }
    return result;
  }

  /// Stages whose clocks are said to be one are believed unless something is used before it was made.
  StepFacts settle_clocks(const StepEvents& step) {
    const std::vector<StampedTransfer> found = stamped_transfers(step);
    StepFacts facts{.number = step.step, .clock_error = worst_violation(found)};
    if (!recorded_.one_clock || *facts.clock_error > std::max(recorded_.time_error, time_stamp_resolution.count())) {
      const StageClocks clocks = align_clocks(offset_.size(), found);
      offset_ = clocks.offset;
      facts.clock_error = clocks.error;
      if (facts.clock_error)
        *facts.clock_error = std::max(*facts.clock_error, worst_violation(stamped_transfers(step)));
      facts.aligned = offset_.size() > 1;
      facts.matched =
          std::ranges::any_of(found, [](const StampedTransfer& each) { return each.sent && each.received; });
    }
    std::int64_t zero = std::numeric_limits<std::int64_t>::max();
    for (const TaskEvent& event : step.tasks) zero = std::min(zero, event.start + offset_[event.stage]);
    for (std::int64_t& offset : offset_) offset -= zero;
    return facts;
  }

  /// It ends when the receiver says so, but not before its content was made nor after it was used. Of the time before,
  /// the side that came first waited for the other: it took what the one that came last says.
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
      for (const TaskId id : schedule().task_ids(make_id<StageId>(stage)))
        done = std::max(done, timeline.tasks[index(id)].end);
      const Span span{std::max(found[stage]->start, done), std::max(found[stage]->end, done)};
      timeline.optimizer.push_back({span, {}});
    }
  }

  const Recorded& recorded_;
  TaskGraph graph_;
  DropCounts& dropped_;
  ReplicaRun made_;
  std::vector<OutputEvents> outputs_;
  std::vector<std::int64_t> offset_; ///< by stage, of the step at hand
  std::size_t matched_ = 0;
};

/// What all steps of a run say together.
MeasuredRun finished(ReplicaRun replica, const Recorded& recorded, std::string_view where) {
  MeasuredRun& run = replica.run;
  run.stages.resize(run.schedule.shape().stages);
  for (std::size_t stage = 0; stage < run.stages.size(); ++stage) {
    MeasuredStage& measured = run.stages[stage];
    if (const auto peak = recorded.peak_bytes.find({replica.replica, static_cast<std::uint32_t>(stage)});
        peak != recorded.peak_bytes.end())
      measured.peak_bytes = Bytes{peak->second};
    constexpr Duration enough = 1000 * max_duration; // sums of more are no sums of a run
    for (const Timeline& step : run.steps)
      for (const TaskId id : run.schedule.task_ids(make_id<StageId>(stage)))
        measured.busy = std::min(measured.busy + step.tasks[index(id)].length(), enough);
  }
  std::int64_t error = 0;
  bool aligned = false;
  for (const StepFacts& facts : replica.facts) {
    error = std::min(std::max(error, facts.clock_error.value_or(0)), max_duration.count());
    aligned = aligned || facts.aligned;
    run.unaligned = run.unaligned || !facts.clock_error;
  }
  if (!run.unaligned && (aligned || error > time_stamp_resolution.count())) run.clock_error = Duration{error};
  if (unrecorded_transfers(run) == 0) run.unrecorded.clear();
  check_run(run, where);
  return std::move(replica.run);
}

void keep_steps(ReplicaRun& replica, const std::vector<std::int64_t>& numbers) {
  std::vector<StepFacts> facts;
  std::vector<Timeline> steps;
  std::vector<std::vector<bool>> unrecorded;
  for (std::size_t i = 0; i < replica.facts.size(); ++i) {
    if (!std::ranges::binary_search(numbers, replica.facts[i].number)) continue;
    facts.push_back(replica.facts[i]);
    steps.push_back(std::move(replica.run.steps[i]));
    unrecorded.push_back(std::move(replica.run.unrecorded[i]));
  }
  replica.facts = std::move(facts);
  replica.run.steps = std::move(steps);
  replica.run.unrecorded = std::move(unrecorded);
}

/// Replicas are compared step by step: only steps that all have are kept. A replica without any of them goes itself;
/// those with the most steps say which they are.
void keep_common_steps(std::vector<ReplicaRun>& replicas, DropCounts& dropped) {
  std::vector<ReplicaRun*> by_steps;
  by_steps.reserve(replicas.size());
  for (ReplicaRun& replica : replicas) by_steps.push_back(&replica);
  std::ranges::stable_sort(by_steps, std::greater{}, [](const ReplicaRun* replica) { return replica->facts.size(); });
  std::vector<std::int64_t> common;
  for (const StepFacts& facts : by_steps.front()->facts) common.push_back(facts.number);
  for (ReplicaRun* replica : by_steps) {
    std::vector<std::int64_t> both;
    for (const StepFacts& facts : replica->facts)
      if (std::ranges::binary_search(common, facts.number)) both.push_back(facts.number);
    if (both.empty())
      replica->facts.clear();
    else
      common = std::move(both);
  }
  dropped["replicas without a step that the others have"] +=
      std::erase_if(replicas, [](const ReplicaRun& replica) { return replica.facts.empty(); });
  for (ReplicaRun& replica : replicas) {
    dropped["steps that another replica lacks"] += replica.facts.size() - common.size();
    keep_steps(replica, common);
  }
}

class Assembly {
public:
  Assembly(Recorded& recorded, const ImportOptions& options, std::string_view where)
      : recorded_{recorded}, options_{options}, where_{where}, dropped_{recorded.dropped} {}

  Imported run() {
    const std::vector<StepEvents> steps = split_steps(recorded_, dropped_);
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
    for (ReplicaRun& replica : replicas_) add_run(std::move(replica));
    for (const auto& [what, count] : dropped_)
      if (count > 0) imported_.dropped.push_back({what, count});
    imported_.notes = std::move(recorded_.notes);
    if (unrecorded_ > 0)
      imported_.notes.push_back(
          fmt::format("{} of {} were not recorded", unrecorded_, counted(transfers_, "transfer")));
    if (parted > 0)
      imported_.notes.push_back(fmt::format("of {} only the whole was recorded: each half has the share that its pass "
                                            "takes of both where they run alone",
                                            counted(parted, "overlapped pair")));
    note_alignment(matched_, "transfers");
    note_alignment(aligned_ - matched_, "the order of tasks");
    if (unbounded_ > 0)
      imported_.notes.push_back(fmt::format(
          "in {} some stages only send to others, or only receive: nothing bounds what their clocks differ by",
          counted(unbounded_, "step")));
    return std::move(imported_);
  }

private:
  void note_alignment(std::size_t steps, std::string_view by) {
    if (steps == 0) return;
    imported_.notes.push_back(
        recorded_.one_clock
            ? fmt::format("the clocks of stages do not agree in {}: there they were aligned by {}",
                          counted(steps, "step"), by)
            : fmt::format("the clocks of stages were aligned by {}, step by step ({})", by, counted(steps, "step")));
  }

  void drop(const StepEvents& step, const StepFault& fault) {
    ++dropped_[fault.reason];
    if (first_fault_.empty())
      first_fault_ = fmt::format("step {} of replica {}: {}", step.step, step.replica, fault.found);
  }

  using SameOrder = std::vector<const StepEvents*>;

  /// The steps that are whole.
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

  /// Of the orders that can have run, the one of most steps is the replica's.
  void add_replica(std::span<const StepEvents> steps) {
    const std::map<OrderKey, SameOrder> orders = orders_of(steps);
    std::vector<const SameOrder*> by_steps;
    by_steps.reserve(orders.size());
    for (const auto& [key, same] : orders) by_steps.push_back(&same);
    std::ranges::stable_sort(by_steps, std::greater{}, [](const SameOrder* same) { return same->size(); });
    std::optional<RunBuilder> builder;
    for (const SameOrder* same : by_steps) {
      if (builder) {
        dropped_["steps with another order than most"] += same->size();
      } else if (std::optional<TaskGraph> graph = graph_of(*same)) {
        builder.emplace(recorded_, std::move(*graph), dropped_);
        for (const StepEvents* step : *same) builder->add(*step);
      }
    }
    if (std::optional<ReplicaRun> made = builder ? builder->take() : std::nullopt)
      replicas_.push_back(std::move(*made));
    else
      ++dropped_["replicas without a whole step"];
  }

  /// Nothing where the tasks make no schedule, or one that can not have run.
  std::optional<TaskGraph> graph_of(const SameOrder& steps) {
    try {
      Schedule schedule = schedule_of(*steps.front(), options_, where_);
      Scenario scenario = uniform_scenario(schedule.shape(), Duration{1}, Duration{1});
      return lower(std::move(schedule), std::move(scenario), where_);
    } catch (const Error& error) {
      dropped_[error.code() == ExitCode::bad_input ? "steps whose tasks make no schedule"
                                                   : "steps whose order can not have run"] += steps.size();
      if (first_error_.empty()) first_error_ = error.problems();
      return std::nullopt;
    }
  }

  /// Replicas of one run do the same. Those of another run have other shapes, and those without the files of a stage.
  void check_shapes() const {
    const auto words = [](const ReplicaRun& replica) {
      const Shape& shape = replica.run.schedule.shape();
      return fmt::format("replica {} has {}, {} and {} per stage", replica.replica, counted(shape.stages, "stage"),
                         counted(shape.microbatches, "microbatch", "es"), counted(shape.vpp, "chunk"));
    };
    const auto other = std::ranges::find_if(replicas_, [this](const ReplicaRun& replica) {
      return !(replica.run.schedule.shape() == replicas_.front().run.schedule.shape());
    });
    if (other == replicas_.end()) return;
    throw Error{ExitCode::bad_input,
                Problem{std::string{where_}, fmt::format("{}, and {}", words(replicas_.front()), words(*other)),
                        "give the files of all stages of each replica, and of one run only"}};
  }

  void add_run(ReplicaRun replica) {
    for (const StepFacts& facts : replica.facts) {
      aligned_ += facts.aligned ? 1 : 0;
      matched_ += facts.aligned && facts.matched ? 1 : 0;
      unbounded_ += facts.clock_error ? 0 : 1;
    }
    transfers_ += replica.transfers * replica.facts.size();
    unrecorded_ += unrecorded_transfers(replica.run);
    imported_.replicas.push_back(replica.replica);
    imported_.runs.push_back(finished(std::move(replica), recorded_, where_));
  }

  [[noreturn]] void refuse() const {
    if (!first_error_.empty()) throw Error{ExitCode::bad_input, first_error_};
    const bool none = recorded_.tasks.empty();
    const auto unknown = dropped_.find(unknown_action);
    throw Error{ExitCode::bad_input,
                Problem{std::string{where_},
                        none ? "no forward or backward was found"
                             : fmt::format("no step is whole; {}",
                                           first_fault_.empty() ? "all are longer than a day" : first_fault_),
                        none                               ? "record the passes of the pipeline"
                        : dropped_.contains(task_is_twice) ? "give each file once, and files of one run only"
                        : unknown != dropped_.end()
                            ? fmt::format("the files have {} {}: record a schedule without them", unknown->second,
                                          unknown_action)
                            : "give the files of all stages, and record whole steps"}};
  }

  Recorded& recorded_;
  const ImportOptions& options_;
  std::string_view where_;
  DropCounts& dropped_;
  Imported imported_;
  std::vector<ReplicaRun> replicas_;
  std::string first_fault_;
  std::vector<Problem> first_error_; ///< of whole steps that make no run
  std::size_t aligned_ = 0;          ///< steps
  std::size_t matched_ = 0;          ///< of those, the ones that had transfers to align by
  std::size_t unbounded_ = 0;        ///< of those, the ones whose clocks may be off by any time
  std::size_t transfers_ = 0;
  std::size_t unrecorded_ = 0; ///< of those, the ones that no side shows
};

} // namespace

Imported assemble(Recorded recorded, const ImportOptions& options, std::string_view where) {
  return Assembly{recorded, options, where}.run();
}

} // namespace ppsim::traces
