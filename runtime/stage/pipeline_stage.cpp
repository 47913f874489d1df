#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <thread>
#include <utility>

#include "pipeline_stage_state.hpp"

namespace ppsim::runtime {

namespace {

/// The most active microbatches of `chunk`: a stage without a flush keeps that many versions.
std::size_t most_under_way(const StageProgram& stage, std::uint16_t chunk) {
  std::size_t under_way = 0;
  std::size_t most = 1;
  for (const ProgramTask& task : stage.tasks) {
    if (task.task.chunk_index != chunk) continue;
    if (task.allocates) most = std::max(most, ++under_way);
    if (task.frees_for_weight) --under_way;
  }
  return most;
}

/// The exception as a Problem; keeps the message of a device or transport.
Problem problem_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    Problem problem = error.problems().front();
    if (!problem.where.empty()) problem.what = fmt::format("{}: {}", problem.where, problem.what);
    return problem;
  } catch (const std::bad_alloc&) {
    return {"", "no memory", "use a smaller workload, or another schedule"};
  } catch (const std::exception& error) {
    return {"", error.what(), ""};
  }
}

} // namespace

PipelineStage::PipelineStage(const Program& program, StageId stage, Device& device, Transport& transport,
                             Monitor& monitor, StageOptions options)
    : program_{program}, stage_{stage}, device_{device}, transport_{transport}, monitor_{monitor}, options_{options},
      state_{std::make_unique<State>(device)} {
  try {
    state_->place = {"parameters", std::nullopt};
    allocate_chunks();
    state_->place = {"buffers", std::nullopt};
    allocate_buffers();
    state_->place = {"memory for stashes", std::nullopt};
    device_.reserve_stashes(program.stages[index(stage)].peak_stashes);
  } catch (const std::exception&) {
    rethrow(nullptr);
  }
}

PipelineStage::~PipelineStage() = default;

void PipelineStage::allocate_chunks() {
  const ChunkSizes& sizes = device_.sizes();
  const StageProgram& stage = program_.stages[index(stage_)];
  const std::size_t microbatches = program_.schedule.shape().microbatches;
  // Without a flush, every chunk of a stage gets as many versions as the one that needs most, as predicted.
  std::size_t versions = 1;
  if (program_.schedule.asynchronous())
    for (const std::uint16_t chunk : stage.chunks) versions = std::max(versions, most_under_way(stage, chunk));
  for (const std::uint16_t number : stage.chunks) {
    HeldChunk& chunk = state_->chunks.emplace_back();
    chunk.id = make_id<ChunkId>(number);
    chunk.stashes.resize(microbatches);
    chunk.versions.resize(microbatches);
    chunk.state.parameters = state_->memory.allocate(Use::fixed, sizes.parameter_bytes);
    chunk.state.gradients = state_->memory.allocate(Use::fixed, sizes.gradient_bytes);
    chunk.state.optimizer = state_->memory.allocate(Use::fixed, sizes.optimizer_bytes);
    for (std::size_t version = 1; version < versions; ++version)
      chunk.spare.push_back(state_->memory.allocate(Use::fixed, sizes.parameter_bytes));
    for (const StageId holder : program_.holders(chunk.id))
      if (holder != stage_) chunk.partner = holder;
    PPSIM_ASSERT(!chunk.partner || !program_.schedule.asynchronous());
    device_.initialise(chunk.state, chunk.id);
  }
}

void PipelineStage::allocate_buffers() {
  const ChunkSizes& sizes = device_.sizes();
  const StageProgram& stage = program_.stages[index(stage_)];
  Arena& memory = state_->memory;
  for (const ChannelId id : stage.in) {
    const Channel& channel = program_.channels[index(id)];
    if (!channel.is_local()) {
      state_->incoming.push_back({id, 0});
      continue;
    }
    LocalChannel& local = state_->locals.emplace_back();
    local.id = id;
    local.content.resize(channel.transfers.size());
    for (std::size_t slot = 0; slot < channel.slots; ++slot)
      local.spare.push_back(memory.allocate(Use::buffer, sizes.boundary));
  }
  if (is_first()) state_->input = memory.allocate(Use::buffer, sizes.boundary);
  if (is_last()) state_->output = memory.allocate(Use::buffer, sizes.boundary);
  for (HeldChunk& chunk : state_->chunks)
    if (chunk.partner && !program_.schedule.forward_only())
      chunk.others_gradients = memory.allocate(Use::buffer, sizes.gradient_bytes);
}

