#include "ppsim/runtime/reference.hpp"

#include "ppsim/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

namespace ppsim::runtime {

namespace {

// Filled with NaN, so that a read of unwritten data corrupts the result.
DeviceMemory make_buffer(Device& device, Bytes bytes) {
  DeviceMemory memory = allocate_on(device, bytes);
  device.fill(memory.get(), 0xff, bytes);
  return memory;
}

struct Weights {
  DeviceMemory parameters, gradients, optimizer;
  std::size_t updates = 0;
  [[nodiscard]] ChunkState state() const { return {parameters.get(), gradients.get(), optimizer.get()}; }
};

// The data of one microbatch at one chunk.
struct MicrobatchState {
  DeviceMemory y, dx;
  DeviceMemory for_input, for_weight;
  DeviceMemory parameters; // asynchronous: a copy of those that its forward used
  bool went_forward = false, went_back = false;
  [[nodiscard]] Stash stash() const { return {for_input.get(), for_weight.get()}; }
};

class Reference {
public:
  Reference(const Schedule& schedule, Device& device)
      : schedule_{schedule}, device_{device}, sizes_{device.sizes()}, chunks_{schedule.shape().chunks()},
        microbatches_{schedule.shape().microbatches}, weights_(chunks_) {
    for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
      Weights& weights = weights_[chunk];
      weights.parameters = make_buffer(device, sizes_.parameter_bytes);
      weights.gradients = make_buffer(device, sizes_.gradient_bytes);
      weights.optimizer = make_buffer(device, sizes_.optimizer_bytes);
      device.initialise(weights.state(), make_id<ChunkId>(chunk));
    }
  }

  double step() {
    states_.clear();
    states_.resize(chunks_ * microbatches_);
    device_.begin_step();
    if (schedule_.asynchronous()) {
      run_in_stage_order();
    } else {
      for (std::size_t microbatch = 0; microbatch < microbatches_; ++microbatch) run_one(microbatch);
    }
    device_.synchronize();
    return device_.losses() / static_cast<double>(microbatches_);
  }

  void update() {
    for (Weights& weights : weights_) update(weights, microbatches_);
  }

  [[nodiscard]] std::vector<std::vector<float>> read(std::vector<float> (Device::*reader)(const ChunkState&)) const {
    std::vector<std::vector<float>> result;
    result.reserve(weights_.size());
    for (const Weights& weights : weights_) result.push_back((device_.*reader)(weights.state()));
    return result;
  }

private:
  MicrobatchState& at(std::size_t chunk, std::size_t microbatch) { return states_[chunk * microbatches_ + microbatch]; }

  void run_one(std::size_t microbatch) {
    for (std::size_t chunk = 0; chunk < chunks_; ++chunk) forward(chunk, microbatch);
    for (std::size_t chunk = chunks_; chunk-- > 0 && !schedule_.forward_only();) {
      input_grad(chunk, microbatch);
      weight_grad(chunk, microbatch);
    }
    for (std::size_t chunk = 0; chunk < chunks_; ++chunk) at(chunk, microbatch) = {};
  }

  // Each stage's tasks in its order; between stages, any order that satisfies dependencies is equivalent.
  void run_in_stage_order() {
    std::vector<std::size_t> done(schedule_.shape().stages);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t stage = 0; stage < done.size(); ++stage) {
        const auto tasks = schedule_.stage(make_id<StageId>(stage));
        for (; done[stage] < tasks.size() && can_run(tasks[done[stage]]); ++done[stage], moved = true)
          run(tasks[done[stage]]);
      }
    }
    for (std::size_t stage = 0; stage < done.size(); ++stage)
      PPSIM_ASSERT(done[stage] == schedule_.stage(make_id<StageId>(stage)).size());
  }
  [[nodiscard]] bool can_run(const Task& task) {
    const std::size_t chunk = index(task.chunk());
    const std::size_t microbatch = index(task.microbatch);
    if (task.pass == Pass::forward) return chunk == 0 || at(chunk - 1, microbatch).went_forward;
    if (task.pass == Pass::weight_grad) return at(chunk, microbatch).went_back;
    return at(chunk, microbatch).went_forward && (chunk + 1 == chunks_ || at(chunk + 1, microbatch).went_back);
  }
  void run(const Task& task) {
    const std::size_t chunk = index(task.chunk());
    const std::size_t microbatch = index(task.microbatch);
    if (task.pass == Pass::forward) return forward(chunk, microbatch);
    if (gives_gradient(task.pass)) input_grad(chunk, microbatch);
    if (!frees_activation(task.pass)) return;
    weight_grad(chunk, microbatch);
    update(weights_[chunk], 1);
    device_.zero_gradients(weights_[chunk].gradients.get());
  }

  void forward(std::size_t chunk, std::size_t microbatch) {
    MicrobatchState& state = at(chunk, microbatch);
    DeviceMemory input;
    if (chunk == 0) {
      input = make_buffer(device_, sizes_.boundary);
      device_.make_input(make_id<MicrobatchId>(microbatch), input.get());
    }
    state.parameters = make_buffer(device_, sizes_.parameter_bytes);
    device_.copy(state.parameters.get(), weights_[chunk].parameters.get(), sizes_.parameter_bytes);
    state.for_input = make_buffer(device_, sizes_.stash_for_input);
    state.for_weight = make_buffer(device_, sizes_.stash_for_weight);
    state.y = make_buffer(device_, sizes_.boundary);
    const DeviceMemory& x = chunk == 0 ? input : at(chunk - 1, microbatch).y;
    device_.forward(state.parameters.get(), x.get(), state.y.get(), state.stash());
    if (chunk + 1 == chunks_) device_.loss(make_id<MicrobatchId>(microbatch), state.y.get(), state.stash());
    state.went_forward = true;
  }
  void input_grad(std::size_t chunk, std::size_t microbatch) {
    MicrobatchState& state = at(chunk, microbatch);
    state.dx = make_buffer(device_, sizes_.boundary);
    const void* dy = chunk + 1 == chunks_ ? nullptr : at(chunk + 1, microbatch).dx.get();
    device_.input_grad(state.parameters.get(), dy, state.dx.get(), state.stash());
    state.for_input.reset();
    state.parameters.reset();
    state.went_back = true;
  }
  void weight_grad(std::size_t chunk, std::size_t microbatch) {
    MicrobatchState& state = at(chunk, microbatch);
    device_.weight_grad(state.stash(), weights_[chunk].gradients.get());
    state.for_weight.reset();
  }
  void update(Weights& weights, std::size_t microbatches) {
    device_.optimizer_step(weights.state(), ++weights.updates, microbatches);
    device_.zero_gradients(weights.gradients.get());
  }

  const Schedule& schedule_;
  Device& device_;
  ChunkSizes sizes_;
  std::size_t chunks_, microbatches_;
  std::vector<Weights> weights_;
  std::vector<MicrobatchState> states_;
};

