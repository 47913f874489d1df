#include "synthesis_instance.hpp"

#include "ppsim/report/detail/memory.hpp"

#include <algorithm>
#include <array>

#include "link_stages.hpp"

namespace ppsim {
namespace {

std::size_t position_of(Pass pass, std::span<const Pass> passes) {
  return static_cast<std::size_t>(std::ranges::find(passes, pass) - passes.begin());
}

/// What a chunk's tasks take and give. An output that is given up once sent counts as kept.
void add_memory(const TaskGraph& plain, std::span<const TaskId> first, std::span<synthesis::Sequence> sequences) {
  const Schedule& schedule = plain.schedule();
  for (std::size_t i = 0; i < first.size(); ++i) {
    const Task& task = schedule.task(first[i]);
    const ActivationBytes bytes = activation_bytes(plain, first[i], task);
    const std::int64_t in_backward = (bytes.kept + bytes.restored).count();
    const std::int64_t for_weight = std::min(bytes.for_weight.count(), in_backward);
    synthesis::Sequence& sequence = sequences[i];
    switch (task.pass) {
    case Pass::forward:
      sequence.take = bytes.kept.count();
      break;
    case Pass::backward:
      sequence.take = bytes.restored.count();
      sequence.give = in_backward;
      break;
    case Pass::input_grad:
      sequence.take = bytes.restored.count();
      sequence.give = in_backward - for_weight;
      break;
    case Pass::weight_grad:
      sequence.give = for_weight;
      break;
    }
  }
}

/// Memory in activations of a chunk and a microbatch, whatever their size.
void count_activations(const TaskGraph& plain, std::span<const TaskId> first,
                       std::span<synthesis::Sequence> sequences) {
  for (std::size_t i = 0; i < first.size(); ++i) {
    const Pass pass = plain.schedule().task(first[i]).pass;
    sequences[i].take = pass == Pass::forward ? 1 : 0;
    sequences[i].give = frees_activation(pass) ? 1 : 0;
  }
}

/// What follows the last task of a chunk at least: its reductions, and the optimizer.
std::vector<std::int64_t> tails(const TaskGraph& plain) {
  const Scenario& scenario = plain.scenario();
  const Update& update = scenario.update;
  const HeldChunks held{plain.schedule()};
  const std::size_t chunks = scenario.shape.chunks();
  std::vector<Duration> step(scenario.shape.stages); // the optimizer's, by stage
  if (!update.optimizer.empty())
    for (const StageId stage : plain.schedule().stage_ids()) {
      for (const std::uint16_t chunk : held.of(stage)) step[index(stage)] += update.optimizer[chunk];
      step[index(stage)] = scenario.costs.on_stage(stage, step[index(stage)]);
    }
  const Duration longest = std::ranges::max(step);
  std::vector<std::int64_t> result(chunks);
  for (const StageId stage : plain.schedule().stage_ids())
    for (const std::uint16_t chunk : held.of(stage)) {
      Duration tail = update.step == OptimizerStep::synchronous ? longest : step[index(stage)];
      if (!update.reduce.empty()) tail += update.reduce[chunk];
      if ((chunk == 0 || chunk + 1U == chunks) && !ends_share_stage(plain.schedule()))
        tail += update.tied_embedding_reduce;
      result[chunk] = tail.count();
    }
  return result;
}

} // namespace

Schedule plain_order(const Shape& shape, const std::vector<StageId>& placement, bool splits) {
  ScheduleBuilder builder{"plain", shape};
  const auto add_all = [&](Pass pass, std::size_t chunk) {
    for (std::size_t j = 0; j < shape.microbatches; ++j) builder.add(pass, chunk, j);
  };
  for (const StageId stage : shape.stage_ids()) {
    for (std::size_t chunk = 0; chunk < placement.size(); ++chunk)
      if (placement[chunk] == stage) add_all(Pass::forward, chunk);
    for (std::size_t chunk = placement.size(); chunk-- > 0;)
      if (placement[chunk] == stage)
        for (const Pass pass : sequence_passes(splits).subspan(1)) add_all(pass, chunk);
    builder.end_stage();
  }
  return builder.build();
}

std::vector<TaskId> first_tasks(const Schedule& schedule, std::span<const Pass> passes) {
  std::vector<TaskId> first(passes.size() * schedule.shape().chunks(), no_task);
  for (const StageId stage : schedule.stage_ids())
    for (const TaskId id : schedule.task_ids(stage)) {
      const Task& task = schedule.task(id);
      if (index(task.microbatch) == 0) first[passes.size() * task.chunk_index + position_of(task.pass, passes)] = id;
    }
  return first;
}

synthesis::Instance make_instance(const TaskGraph& plain, std::optional<std::size_t> activation_limit) {
  const Schedule& schedule = plain.schedule();
  const std::span<const Pass> passes = sequence_passes(splits_backward(schedule));
  const std::vector<TaskId> first = first_tasks(schedule, passes);
  const std::vector<std::int64_t> tail = tails(plain);
  const std::size_t chunks = schedule.shape().chunks();
  synthesis::Instance instance;
  instance.microbatches = static_cast<std::uint32_t>(schedule.shape().microbatches);
  for (std::size_t i = 0; i < first.size(); ++i) {
    const bool trains = frees_activation(schedule.task(first[i]).pass);
    instance.sequences.push_back({.stage = static_cast<std::uint32_t>(index(schedule.stage_of(first[i]))),
                                  .duration = plain.duration(first[i]).count(),
                                  .tail = trains ? tail[i / passes.size()] : 0});
  }
  std::vector<std::int64_t> lags; // of a boundary both ways, nothing within a stage
  for (std::size_t chunk = 0; chunk + 1 < chunks; ++chunk) {
    const std::size_t own = passes.size() * chunk;
    const bool moves = instance.sequences[own].stage != instance.sequences[own + passes.size()].stage;
    lags.push_back(moves ? plain.transfer_time(first[own]).count() : 0);
  }
  instance.arcs = pipeline_arcs(passes.size(), lags);
  if (activation_limit) {
    count_activations(plain, first, instance.sequences);
    instance.capacity.assign(schedule.shape().stages, static_cast<std::int64_t>(*activation_limit));
  } else {
    add_memory(plain, first, instance.sequences);
    for (const StageId stage : schedule.stage_ids()) {
      const std::optional<Bytes>& limit = plain.scenario().memory.limit;
      instance.capacity.push_back(limit ? (*limit - static_bytes(plain, stage, 1)).count() : synthesis::unlimited);
    }
  }
  if (plain.scenario().network.model == TransferModel::link) add_links(plain, instance);
  return instance;
}

synthesis::Durations durations_of(const TaskGraph& plain) {
  const Schedule& schedule = plain.schedule();
  const std::span<const Pass> passes = sequence_passes(splits_backward(schedule));
  const std::size_t m = schedule.shape().microbatches;
  synthesis::Durations durations(passes.size() * schedule.shape().chunks() * m);
  for (const StageId stage : schedule.stage_ids())
    for (const TaskId id : schedule.task_ids(stage)) {
      const Task& task = schedule.task(id);
      const std::size_t sequence = passes.size() * task.chunk_index + position_of(task.pass, passes);
      durations[sequence * m + index(task.microbatch)] = plain.duration(id).count();
    }
  return durations;
}

std::int64_t least_capacity(const synthesis::Instance& instance, std::size_t stage, std::size_t passes) {
  std::int64_t held = 0; // all forwards of a microbatch come before its first backward
  for (std::size_t at = 0; at < instance.sequences.size(); at += passes)
    if (instance.sequences[at].stage == stage) held += instance.sequences[at].take;
  std::int64_t most = held;
  for (std::size_t chunk = instance.sequences.size() / passes; chunk-- > 0;)
    for (std::size_t pass = 1; pass < passes; ++pass) {
      const synthesis::Sequence& sequence = instance.sequences[passes * chunk + pass];
      if (sequence.stage != stage) continue;
      most = std::max(most, held + sequence.take);
      held += sequence.take - sequence.give;
    }
  return most;
}

} // namespace ppsim