std::optional<StageId> PipelineStage::previous_rank() const {
  const StageProgram& stage = program_.stages[index(stage_)];
  for (const ProgramTask& task : stage.tasks)
    if (task.task.pass == Pass::forward && task.task.chunk_index == stage.chunks.front() && task.input)
      return program_.channel(*task.input).from;
  return std::nullopt;
}

std::optional<StageId> PipelineStage::next_rank() const {
  const StageProgram& stage = program_.stages[index(stage_)];
  for (const ProgramTask& task : stage.tasks)
    if (task.task.pass == Pass::forward && task.task.chunk_index == stage.chunks.back() && task.output)
      return program_.channel(*task.output).to;
  return std::nullopt;
}

bool PipelineStage::is_first() const {
  return chunks().front() == 0;
}

bool PipelineStage::is_last() const {
  return chunks().back() + std::size_t{1} == program_.schedule.shape().chunks();
}

std::span<const std::uint16_t> PipelineStage::chunks() const {
  return program_.stages[index(stage_)].chunks;
}

void PipelineStage::rethrow(const ProgramTask* task) const {
  Problem problem = problem_of(std::current_exception());
  problem.where = fmt::format("rank {}", index(stage_));
  if (task != nullptr) problem.where += fmt::format(", task {}", to_string(task->task));
  if (!state_->place.doing.empty()) problem.where += fmt::format(", {}", state_->place.doing);
  if (const auto input = state_->place.input)
    problem.where += fmt::format(" {} from", to_string(program_.schedule.task(*input)));
  if (state_->place.peer) problem.where += fmt::format(" rank {}", index(*state_->place.peer));
  throw Error(ExitCode::failed, problem);
}

std::optional<double> PipelineStage::train_step() {
  begin_step();
  while (run_next()) {
  }
  while (finish_next()) {
  }
  while (!follow()) {
  }
  end_step();
  std::size_t ended = 0;
  for (const ProgramTask& task : program_.stages[index(stage_)].tasks)
    if (task.task.pass == Pass::forward && task.task.chunk_index + std::size_t{1} == program_.schedule.shape().chunks())
      ++ended;
  if (ended == 0) return std::nullopt;
  return record_.losses / static_cast<double>(ended);
}

void PipelineStage::begin_step() {
  State& state = *state_;
  state.next = 0;
  state.part = 0;
  state.ended = 0;
  state.standing.reset();
  state.tasks.clear();
  state.reductions.clear();
  state.optimizer.reset();
  state.cpu.reset();
  try {
    state.place = {"begin of a step", std::nullopt};
    device_.begin_step();
    transport_.begin_step();
    if (state.step > 0)
      for (const HeldChunk& chunk : state.chunks) device_.zero_gradients(chunk.state.gradients);
    for (IncomingChannel& channel : state.incoming) {
      const Channel& sender = program_.channels[index(channel.id)];
      for (channel.posted = 0; channel.posted < std::min(sender.slots, sender.transfers.size()); ++channel.posted)
        transport_.irecv({channel.id, channel.posted});
    }
  } catch (const std::exception&) {
    rethrow(nullptr);
  }
}

bool PipelineStage::run_next() {
  const StageProgram& stage = program_.stages[index(stage_)];
  if (state_->next == stage.tasks.size()) return false;
  const ProgramTask& task = stage.tasks[state_->next];
  try {
    run(task);
  } catch (const std::exception&) {
    rethrow(&task);
  }
  ++state_->next;
  return true;
}