constexpr double infinity = std::numeric_limits<double>::infinity();

// The largest difference, relative to the largest number of `reference`. Infinite if either has a NaN or their sizes
// differ; all zeros must be equal.
double largest_error(const std::vector<float>& run, const std::vector<float>& reference) {
  if (run.size() != reference.size()) return infinity;
  double difference = 0;
  double scale = 0;
  for (std::size_t i = 0; i < run.size(); ++i) {
    const double found = run[i];
    const double expected = reference[i];
    if (!std::isfinite(found) || !std::isfinite(expected)) return infinity;
    difference = std::max(difference, std::abs(found - expected));
    scale = std::max(scale, std::abs(expected));
  }
  if (difference == 0) return 0;
  return scale > 0 ? difference / scale : infinity;
}

// The same for losses, until both trainings diverge.
double largest_error(const std::vector<double>& run, const std::vector<double>& reference) {
  if (run.size() != reference.size()) return infinity;
  double error = 0;
  for (std::size_t step = 0; step < run.size(); ++step) {
    const bool is_number = std::isfinite(run[step]);
    if (is_number != std::isfinite(reference[step])) return infinity;
    if (!is_number) break;
    const double difference = std::abs(run[step] - reference[step]);
    if (difference > 0) error = std::max(error, difference / std::abs(reference[step]));
  }
  return error;
}

bool have_equal_bits(const std::vector<float>& left, const std::vector<float>& right) {
  return left.size() == right.size() && std::memcmp(left.data(), right.data(), left.size() * sizeof(float)) == 0;
}

// Differences of equal losses added in double in another order are below 2^-53 per microbatch and addition.
constexpr double summation_error = 1e-12;

} // namespace

TrainingResult train_one_at_a_time(const Program& program, Device& device, std::size_t steps) {
  const Schedule& schedule = program.schedule;
  Reference reference{schedule, device};
  TrainingResult result;
  for (std::size_t step = 0; step < steps; ++step) {
    result.losses.push_back(reference.step());
    const bool first = step == 0;
    if (first)
      result.gradients = reference.read(schedule.asynchronous() ? &Device::read_parameters : &Device::read_gradients);
    if (!schedule.asynchronous() && !schedule.forward_only()) reference.update();
  }
  return result;
}

bool sums_in_reference_order(const Program& program) {
  const Schedule& schedule = program.schedule;
  if (schedule.asynchronous()) return true; // nothing is summed: an update uses one microbatch's gradients
  std::map<std::size_t, Task> last;         // the last task that adds to a chunk's gradients, by stage
  std::map<std::size_t, StageId> holder;
  for (const StageId stage : schedule.stage_ids()) {
    for (const Task& task : schedule.stage(stage)) {
      const std::size_t chunk = index(task.chunk());
      if (holder.try_emplace(chunk, stage).first->second != stage) return false;
      if (!frees_activation(task.pass)) continue;
      const auto [before, is_first] = last.try_emplace(chunk, task);
      if (!is_first && index(before->second.microbatch) > index(task.microbatch)) return false;
      before->second = task;
    }
  }
  return true;
}

double reordering_tolerance(std::size_t microbatches) {
  return 16 * std::sqrt(static_cast<double>(microbatches)) * 0x1p-24;
}

Proof compare_results(const Program& program, const TrainingResult& run, const TrainingResult& reference,
                      double tolerance) {
  Proof proof{.same_order = sums_in_reference_order(program), .tolerance = tolerance, .losses = run.losses};
  proof.loss_error = largest_error(run.losses, reference.losses);
  proof.bit_equal = run.gradients.size() == reference.gradients.size() && proof.loss_error <= summation_error;
  if (run.gradients.size() != reference.gradients.size()) proof.gradient_error = infinity;
  for (std::size_t chunk = 0; chunk < std::min(run.gradients.size(), reference.gradients.size()); ++chunk) {
    const double error = largest_error(run.gradients[chunk], reference.gradients[chunk]);
    proof.gradient_error = std::max(proof.gradient_error, error);
    proof.bit_equal = proof.bit_equal && have_equal_bits(run.gradients[chunk], reference.gradients[chunk]);
  }
  return proof;
}

} // namespace ppsim::runtime
