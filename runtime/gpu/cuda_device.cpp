#include "cuda_device.hpp"

#include "ppsim/runtime/seeded.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "check.hpp"

namespace ppsim::runtime::gpu {

namespace {

std::size_t count(Bytes bytes) {
  return static_cast<std::size_t>(bytes.count());
}

/// A pool that keeps freed memory, so that a step allocates nothing from the driver after its first run.
Pool make_pool() {
  int device = 0;
  PPSIM_GPU_CHECK(cudaGetDevice(&device));
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device;
  cudaMemPool_t created = nullptr;
  PPSIM_GPU_CHECK(cudaMemPoolCreate(&created, &properties));
  Pool pool{created};
  std::uint64_t keep = UINT64_MAX;
  PPSIM_GPU_CHECK(cudaMemPoolSetAttribute(created, cudaMemPoolAttrReleaseThreshold, &keep));
  return pool;
}

/// Losses: the sum and loss_kernel's workspace.
constexpr std::size_t loss_bytes = (1 + loss_blocks) * sizeof(double);

} // namespace

/// Pointers to the parts of one layer; Layout describes the parts.
struct CudaDevice::Layer {
  const Layout& layout;
  const Bf16* parameters = nullptr;
  std::byte* for_input = nullptr;
  std::byte* for_weight = nullptr;