void PipelineStage::run(const ProgramTask& task) {
  State& state = *state_;
  const void* const input = take_input(task);
  void* const output = place_output(task);
  state.place = {};
  monitor_.note(stage_, Doing::computing, state.next);
  if (task.allocates) allocate_stash(task);
  const std::optional<Duration> cpu = device_.cpu_time();
  const Stamp start = device_.stamp();
  if (has_fault(FaultKind::fail, task)) throw Error(ExitCode::failed, Problem{"", "failed on purpose (--inject)", ""});
  if (has_fault(FaultKind::stall, task)) stall();
  compute(task, input, output);
  if (options_.compute == Compute::timed) device_.hold(start, program_.length_in(state.step, task));
  state.tasks.push_back({start, device_.stamp()});
  if (cpu) state.cpu = state.cpu.value_or(Duration{0}) + (device_.cpu_time().value_or(*cpu) - *cpu);
  send_output(task);
  free_stash(task);
  release_input(task);
}

const void* PipelineStage::take_input(const ProgramTask& task) {
  if (!task.input) return nullptr;
  if (const LocalChannel* local = state_->local(*task.input)) return local->content[task.input->position];
  state_->place = at_input(program_, *task.input);
  monitor_.note(stage_, Doing::waiting_for_input, state_->next);
  return transport_.input(*task.input, device_.sizes().boundary);
}

void* PipelineStage::place_output(const ProgramTask& task) {
  if (!task.output) return nullptr;
  void* output = nullptr;
  if (LocalChannel* local = state_->local(*task.output)) {
    PPSIM_ASSERT(!local->spare.empty()); // verify() has checked the slots
    output = local->spare.back();
    local->spare.pop_back();
    local->content[task.output->position] = output;
  } else {
    state_->place = {"output to", program_.channel(*task.output).to};
    monitor_.note(stage_, Doing::waiting_for_slot, state_->next);
    output = transport_.output(*task.output);
  }
  if (options_.poison) device_.fill(output, 0xff, device_.sizes().boundary);
  return output;
}

void PipelineStage::allocate_stash(const ProgramTask& task) {
  const ChunkSizes& sizes = device_.sizes();
  Stash& stash = state_->chunk(task.task).stashes[index(task.task.microbatch)];
  try {
    if (has_fault(FaultKind::no_memory, task)) throw std::bad_alloc{};
    stash.for_input = state_->memory.allocate(Use::stash, sizes.stash_for_input);
    stash.for_weight = state_->memory.allocate(Use::stash, sizes.stash_for_weight);
  } catch (const std::bad_alloc&) {
    throw Error(ExitCode::failed, Problem{"", fmt::format("no memory for its stash ({} bytes)", sizes.stash().count()),
                                          "use a smaller workload, or a schedule with fewer live activations"});
  }
  if (!options_.poison) return;
  if (stash.for_input != nullptr) device_.fill(stash.for_input, 0xff, sizes.stash_for_input);
  if (stash.for_weight != nullptr) device_.fill(stash.for_weight, 0xff, sizes.stash_for_weight);
}

void PipelineStage::compute(const ProgramTask& task, const void* input, void* output) {
  HeldChunk& chunk = state_->chunk(task.task);
  const Stash& stash = chunk.stashes[index(task.task.microbatch)];
  switch (task.task.pass) {
  case Pass::forward:
    forward(task, input, output);
    break;
  case Pass::input_grad:
    device_.input_grad(chunk.versions[index(task.task.microbatch)], input, output, stash);
    break;
  case Pass::backward:
    device_.input_grad(chunk.versions[index(task.task.microbatch)], input, output, stash);
    [[fallthrough]];
  case Pass::weight_grad:
    // Without a flush, every microbatch has its own optimizer step, so sums start again.
    if (program_.schedule.asynchronous()) device_.zero_gradients(chunk.state.gradients);
    device_.weight_grad(stash, chunk.state.gradients);
    if (program_.schedule.asynchronous()) update(task);
    break;
  }
}

