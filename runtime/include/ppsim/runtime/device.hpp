#pragma once
// Device: the memory and compute of a stage. The processor and the GPU each implement it; stages, the reference run and
// the proof use only this interface.

#include "ppsim/runtime/interface.hpp"
#include "ppsim/runtime/workload.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace ppsim::runtime {

/// What F stores for one chunk and microbatch. F fills it, I reads it and adds output gradients, W reads for_weight.
struct Stash {
  void* for_input = nullptr;  ///< ChunkSizes::stash_for_input bytes; null if there are none
  void* for_weight = nullptr; ///< ChunkSizes::stash_for_weight bytes
};

/// Parameters, gradients and optimizer state of one chunk, in the layout of its device.
struct ChunkState {
  void* parameters = nullptr;
  void* gradients = nullptr; ///< fp32, in the order of the parameters
  void* optimizer = nullptr;
};

/// A moment on a device's stream, by number; taken during a step, read after it.
using Stamp = std::size_t;

/// One stage's memory and compute. Pointers are to the device's own memory. All calls come from one thread. On a GPU
/// they enqueue on the stage's compute stream and return; the work runs in that order. Functions throw Error (failed)
/// if the device fails and std::bad_alloc if memory runs out.
class Device : public Interface {
public:
  [[nodiscard]] virtual const ChunkSizes& sizes() const = 0;

  // Memory
  [[nodiscard]] virtual void* allocate(Bytes bytes) = 0; ///< zero bytes give null
  virtual void release(void* memory, Bytes bytes) noexcept = 0;
  /// Allocates `count` stashes in advance on devices for which an allocation would delay a step. Throws std::bad_alloc.
  virtual void reserve_stashes(std::size_t /*count*/) {}
  virtual void fill(void* memory, int byte, Bytes bytes) = 0; ///< 0xff in every byte is a NaN, for poisoning
  virtual void copy(void* to, const void* from, Bytes bytes) = 0;
  /// `count` fp32 gradients, copied to the host after all enqueued work has ended.
  [[nodiscard]] virtual std::vector<float> read_gradients(const ChunkState& state) = 0;
  [[nodiscard]] virtual std::vector<float> read_parameters(const ChunkState& state) = 0;
  virtual void write_gradients(const ChunkState& state, const std::vector<float>& gradients) = 0;

  // Data, generated from the workload's seed: equal on all devices except for rounding
  virtual void initialise(const ChunkState& state, ChunkId chunk) = 0; ///< parameters, zero gradients, optimizer
  virtual void make_input(MicrobatchId microbatch, void* x) = 0;

  // Tasks. x, y, dx and dy have ChunkSizes::boundary bytes
  virtual void forward(const void* parameters, const void* x, void* y, const Stash& stash) = 0;
  /// Runs after the forward of the last chunk. Adds the microbatch's loss to losses() and stores its gradient in the
  /// stash; input_grad reads it there if dy is null.
  virtual void loss(MicrobatchId microbatch, const void* y, const Stash& stash) = 0;
  virtual void input_grad(const void* parameters, const void* dy, void* dx, const Stash& stash) = 0; ///< dx may be null
  virtual void weight_grad(const Stash& stash, void* gradients) = 0;                                 ///< adds
  virtual void zero_gradients(void* gradients) = 0;
  /// The optimizer step with this number (counted from 1), on gradients divided by `microbatches`.
  virtual void optimizer_step(const ChunkState& state, std::size_t number, std::size_t microbatches) = 0;
  /// Adds the gradients of another replica: `first + second` in the same order on both replicas, so that both stay
  /// equal.
  virtual void add_gradients(void* gradients, const void* others, bool others_first) = 0;

  // Time
  /// Begins a step: resets stamps and losses.
  virtual void begin_step() = 0;
  [[nodiscard]] virtual Stamp stamp() = 0;
  /// Makes the task that began at `since` last at least `length`: a sleep, or a kernel that spins.
  virtual void hold(Stamp since, Duration length) = 0;
  /// Within a step: whether the device has reached this stamp. Always true for a device that computes inside the calls.
  [[nodiscard]] virtual bool has_passed(Stamp /*stamp*/) { return true; }
  /// Waits for everything that was enqueued.
  virtual void synchronize() = 0;
  /// After synchronize(): stamps of this step in nanoseconds of the host's CLOCK_MONOTONIC.
  [[nodiscard]] virtual std::vector<std::int64_t> stamps() = 0;
  /// After synchronize(): sum of the losses of this step's microbatches.
  [[nodiscard]] virtual double losses() = 0;
  /// Processor time of the calling thread; none on a GPU.
  [[nodiscard]] virtual std::optional<Duration> cpu_time() = 0;
};

/// Deleter for memory of a device.
struct ReleaseMemory {
  Device* device = nullptr;
  Bytes bytes{};
  void operator()(void* memory) const noexcept { device->release(memory, bytes); }
};
using DeviceMemory = std::unique_ptr<void, ReleaseMemory>;
/// As Device::allocate().
[[nodiscard]] inline DeviceMemory allocate_on(Device& device, Bytes bytes) {
  return {device.allocate(bytes), {&device, bytes}};
}

} // namespace ppsim::runtime
