#include "ppsim/runtime/program.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/operations/slots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "program_graph.hpp"

namespace ppsim::runtime {
namespace {

void refuse(const TaskGraph& graph, const ProgramOptions& options) {
  Problems problems;
  const Schedule& schedule = graph.schedule();
  if (schedule.shape().shared > 0)
    problems.add(graph.place(),
                 fmt::format("{} of {} stages are replicas of others, and no backend can replay those",
                             schedule.shape().shared, schedule.shape().stages),
                 "leave out --replicas");
  if (graph.scenario().recompute.is_on() && !options.timed)
    problems.add(graph.place(), "recomputes activations, which replay tasks cannot do",
                 "leave out --recompute, or replay only durations with --compute timed");
  const bool has_pairs =
      std::ranges::any_of(schedule.tasks(), [](const Task& task) { return task.pairing != Pairing::alone; });
  const PairRule& rule = graph.scenario().pair;
  if (has_pairs && rule.kind != PairRule::Kind::serial)
    problems.add(
        graph.place(),
        fmt::format(
            "the prediction overlaps its pairs (pair rule '{}'), but every backend runs one half after the other",
            to_string(rule)),
        "predict the same with --pair serial");
  if (options.slots && *options.slots == 0)
    problems.add("--slots", "0 slots: no transfer could arrive", "give at least 1");
  problems.throw_if_any();
}

/// The task that needs `sender`'s output; no_task if there is none.
TaskId consumer_of(const Schedule& schedule, const ScheduleIndex& positions, const Task& sender) {
  const std::size_t chunk = sender.chunk_index;
  const std::size_t microbatch = index(sender.microbatch);
  if (sender.pass == Pass::forward)
    return chunk + 1 < schedule.shape().chunks() ? positions.forward(chunk + 1, microbatch) : no_task;
  return gives_gradient(sender.pass) && chunk > 0 ? positions.backward(chunk - 1, microbatch) : no_task;
}

/// Lists the tasks of every stage, and the channels with their transfers.
class Builder {
public:
  Builder(const TaskGraph& graph, const Timeline& prediction)
      : graph_{graph}, schedule_{graph.schedule()}, prediction_{prediction}, positions_{schedule_, graph.place()} {
    program_.schedule = schedule_;
    program_.place = graph.place();
    program_.predicted_step = end_of(prediction).time_since_epoch();
    program_.transfer_model = graph.scenario().network.model;
    program_.synchronous_optimizer = graph.scenario().update.step == OptimizerStep::synchronous;
    stage_of_.resize(schedule_.size());
    for (const StageId stage : schedule_.stage_ids())
      for (const TaskId id : schedule_.task_ids(stage)) stage_of_[index(id)] = stage;
  }

  Program build(std::optional<std::size_t> slots) {
    const HeldChunks held{schedule_};
    program_.stages.resize(schedule_.shape().stages);
    for (const StageId stage : schedule_.stage_ids()) add_tasks(stage, held.of(stage));
    add_channels();
    for (std::size_t id = 0; id < schedule_.size(); ++id) add_transfer(make_id<TaskId>(id));
    for (std::size_t channel = 0; channel < program_.channels.size(); ++channel)
      set_slots(make_id<ChannelId>(channel), slots);
    return std::move(program_);
  }

private:
  [[nodiscard]] ProgramTask& task_at(TaskId id) {
    const StageId stage = stage_of_[index(id)];
    return program_.stages[index(stage)].tasks[index(id) - index(schedule_.first_task(stage))];
  }

  void add_tasks(StageId stage, std::span<const std::uint16_t> chunks) {
    StageProgram& program = program_.stages[index(stage)];
    program.chunks.assign(chunks.begin(), chunks.end());
    const std::vector<Duration>& optimizer = graph_.scenario().update.optimizer;
    if (!optimizer.empty())
      for (const std::uint16_t chunk : chunks) program.optimizer += optimizer[chunk];
    const bool forward_only = schedule_.forward_only();
    std::size_t id = index(schedule_.first_task(stage));
    std::size_t stashed = 0;
    program.tasks.reserve(schedule_.stage(stage).size());
    for (const Task& task : schedule_.stage(stage)) {
      const bool is_forward = task.pass == Pass::forward;
      const bool ends_forward = is_forward && forward_only;
      if (is_forward) program.peak_stashes = std::max(program.peak_stashes, ++stashed);
      if (ends_forward || frees_activation(task.pass)) --stashed;
      program.tasks.push_back({.id = make_id<TaskId>(id),
                               .task = task,
                               .input = {},
                               .output = {},
                               .allocates = is_forward,
                               .frees_for_input = ends_forward || gives_gradient(task.pass),
                               .frees_for_weight = ends_forward || frees_activation(task.pass),
                               .length = graph_.duration(make_id<TaskId>(id))});
      ++id;
    }
  }