void PipelineStage::forward(const ProgramTask& task, const void* input, void* output) {
  State& state = *state_;
  HeldChunk& chunk = state.chunk(task.task);
  const MicrobatchId microbatch = task.task.microbatch;
  const Stash& stash = chunk.stashes[index(microbatch)];
  const Bytes bytes = device_.sizes().boundary;
  if (!task.input) {
    if (options_.poison) device_.fill(state.input, 0xff, bytes);
    device_.make_input(microbatch, state.input);
    input = state.input;
  }
  if (!task.output) {
    output = state.output;
    if (options_.poison) device_.fill(output, 0xff, bytes);
  }
  chunk.versions[index(microbatch)] = chunk.state.parameters;
  device_.forward(chunk.state.parameters, input, output, stash);
  if (!task.output) device_.loss(microbatch, output, stash);
}

/// The optimizer step after one microbatch of an asynchronous program (PipeDream: Harlap et al., arXiv 1806.03377,
/// section 3.3). Parameters that an active microbatch began with are kept: the step then works on a copy.
void PipelineStage::update(const ProgramTask& task) {
  HeldChunk& chunk = state_->chunk(task.task);
  const auto is_used = [&](void* version) {
    return std::find(chunk.versions.begin(), chunk.versions.end(), version) != chunk.versions.end();
  };
  void* const begun_with = std::exchange(chunk.versions[index(task.task.microbatch)], nullptr);
  if (begun_with != chunk.state.parameters && !is_used(begun_with)) chunk.spare.push_back(begun_with);
  if (is_used(chunk.state.parameters)) {
    PPSIM_ASSERT(!chunk.spare.empty());
    void* const copy = chunk.spare.back();
    chunk.spare.pop_back();
    device_.copy(copy, chunk.state.parameters, device_.sizes().parameter_bytes);
    chunk.state.parameters = copy;
  }
  device_.optimizer_step(chunk.state, ++chunk.updates, 1);
}

void PipelineStage::send_output(const ProgramTask& task) {
  if (!task.output || state_->local(*task.output) != nullptr) return;
  if (has_fault(FaultKind::lose, task)) return;
  const Bytes bytes = device_.sizes().boundary;
  state_->place = {"output to", program_.channel(*task.output).to};
  transport_.isend(*task.output, has_fault(FaultKind::resize, task) ? Bytes{bytes.count() / 2} : bytes);
}

void PipelineStage::free_stash(const ProgramTask& task) {
  Stash& stash = state_->chunk(task.task).stashes[index(task.task.microbatch)];
  if (task.frees_for_input) state_->memory.release(std::exchange(stash.for_input, nullptr));
  if (task.frees_for_weight) state_->memory.release(std::exchange(stash.for_weight, nullptr));
}

void PipelineStage::release_input(const ProgramTask& task) {
  if (!task.input) return;
  if (LocalChannel* local = state_->local(*task.input)) {
    local->spare.push_back(local->content[task.input->position]);
    return;
  }
  state_->place = at_input(program_, *task.input);
  transport_.release(*task.input);
  for (IncomingChannel& channel : state_->incoming)
    if (channel.id == task.input->channel && channel.posted < program_.channels[index(channel.id)].transfers.size())
      transport_.irecv({channel.id, channel.posted++});
}

bool PipelineStage::has_fault(FaultKind kind, const ProgramTask& task) const {
  return state_->step == 1 && options_.fault && options_.fault->kind == kind && options_.fault->hits(task.task);
}

void PipelineStage::stall() const {
  while (!monitor_.stopped()) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  throw Error(ExitCode::failed, Problem{"", "stalled on purpose (--inject)", ""});
}

void PipelineStage::meet() {
  try {
    state_->place = {"meeting", std::nullopt};
    monitor_.note(stage_, Doing::meeting);
    transport_.barrier();
  } catch (const std::exception&) {
    rethrow(nullptr);
  }
}

std::vector<float> PipelineStage::gradients(ChunkId chunk) const {
  return device_.read_gradients(state_->chunk(make_task(Pass::forward, index(chunk), 0)).state);
}

std::vector<float> PipelineStage::parameters(ChunkId chunk) const {
  return device_.read_parameters(state_->chunk(make_task(Pass::forward, index(chunk), 0)).state);
}

} // namespace ppsim::runtime
