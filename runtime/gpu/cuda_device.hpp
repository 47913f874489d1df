#pragma once
// CudaDevice: one stage's memory and tasks on a GPU, all on one stream.

#include "ppsim/runtime/device.hpp"
#include "ppsim/runtime/program.hpp"

#include "clock.hpp"
#include "kernels.hpp"
#include "layout.hpp"
#include "matmul.hpp"

namespace ppsim::runtime::gpu {

class CudaDevice : public Device {
public:
  /// `multiprocessors`: number available to `queue`. `stopped`: whether to give up waiting.
  CudaDevice(const Workload& workload, Queue queue, std::size_t multiprocessors, cublasLtHandle_t handle, Clock& clock,
             std::function<bool()> stopped);
  ~CudaDevice() override;

  [[nodiscard]] const Queue& queue() const { return queue_; }
  /// Runs every kind of task of `stage` once, on temporary memory, and reserves a step's stamps. CUDA loads a kernel at
  /// its first launch and may have to synchronise the context for it (CUDA C++ Programming Guide, lazy loading). Within
  /// a step that would wait for a receive that waits for a peer; here nothing waits yet.
  void warm_up(const StageProgram& stage);

  [[nodiscard]] const ChunkSizes& sizes() const override { return sizes_; }
  [[nodiscard]] void* allocate(Bytes bytes) override;
  void release(void* memory, Bytes bytes) noexcept override;
  void reserve_stashes(std::size_t count) override;
  void fill(void* memory, int byte, Bytes bytes) override;
  void copy(void* to, const void* from, Bytes bytes) override;
  [[nodiscard]] std::vector<float> read_gradients(const ChunkState& state) override;
  [[nodiscard]] std::vector<float> read_parameters(const ChunkState& state) override;
  void write_gradients(const ChunkState& state, const std::vector<float>& gradients) override;

  void initialise(const ChunkState& state, ChunkId chunk) override;
  void make_input(MicrobatchId microbatch, void* x) override;

  void forward(const void* parameters, const void* x, void* y, const Stash& stash) override;
  void loss(MicrobatchId microbatch, const void* y, const Stash& stash) override;
  void input_grad(const void* parameters, const void* dy, void* dx, const Stash& stash) override;
  void weight_grad(const Stash& stash, void* gradients) override;
  void zero_gradients(void* gradients) override;
  void optimizer_step(const ChunkState& state, std::size_t number, std::size_t microbatches) override;
  void add_gradients(void* gradients, const void* others, bool others_first) override;

  void begin_step() override;
  [[nodiscard]] Stamp stamp() override { return stamps_.add(); }
  void hold(Stamp since, Duration length) override;
  [[nodiscard]] bool has_passed(Stamp stamp) override { return is_done(queue_) || stamps_.has_passed(stamp); }
  /// If nothing is allocated any more, the pool's memory is also freed, for other uses.
  void synchronize() override;
  [[nodiscard]] std::vector<std::int64_t> stamps() override { return stamps_.host_times(); }
  [[nodiscard]] double losses() override;
  [[nodiscard]] std::optional<Duration> cpu_time() override { return std::nullopt; }

private:
  // Parts of one layer's passes. `layer` counts within the chunk.
  struct Layer; ///< pointers to its parameters and stash
  [[nodiscard]] Layer layer_at(std::size_t layer, const void* parameters, const Stash& stash) const;
  void attention_forward(const Layer& layer, const Bf16* x, Bf16* y);
  void mlp_forward(const Layer& layer, const Bf16* x, Bf16* y);
  void mlp_input_grad(const Layer& layer, Bf16* dx);
  void attention_input_grad(const Layer& layer, Bf16* dx);
  void projected_input_grad(const Layer& layer);
  [[nodiscard]] Extent activation() const { return {layout_.tokens, layout_.width}; }
  template <class Number>
  [[nodiscard]] Number* scratch(std::size_t offset) const {
    return reinterpret_cast<Number*>(scratch_.get() + offset);
  }
  [[nodiscard]] std::vector<float> read(const void* numbers);

  Workload workload_;
  Layout layout_;
  ChunkSizes sizes_;
  Queue queue_;
  Pool pool_;
  std::size_t allocated_ = 0; ///< number of unreleased allocations
  Memory scratch_;
  Memory loss_; ///< of the step, then workspace
  Matmul matmul_;
  Clock& clock_;
  Stamps stamps_;
  std::function<bool()> stopped_;
};

/// See GpuPlugin::make_device.
[[nodiscard]] std::unique_ptr<Device> make_device(const Workload& workload);
/// Multiprocessors of the current GPU.
[[nodiscard]] std::size_t multiprocessors();

} // namespace ppsim::runtime::gpu