  [[nodiscard]] std::optional<std::size_t> uplink_of(const std::pair<StageId, StageId>& ends) const {
    const Network& network = graph_.scenario().network;
    if (network.model != TransferModel::link || network.same_node(ends.first, ends.second)) return std::nullopt;
    return index(ends.first) / network.stages_per_node;
  }

  /// Numbered by (from, to).
  void add_channels() {
    for (std::size_t id = 0; id < schedule_.size(); ++id) {
      const TaskId consumer = consumer_of(schedule_, positions_, schedule_.tasks()[id]);
      if (consumer != no_task) channel_between_.try_emplace({stage_of_[id], stage_of_[index(consumer)]});
    }
    for (auto& [ends, channel] : channel_between_) {
      channel = make_id<ChannelId>(program_.channels.size());
      program_.channels.push_back(
          {.from = ends.first, .to = ends.second, .transfers = {}, .slots = 0, .uplink = uplink_of(ends)});
      program_.stages[index(ends.first)].out.push_back(channel);
      program_.stages[index(ends.second)].in.push_back(channel);
    }
  }

  /// Called by rising id: in each stage's order.
  void add_transfer(TaskId producer) {
    const TaskId consumer = consumer_of(schedule_, positions_, schedule_.task(producer));
    if (consumer == no_task) return;
    const ChannelId id = channel_between_.at({stage_of_[index(producer)], stage_of_[index(consumer)]});
    std::vector<Transfer>& transfers = program_.channels[index(id)].transfers;
    const TransferRef ref{id, static_cast<std::uint32_t>(transfers.size())};
    transfers.push_back({producer, consumer, graph_.transfer_time(producer)});
    task_at(producer).output = ref;
    task_at(consumer).input = ref;
  }

  void set_slots(ChannelId id, std::optional<std::size_t> wanted) {
    Channel& channel = program_.channels[index(id)];
    const std::size_t needed = channel.is_local() ? most_held(channel) : wanted.value_or(slots_of(channel));
    channel.slots = std::min(needed, channel.transfers.size());
  }

  /// The most outputs that wait on their own stage at the same time. A task's output exists together with its input.
  [[nodiscard]] std::size_t most_held(const Channel& channel) const {
    std::size_t held = 0;
    std::size_t most = 0;
    for (const ProgramTask& task : program_.stages[index(channel.to)].tasks) {
      if (task.output && &program_.channel(*task.output) == &channel) most = std::max(most, ++held);
      if (task.input && &program_.channel(*task.input) == &channel) --held;
    }
    return most;
  }

  [[nodiscard]] std::size_t slots_of(const Channel& channel) const {
    std::vector<SimTime> made;
    std::vector<SimTime> used;
    for (const Transfer& transfer : channel.transfers) {
      made.push_back(prediction_.tasks[index(transfer.producer)].end);
      used.push_back(prediction_.tasks[index(transfer.consumer)].end);
    }
    return slots_needed(made, used);
  }