  [[nodiscard]] Bf16* probabilities() const { return reinterpret_cast<Bf16*>(for_input + layout.probabilities); }
  [[nodiscard]] float* deviation(std::size_t offset) const { return reinterpret_cast<float*>(for_input + offset); }
  [[nodiscard]] Bf16* kept(std::size_t offset) const { return reinterpret_cast<Bf16*>(for_weight + offset); }
};

CudaDevice::CudaDevice(const Workload& workload, Queue queue, std::size_t multiprocessors, cublasLtHandle_t handle,
                       Clock& clock, std::function<bool()> stopped)
    : workload_{workload}, layout_{workload}, sizes_{layout_.sizes(workload.optimizer)}, queue_{std::move(queue)},
      pool_{make_pool()}, scratch_{allocate_memory(count(sizes_.scratch))}, loss_{allocate_memory(loss_bytes)},
      matmul_{handle, multiprocessors, scratch_.get() + layout_.workspace}, clock_{clock}, stamps_{clock, queue_},
      stopped_{std::move(stopped)} {}

CudaDevice::~CudaDevice() {
  queue_.drain();
}

void CudaDevice::warm_up(const StageProgram& stage) {
  // Start and end of each task, of an optimizer step (at most one per task), and of the exchange of each chunk.
  stamps_.reserve(2 * (2 * stage.tasks.size() + stage.chunks.size() + 1));
  if (stage.tasks.empty()) return; // it only moves data
  std::vector<DeviceMemory> taken;
  const auto take = [&](Bytes bytes) { return taken.emplace_back(allocate_on(*this, bytes)).get(); };
  const ChunkState state{take(sizes_.parameter_bytes), take(sizes_.gradient_bytes), take(sizes_.optimizer_bytes)};
  const Stash stash{take(sizes_.stash_for_input), take(sizes_.stash_for_weight)};
  void* const x = take(sizes_.boundary);
  void* const y = take(sizes_.boundary);

  begin_step();
  const Stamp begun = stamp();
  initialise(state, ChunkId{0});
  make_input(MicrobatchId{0}, x);
  forward(state.parameters, x, y, stash);
  loss(MicrobatchId{0}, y, stash);
  input_grad(state.parameters, nullptr, x, stash);
  weight_grad(stash, state.gradients);
  add_gradients(state.gradients, state.optimizer, false);
  optimizer_step(state, 1, 1);
  fill(x, 0, sizes_.boundary);
  copy(y, x, sizes_.boundary);
  copy_by_kernel(y, x, count(sizes_.boundary), queue_.get());
  if (clock_.kind() == Clock::Kind::kernels) hold(begun, Duration{0});
  static_cast<void>(stamp());
  wait_for(queue_, stopped_, "the first tasks of a stage"); // not synchronize(), which frees the pool's memory
}

void* CudaDevice::allocate(Bytes bytes) {
  if (bytes.count() == 0) return nullptr;
  void* memory = nullptr;
  // "Basic stream ordering allows future work submitted into the same stream to use the allocation."
  PPSIM_GPU_CHECK(cudaMallocFromPoolAsync(&memory, count(bytes), pool_.get(), queue_.get()));
  ++allocated_;
  return memory;
}

void CudaDevice::release(void* memory, Bytes /*bytes*/) noexcept {
  if (memory == nullptr) return;
  // It fails only if the device has already failed, which is reported elsewhere.
  static_cast<void>(cudaFreeAsync(memory, queue_.get()));
  --allocated_;
}

void CudaDevice::reserve_stashes(std::size_t count) {
  // The pool keeps freed memory (make_pool()).
  std::vector<DeviceMemory> taken;
  for (std::size_t i = 0; i < count; ++i)
    for (const Bytes bytes : {sizes_.stash_for_input, sizes_.stash_for_weight})
      taken.push_back(allocate_on(*this, bytes));
}

void CudaDevice::fill(void* memory, int byte, Bytes bytes) {
  if (bytes.count() > 0) PPSIM_GPU_CHECK(cudaMemsetAsync(memory, byte, count(bytes), queue_.get()));
}

void CudaDevice::copy(void* to, const void* from, Bytes bytes) {
  if (bytes.count() > 0)
    PPSIM_GPU_CHECK(cudaMemcpyAsync(to, from, count(bytes), cudaMemcpyDeviceToDevice, queue_.get()));
}

std::vector<float> CudaDevice::read(const void* numbers) {
  std::vector<float> values(sizes_.parameters);
  PPSIM_GPU_CHECK(
      cudaMemcpyAsync(values.data(), numbers, values.size() * sizeof(float), cudaMemcpyDeviceToHost, queue_.get()));
  synchronize();
  return values;
}

std::vector<float> CudaDevice::read_gradients(const ChunkState& state) {
  return read(state.gradients);
}

std::vector<float> CudaDevice::read_parameters(const ChunkState& state) {
  return read(state.optimizer); // the master copy
}

void CudaDevice::write_gradients(const ChunkState& state, const std::vector<float>& gradients) {
  if (gradients.size() != sizes_.parameters)
    throw std::runtime_error{"gradients of " + std::to_string(gradients.size()) + " numbers for a chunk that has " +
                             std::to_string(sizes_.parameters)};
  PPSIM_GPU_CHECK(cudaMemcpyAsync(state.gradients, gradients.data(), gradients.size() * sizeof(float),
                                  cudaMemcpyHostToDevice, queue_.get()));
  synchronize();
}

void CudaDevice::initialise(const ChunkState& state, ChunkId chunk) {
  fill(state.optimizer, 0, sizes_.optimizer_bytes);
  zero_gradients(state.gradients);
  const auto make = [&](std::size_t layer, Matrix matrix, std::size_t offset, std::size_t rows, std::size_t columns) {
    const std::size_t first = layer * layout_.parameters + offset;
    make_parameters(static_cast<Bf16*>(state.parameters) + first, static_cast<float*>(state.optimizer) + first,
                    rows * columns, parameter_key(workload_.seed, chunk, layer, matrix),
                    parameter_limit(matrix, rows, workload_.depth), queue_.get());
  };
  for (std::size_t layer = 0; layer < layout_.layers; ++layer) {
    if (layout_.attends) {
      make(layer, Matrix::qkv, layout_.qkv, layout_.width, 3 * layout_.width);
      make(layer, Matrix::projection, layout_.projection, layout_.width, layout_.width);
    }
    make(layer, Matrix::up, layout_.up, layout_.width, layout_.hidden);
    make(layer, Matrix::down, layout_.down, layout_.hidden, layout_.width);
  }
}

void CudaDevice::make_input(MicrobatchId microbatch, void* x) {
  make_activation(static_cast<Bf16*>(x), activation().size(), input_key(workload_.seed, microbatch), queue_.get());
}

CudaDevice::Layer CudaDevice::layer_at(std::size_t layer, const void* parameters, const Stash& stash) const {
  // W is called without parameters and for_input, so avoid arithmetic with null pointers.
  Layer it{.layout = layout_};
  if (parameters != nullptr) it.parameters = static_cast<const Bf16*>(parameters) + layer * layout_.parameters;
  if (stash.for_input != nullptr)
    it.for_input = static_cast<std::byte*>(stash.for_input) + layer * layout_.for_input.size();
  if (stash.for_weight != nullptr)
    it.for_weight = static_cast<std::byte*>(stash.for_weight) + layer * layout_.for_weight.size();
  return it;
}

void CudaDevice::forward(const void* parameters, const void* x, void* y, const Stash& stash) {
  auto* const out = static_cast<Bf16*>(y);
  for (std::size_t i = 0; i < layout_.layers; ++i) {
    const Layer layer = layer_at(i, parameters, stash);
    // From the second branch on, y contains the residual stream.
    const Bf16* in = i == 0 ? static_cast<const Bf16*>(x) : out;
    if (layout_.attends) {
      attention_forward(layer, in, out);
      in = out;
    }
    mlp_forward(layer, in, out);
  }
}

/// y = x + mix(norm(x) qkv) projection. y may be x.
void CudaDevice::attention_forward(const Layer& layer, const Bf16* x, Bf16* y) {
  const auto [tokens, width] = activation();
  const std::size_t head = layout_.head_width();
  const std::size_t square = tokens * tokens;
  cudaStream_t stream = queue_.get();
  Bf16* const normed = layer.kept(layout_.normed1);
  Bf16* const queries = layer.kept(layout_.projected);
  const Bf16* const keys = queries + width;
  const Bf16* const values = queries + 2 * width;
  Bf16* const mixed = layer.kept(layout_.mixed);
  auto* const scores = scratch<float>(layout_.scores);

  norm_forward(x, normed, layer.deviation(layout_.deviation1), activation(), stream);
  matmul_({.rows = tokens, .columns = 3 * width, .inner = width}, {.data = normed, .row = width},
          {.data = layer.parameters + layout_.qkv, .row = 3 * width}, {.data = queries, .row = 3 * width}, stream);
  // By head: scores = queries keys^T / sqrt(head width), mixed = softmax(scores) values.
  matmul_({.rows = tokens,
           .columns = tokens,
           .inner = head,
           .batches = layout_.heads,
           .factor = 1.0F / std::sqrt(static_cast<float>(head))},
          {.data = queries, .row = 3 * width, .batch = head},
          {.data = keys, .row = 3 * width, .batch = head, .transposed = true},
          {.data = scores, .row = tokens, .batch = square, .fp32 = true}, stream);
  causal_softmax(scores, layer.probabilities(), layout_.heads, tokens, stream);
  matmul_({.rows = tokens, .columns = head, .inner = tokens, .batches = layout_.heads},
          {.data = layer.probabilities(), .row = tokens, .batch = square},
          {.data = values, .row = 3 * width, .batch = head}, {.data = mixed, .row = width, .batch = head}, stream);
  matmul_({.rows = tokens, .columns = width, .inner = width, .kept = 1}, {.data = mixed, .row = width},
          {.data = layer.parameters + layout_.projection, .row = width}, {.data = y, .row = width, .added = x}, stream);
}

/// y = x + gelu(norm(x) up) down. y may be x.
void CudaDevice::mlp_forward(const Layer& layer, const Bf16* x, Bf16* y) {
  const auto [tokens, width] = activation();
  const std::size_t hidden = layout_.hidden;
  cudaStream_t stream = queue_.get();
  Bf16* const normed = layer.kept(layout_.normed2);
  Bf16* const before = layer.kept(layout_.before_gelu);
  Bf16* const after = layer.kept(layout_.after_gelu);

  norm_forward(x, normed, layer.deviation(layout_.deviation2), activation(), stream);
  matmul_({.rows = tokens, .columns = hidden, .inner = width}, {.data = normed, .row = width},
          {.data = layer.parameters + layout_.up, .row = hidden}, {.data = before, .row = hidden}, stream);
  gelu_forward(before, after, tokens * hidden, stream);
  matmul_({.rows = tokens, .columns = width, .inner = hidden, .kept = 1}, {.data = after, .row = hidden},
          {.data = layer.parameters + layout_.down, .row = width}, {.data = y, .row = width, .added = x}, stream);
}

void CudaDevice::loss(MicrobatchId microbatch, const void* y, const Stash& stash) {
  const Layer last = layer_at(layout_.layers - 1, nullptr, stash);
  auto* const sums = reinterpret_cast<double*>(loss_.get());
  loss_and_gradient(static_cast<const Bf16*>(y), last.kept(layout_.gradient2), activation(),
                    {.input = input_key(workload_.seed, microbatch), .target = target_key(workload_.seed)}, sums + 1,
                    sums, queue_.get());
}

void CudaDevice::input_grad(const void* parameters, const void* dy, void* dx, const Stash& stash) {
  // W also needs the incoming gradient: it is stored at the place where the loss writes it.
  if (dy != nullptr) copy(layer_at(layout_.layers - 1, nullptr, stash).kept(layout_.gradient2), dy, sizes_.boundary);
  // The first chunk's gradient is also computed, as an embedding before it would need it: chunks then cost the same.
  Bf16* const last = dx != nullptr ? static_cast<Bf16*>(dx) : scratch<Bf16>(layout_.unasked);
  for (std::size_t i = layout_.layers; i-- > 0;) {
    const Layer layer = layer_at(i, parameters, stash);
    Bf16* const below = i == 0 ? last : layer_at(i - 1, parameters, stash).kept(layout_.gradient2);
    if (layout_.attends) {
      mlp_input_grad(layer, layer.kept(layout_.gradient1));
      attention_input_grad(layer, below);
    } else {
      mlp_input_grad(layer, below);
    }
  }
}

void CudaDevice::mlp_input_grad(const Layer& layer, Bf16* dx) {
  const auto [tokens, width] = activation();
  const std::size_t hidden = layout_.hidden;
  cudaStream_t stream = queue_.get();
  const Bf16* const dy = layer.kept(layout_.gradient2);
  Bf16* const before = layer.kept(layout_.before_gelu);
  auto* const after_gradient = scratch<Bf16>(layout_.hidden_gradient);
  auto* const normed_gradient = scratch<Bf16>(layout_.normed_gradient);

  matmul_({.rows = tokens, .columns = hidden, .inner = width}, {.data = dy, .row = width},
          {.data = layer.parameters + layout_.down, .row = width, .transposed = true},
          {.data = after_gradient, .row = hidden}, stream);
  gelu_backward(after_gradient, before, tokens * hidden, stream);
  matmul_({.rows = tokens, .columns = width, .inner = hidden}, {.data = before, .row = hidden},
          {.data = layer.parameters + layout_.up, .row = hidden, .transposed = true},
          {.data = normed_gradient, .row = width}, stream);
  norm_backward(normed_gradient, layer.kept(layout_.normed2), layer.deviation(layout_.deviation2), dy, dx, activation(),
                stream);
}

void CudaDevice::attention_input_grad(const Layer& layer, Bf16* dx) {
  const auto [tokens, width] = activation();
  cudaStream_t stream = queue_.get();
  const Bf16* const dy = layer.kept(layout_.gradient1);
  auto* const normed_gradient = scratch<Bf16>(layout_.normed_gradient);

  matmul_({.rows = tokens, .columns = width, .inner = width}, {.data = dy, .row = width},
          {.data = layer.parameters + layout_.projection, .row = width, .transposed = true},
          {.data = scratch<Bf16>(layout_.mixed_gradient), .row = width}, stream);
  projected_input_grad(layer);
  matmul_({.rows = tokens, .columns = width, .inner = 3 * width},
          {.data = layer.kept(layout_.projected), .row = 3 * width},
          {.data = layer.parameters + layout_.qkv, .row = 3 * width, .transposed = true},
          {.data = normed_gradient, .row = width}, stream);
  norm_backward(normed_gradient, layer.kept(layout_.normed1), layer.deviation(layout_.deviation1), dy, dx, activation(),
                stream);
}

/// By head, with P the probabilities and ' a gradient: P' = mixed' values^T, values' = P^T mixed', scores' through the
/// softmax, queries' = scores' keys, keys' = scores'^T queries. Each gradient overwrites its value as soon as that is
/// no longer needed; queries' has to wait for keys'.
void CudaDevice::projected_input_grad(const Layer& layer) {
  const auto [tokens, width] = activation();
  const std::size_t head = layout_.head_width();
  const std::size_t square = tokens * tokens;
  cudaStream_t stream = queue_.get();
  Bf16* const queries = layer.kept(layout_.projected);
  Bf16* const keys = queries + width;
  Bf16* const values = queries + 2 * width;
  const auto* const mixed_gradient = scratch<Bf16>(layout_.mixed_gradient);
  auto* const query_gradient = scratch<Bf16>(layout_.query_gradient);
  auto* const probability_gradient = scratch<float>(layout_.scores);
  auto* const scores_gradient = scratch<Bf16>(layout_.scores_gradient);
  const Product by_head{.rows = tokens, .columns = head, .inner = tokens, .batches = layout_.heads};

  matmul_({.rows = tokens, .columns = tokens, .inner = head, .batches = layout_.heads},
          {.data = mixed_gradient, .row = width, .batch = head},
          {.data = values, .row = 3 * width, .batch = head, .transposed = true},
          {.data = probability_gradient, .row = tokens, .batch = square, .fp32 = true}, stream);
  matmul_(by_head, {.data = layer.probabilities(), .row = tokens, .batch = square, .transposed = true},
          {.data = mixed_gradient, .row = width, .batch = head}, {.data = values, .row = 3 * width, .batch = head},
          stream);
  softmax_backward(probability_gradient, layer.probabilities(), scores_gradient,
                   1.0F / std::sqrt(static_cast<float>(head)), layout_.heads, tokens, stream);
  matmul_(by_head, {.data = scores_gradient, .row = tokens, .batch = square},
          {.data = keys, .row = 3 * width, .batch = head}, {.data = query_gradient, .row = width, .batch = head},
          stream);
  matmul_(by_head, {.data = scores_gradient, .row = tokens, .batch = square, .transposed = true},
          {.data = queries, .row = 3 * width, .batch = head}, {.data = keys, .row = 3 * width, .batch = head}, stream);
  const std::size_t row_bytes = width * sizeof(Bf16);
  PPSIM_GPU_CHECK(cudaMemcpy2DAsync(queries, 3 * row_bytes, query_gradient, row_bytes, row_bytes, tokens,
                                    cudaMemcpyDeviceToDevice, stream));
}

void CudaDevice::weight_grad(const Stash& stash, void* gradients) {
  const auto [tokens, width] = activation();
  // gradient [rows, columns] += input^T output gradient, in fp32
  const auto add_product = [this, tokens = tokens](const Bf16* input, std::size_t rows, const Bf16* gradient,
                                                   std::size_t columns, float* sum) {
    matmul_({.rows = rows, .columns = columns, .inner = tokens, .kept = 1},
            {.data = input, .row = rows, .transposed = true}, {.data = gradient, .row = columns},
            {.data = sum, .row = columns, .fp32 = true}, queue_.get());
  };
  for (std::size_t i = 0; i < layout_.layers; ++i) {
    const Layer layer = layer_at(i, nullptr, stash);
    float* const sums = static_cast<float*>(gradients) + i * layout_.parameters;
    if (layout_.attends) {
      add_product(layer.kept(layout_.normed1), width, layer.kept(layout_.projected), 3 * width, sums + layout_.qkv);
      add_product(layer.kept(layout_.mixed), width, layer.kept(layout_.gradient1), width, sums + layout_.projection);
    }
    add_product(layer.kept(layout_.normed2), width, layer.kept(layout_.before_gelu), layout_.hidden, sums + layout_.up);
    add_product(layer.kept(layout_.after_gelu), layout_.hidden, layer.kept(layout_.gradient2), width,
                sums + layout_.down);
  }
}

void CudaDevice::zero_gradients(void* gradients) {
  fill(gradients, 0, sizes_.gradient_bytes);
}

void CudaDevice::optimizer_step(const ChunkState& state, std::size_t number, std::size_t microbatches) {
  auto* const parameters = static_cast<Bf16*>(state.parameters);
  auto* const master = static_cast<float*>(state.optimizer);
  const auto* const gradients = static_cast<const float*>(state.gradients);
  const std::size_t size = sizes_.parameters;
  if (workload_.optimizer == OptimizerKind::sgd) {
    const double share = 1.0 / static_cast<double>(microbatches);
    sgd_step(parameters, master, gradients, size, static_cast<float>(workload_.learning_rate * share), queue_.get());
    return;
  }
  adam_step(parameters, master, master + size, master + 2 * size, gradients, size,
            adam_factors(workload_.learning_rate, number, microbatches), queue_.get());
}

void CudaDevice::add_gradients(void* gradients, const void* others, bool /*others_first*/) {
  // A sum of two does not depend on their order (IEEE 754).
  add(static_cast<float*>(gradients), static_cast<const float*>(others), sizes_.parameters, queue_.get());
}

void CudaDevice::begin_step() {
  stamps_.begin_step();
  PPSIM_GPU_CHECK(cudaMemsetAsync(loss_.get(), 0, sizeof(double), queue_.get()));
}

void CudaDevice::hold(Stamp since, Duration length) {
  if (clock_.kind() != Clock::Kind::kernels)
    throw std::runtime_error{"a task can be held only where stamps are made by kernels (GpuOptions::timed)"};
  wait_past(stamps_.address(since), length.count(), queue_.get());
}

void CudaDevice::synchronize() {
  wait_for(queue_, stopped_, "the tasks of a stage");
  if (allocated_ > 0) return;
  // Memory freed "but whose completion has not been observed on the host (eg. by a synchronize) can count as
  // outstanding". Whether the query above is such an observation is not specified.
  queue_.synchronize();
  PPSIM_GPU_CHECK(cudaMemPoolTrimTo(pool_.get(), 0));
}

double CudaDevice::losses() {
  double sum = 0;
  PPSIM_GPU_CHECK(cudaMemcpyAsync(&sum, loss_.get(), sizeof sum, cudaMemcpyDeviceToHost, queue_.get()));
  synchronize();
  return sum;
}

namespace {

/// Additional members of a separate device. A base class, so that it is constructed before the device and destroyed
/// after it.
struct SingleDeviceParts {
  Clock clock{make_queue(), Clock::Kind::events};
  MatmulHandle handle = make_matmul_handle();
};

class SingleDevice final : private SingleDeviceParts, public CudaDevice {
public:
  explicit SingleDevice(const Workload& workload)
      : CudaDevice{workload, make_queue(), multiprocessors(), SingleDeviceParts::handle.get(), SingleDeviceParts::clock,
                   nullptr} {}
};

} // namespace

std::size_t multiprocessors() {
  int device = 0;
  int count = 0;
  PPSIM_GPU_CHECK(cudaGetDevice(&device));
  PPSIM_GPU_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return static_cast<std::size_t>(count);
}

std::unique_ptr<Device> make_device(const Workload& workload) {
  return std::make_unique<SingleDevice>(workload);
}

} // namespace ppsim::runtime::gpu
