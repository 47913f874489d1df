// The end of a stage's step: the work after its tasks, and tracking of the device until it has finished.

#include <thread>
#include <utility>

#include "pipeline_stage_state.hpp"

namespace ppsim::runtime {

bool PipelineStage::finish_next() {
  if (state_->part == 2 && meets_before_optimizer() && transport_.barrier_waits())
    while (!follow()) {
    }
  monitor_.note(stage_, Doing::finishing);
  try {
    switch (state_->part) {
    case 0:
      exchange_gradients();
      break;
    case 1:
      add_gradients();
      break;
    case 2:
      if (meets_before_optimizer()) meet_before_optimizer();
      break;
    case 3:
      optimizer_step();
      break;
    default:
      return false;
    }
  } catch (const std::exception&) {
    rethrow(nullptr);
  }
  ++state_->part;
  return true;
}

bool PipelineStage::follow() {
  State& state = *state_;
  for (; state.ended < state.tasks.size(); ++state.ended, state.standing.reset()) {
    const ProgramTask& task = program_.stages[index(stage_)].tasks[state.ended];
    try {
      if (device_.has_passed(state.tasks[state.ended].end)) continue;
      note_standing(task);
      if (transport_.stopped()) // by the monitor, or by the transport's owner
        throw Error(ExitCode::failed, Problem{"", monitor_.stopped() ? monitor_.failure() : "stopped", ""});
    } catch (const std::exception&) {
      rethrow(&task);
    }
    std::this_thread::sleep_for(std::chrono::microseconds{20});
    return false;
  }
  return true;
}

/// Reports the device's next task to the monitor, only if its state is new: otherwise the monitor would never see a
/// standstill.
void PipelineStage::note_standing(const ProgramTask& task) {
  State& state = *state_;
  Doing doing = Doing::computing;
  state.place = {};
  if (device_.has_passed(state.tasks[state.ended].start)) {
    // It runs.
  } else if (program_.leaves_stage(task.input) && !transport_.has_arrived(*task.input)) {
    doing = Doing::waiting_for_input;
    state.place = at_input(program_, *task.input);
  } else if (program_.leaves_stage(task.output)) {
    doing = Doing::waiting_for_slot;
    state.place = {"output to", program_.channel(*task.output).to};
  }
  if (std::exchange(state.standing, doing) != doing) monitor_.note(stage_, doing, state.ended);
}

// Chunks by rising id on all stages, so that stages do not wait for each other in a cycle.
void PipelineStage::exchange_gradients() {
  for (const HeldChunk& chunk : state_->chunks) {
    if (chunk.others_gradients == nullptr) continue;
    state_->place = {"exchange of gradients with", chunk.partner};
    monitor_.note(stage_, Doing::meeting);
    state_->reductions.push_back({device_.stamp(), {}});
    transport_.exchange(*chunk.partner, chunk.state.gradients, chunk.others_gradients, device_.sizes().gradient_bytes);
  }
}

void PipelineStage::add_gradients() {
  std::size_t reduction = 0;
  state_->place = {"sum of gradients", std::nullopt};
  for (const HeldChunk& chunk : state_->chunks) {
    if (chunk.others_gradients == nullptr) continue;
    // The lower stage's first, on both, so that both get equal bits.
    device_.add_gradients(chunk.state.gradients, chunk.others_gradients, *chunk.partner < stage_);
    state_->reductions[reduction++].end = device_.stamp();
  }
}

bool PipelineStage::meets_before_optimizer() const {
  return has_optimizer_step() && program_.synchronous_optimizer;
}

void PipelineStage::meet_before_optimizer() {
  state_->place = {"meeting before the optimizer step", std::nullopt};
  monitor_.note(stage_, Doing::meeting);
  transport_.barrier();
}

bool PipelineStage::has_optimizer_step() const {
  return !program_.schedule.forward_only() && !program_.schedule.asynchronous();
}

void PipelineStage::optimizer_step() {
  const bool timed = options_.compute == Compute::timed;
  const Duration length = program_.stages[index(stage_)].optimizer;
  // Without a flush the steps are parts of tasks; but the scenario's optimizer follows them, and timed runs take its
  // time.
  if (!has_optimizer_step() && (!timed || length == Duration{0})) return;
  state_->place = {"optimizer step", std::nullopt};
  const Stamp start = device_.stamp();
  if (has_optimizer_step())
    for (HeldChunk& chunk : state_->chunks)
      device_.optimizer_step(chunk.state, ++chunk.updates, program_.schedule.shape().microbatches);
  if (timed) device_.hold(start, length);
  state_->optimizer = TaskStamps{start, device_.stamp()};
}

void PipelineStage::end_step() {
  monitor_.note(stage_, Doing::finishing);
  try {
    state_->place = {"end of a step", std::nullopt};
    transport_.finish_step();
    device_.synchronize();
    fill_record();
  } catch (const std::exception&) {
    rethrow(nullptr);
  }
  ++state_->step;
  monitor_.note(stage_, Doing::nothing);
}

void PipelineStage::fill_record() {
  State& state = *state_;
  const std::vector<std::int64_t> stamps = device_.stamps();
  const auto interval = [&](const TaskStamps& taken) {
    return StageRecord::Interval{stamps[taken.start], stamps[taken.end]};
  };
  record_ = {};
  for (const TaskStamps& task : state.tasks) {
    const StageRecord::Interval& it = record_.tasks.emplace_back(interval(task));
    record_.busy += Duration{it.end - it.start};
  }
  std::size_t reduction = 0;
  for (const HeldChunk& chunk : state.chunks)
    if (chunk.others_gradients != nullptr)
      record_.reductions.push_back({chunk.id, interval(state.reductions[reduction++])});
  if (state.optimizer) record_.optimizer = interval(*state.optimizer);
  record_.arrivals = transport_.arrivals();
  record_.static_bytes = state.memory.bytes(Use::fixed);
  record_.peak_bytes = state.memory.peak();
  record_.buffer_bytes = state.memory.bytes(Use::buffer) + device_.sizes().scratch + transport_.buffer_bytes();
  record_.cpu = state.cpu;
  record_.losses = device_.losses();
}

} // namespace ppsim::runtime