  const TaskGraph& graph_;
  const Schedule& schedule_;
  const Timeline& prediction_;
  ScheduleIndex positions_;
  std::vector<StageId> stage_of_;
  std::map<std::pair<StageId, StageId>, ChannelId> channel_between_;
  Program program_;
};

/// The operations that the stage posts before its task at `before`: sends of the tasks since `since`, and receives of
/// the tasks that start together.
Batch batch_before(const Program& program, const StageProgram& stage, std::size_t since, std::size_t before) {
  Batch batch{.before = static_cast<std::uint32_t>(before), .sends = {}, .receives = {}};
  for (std::size_t i = since; i < before; ++i)
    if (program.leaves_stage(stage.tasks[i].output)) batch.sends.push_back(*stage.tasks[i].output);
  const std::size_t end = before < stage.tasks.size() ? before + slot_size(stage, before) : before;
  for (std::size_t i = before; i < end; ++i)
    if (program.leaves_stage(stage.tasks[i].input)) batch.receives.push_back(*stage.tasks[i].input);
  // A group matches sends and receives between the same two stages in posting order.
  const auto by_channel = [](TransferRef a, TransferRef b) {
    return std::pair{a.channel, a.position} < std::pair{b.channel, b.position};
  };
  std::ranges::sort(batch.sends, by_channel);
  std::ranges::sort(batch.receives, by_channel);
  return batch;
}

void add_batches(Program& program) {
  for (StageProgram& stage : program.stages) {
    std::size_t since = 0;
    for (std::size_t before = 0;;) {
      Batch batch = batch_before(program, stage, since, before);
      if (!batch.sends.empty() || !batch.receives.empty()) stage.batches.push_back(std::move(batch));
      if (before == stage.tasks.size()) break;
      since = before;
      before += slot_size(stage, before);
    }
  }
}

/// Adds the transfers to the lanes of their stages in the order of `transfers`.
void add_lanes(Program& program, const std::vector<TransferRef>& transfers) {
  std::map<std::pair<StageId, StageId>, Lane> lanes;
  for (const TransferRef ref : transfers) {
    const Channel& channel = program.channel(ref);
    if (channel.is_local()) continue;
    std::pair ends{channel.from, channel.to};
    if (program.p2p == P2p::pair && ends.first > ends.second) std::swap(ends.first, ends.second);
    Lane& lane = lanes.try_emplace(ends, Lane{ends.first, ends.second, {}}).first->second;
    lane.transfers.push_back(ref);
  }
  for (auto& [ends, lane] : lanes) program.lanes.push_back(std::move(lane));
}

/// Orders operations by predicted start, as far as their dependencies allow: the order in which one thread can issue
/// them, and in which both ends of a lane launch them.
void set_orders(Program& program, const Timeline& prediction) {
  const ProgramGraph graph{program};
  const auto begins = [&](ProgramGraph::Node node) {
    if (graph.is_task(node)) return prediction.tasks[node].start.time_since_epoch().count();
    const std::size_t producer = index(program.transfer(graph.transfer(node)).producer);
    // In the prediction, a sliced transfer begins with the first slice; in a replay it is sent whole.
    return std::max(prediction.tasks[producer].end, prediction.transfers[producer].start).time_since_epoch().count();
  };
  const std::vector<ProgramGraph::Node> order = graph.waits().order(begins);
  if (order.size() < graph.waits().size()) return refuse_deadlock(program);
  std::vector<TransferRef> transfers;
  for (const ProgramGraph::Node node : order)
    if (graph.is_task(node))
      program.issue_order.push_back(ProgramGraph::task(node));
    else
      transfers.push_back(graph.transfer(node));
  if (program.p2p != P2p::batched) add_lanes(program, transfers);
}

} // namespace

std::string_view to_string(P2p p2p) {
  constexpr std::array<std::string_view, 3> names{"edge", "pair", "batched"};
  return names.at(static_cast<std::size_t>(p2p));
}

bool Program::has_uplinks() const {
  return std::ranges::any_of(channels, [](const Channel& channel) { return channel.uplink.has_value(); });
}

std::vector<StageId> Program::holders(ChunkId chunk) const {
  std::vector<StageId> holders;
  for (std::size_t stage = 0; stage < stages.size(); ++stage)
    if (std::ranges::binary_search(stages[stage].chunks, static_cast<std::uint16_t>(index(chunk))))
      holders.push_back(make_id<StageId>(stage));
  return holders;
}

Program compile(const TaskGraph& graph, const Timeline& prediction, const ProgramOptions& options) {
  refuse(graph, options);
  Program program = Builder{graph, prediction}.build(options.slots);
  program.p2p = options.p2p;
  if (program.p2p == P2p::batched) add_batches(program);
  set_orders(program, prediction);
  verify(program);
  return program;
}

} // namespace ppsim::runtime
