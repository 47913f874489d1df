#include "ppsim/runtime/host_device.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/runtime/monotonic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <new>
#include <unordered_map>

#include "aligned_buffer.hpp"
#include "cores.hpp"
#include "host_branch.hpp"
#include "host_loops.hpp"

namespace ppsim::runtime {

namespace {

Bytes bytes_of(std::size_t numbers) {
  return Bytes{static_cast<std::int64_t>(numbers * sizeof(float))};
}

float* numbers(void* memory) {
  return static_cast<float*>(memory);
}
const float* numbers(const void* memory) {
  return static_cast<const float*>(memory);
}

void check_range(Problems& problems, std::string_view name, std::size_t value, std::size_t largest) {
  if (value < 1 || value > largest)
    problems.add(fmt::format("workload: {}", name), fmt::format("{}", value), fmt::format("1 to {}", largest));
}

// About the most memory of a chunk and a microbatch: 16 TiB, so that no sum over a schedule overflows 64 bits.
constexpr double most_chunk_bytes = 0x1p44;

// Bounds that keep every size in 64 bits and every matrix dimension in BLAS's 32 bits.
void check(const Workload& workload) {
  Problems problems;
  check_range(problems, "tokens", workload.tokens, most_rows);
  check_range(problems, "width", workload.width, most_rows);
  check_range(problems, "layers", workload.layers, most_layers);
  if (workload.block == Block::transformer) {
    check_range(problems, "heads", workload.heads, most_rows);
    if (workload.heads > 0 && workload.width % workload.heads != 0)
      problems.add("workload: heads",
                   fmt::format("{} heads do not divide the width {}", workload.heads, workload.width),
                   "use a divisor of the width");
  }
  const double layer = static_cast<double>(workload.tokens) * static_cast<double>(workload.width) * 64 +
                       static_cast<double>(workload.width) * static_cast<double>(workload.width) * 64 +
                       static_cast<double>(workload.tokens) * static_cast<double>(workload.tokens) *
                           static_cast<double>(workload.block == Block::transformer ? workload.heads : 0) * 4;
  if (problems.empty() && layer * static_cast<double>(workload.layers) > most_chunk_bytes)
    problems.add("workload",
                 fmt::format("{} would take {:.3g} bytes per chunk", in_words(workload),
                             layer * static_cast<double>(workload.layers)),
                 "use fewer tokens, a smaller width or fewer layers");
  const bool is_rate = workload.learning_rate > 0 && workload.learning_rate <= 1e6; // NaN is none
  if (!is_rate)
    problems.add("workload: learning rate", fmt::format("{}", workload.learning_rate), "more than 0, at most 1000000");
  problems.throw_if_any();
}

// Cache-line aligned blocks. Freed blocks are kept by size for reuse: a step uses the blocks of the step before, so no
// timed step asks the system for memory.
class BlockCache {
public:
  void* take(Bytes bytes) {
    PPSIM_ASSERT(bytes.count() >= 0);
    if (bytes.count() == 0) return nullptr;
    auto& blocks = free_[bytes.count()];
    if (blocks.empty()) return make_aligned_buffer(bytes).release();
    void* block = blocks.back().release();
    blocks.pop_back();
    return block;
  }
  void keep(void* block, Bytes bytes) noexcept {
    if (block == nullptr) return;
    AlignedBuffer owned{static_cast<std::byte*>(block)};
    try {
      free_[bytes.count()].push_back(std::move(owned));
    } catch (const std::bad_alloc&) { // then it is returned to the system
    }
  }

private:
  std::unordered_map<std::int64_t, std::vector<AlignedBuffer>> free_;
};

// One branch of a chunk, with offsets of its parts of parameters and stash, in numbers.
struct Place {
  const Branch* branch = nullptr;
  std::size_t layer = 0;
  std::size_t parameters = 0, for_input = 0, for_weight = 0;
};

// The structure of a chunk. All chunks are equal.
struct ChunkLayout {
  std::vector<std::unique_ptr<Branch>> kinds;
  std::vector<Place> places;
  ChunkSizes sizes;

  ChunkLayout(const Workload& workload, const MatrixLibrary& library) {
    if (workload.block == Block::transformer) kinds.push_back(make_attention(workload, library));
    kinds.push_back(make_mlp(workload, library));
    Place next;
    std::size_t scratch = 0;
    for (; next.layer < workload.layers; ++next.layer) {
      for (const auto& branch : kinds) {
        const BranchSizes taken = branch->sizes();
        next.branch = branch.get();
        places.push_back(next);
        next.parameters += taken.parameters;
        next.for_input += taken.for_input;
        next.for_weight += taken.for_weight;
        scratch = std::max(scratch, taken.scratch);
      }
    }
    const std::size_t activation = workload.tokens * workload.width;
    const std::size_t moments = workload.optimizer == OptimizerKind::adam ? 2 : 0;
    sizes = {.parameters = next.parameters,
             .parameter_bytes = bytes_of(next.parameters),
             .gradient_bytes = bytes_of(next.parameters),
             .optimizer_bytes = bytes_of(moments * next.parameters),
             .stash_for_input = bytes_of(next.for_input),
             .stash_for_weight = bytes_of(next.for_weight),
             .boundary = bytes_of(activation),
             .scratch = bytes_of(activation + scratch)}; // the first part: an unused gradient
  }
};

BranchStash stash_of(const Place& place, const Stash& stash) {
  // for_input may be freed before W.
  float* for_input = stash.for_input == nullptr ? nullptr : numbers(stash.for_input) + place.for_input;
  return {for_input, numbers(stash.for_weight) + place.for_weight};
}

class HostDevice final : public Device {
public:
  HostDevice(const Workload& workload, const MatrixLibrary& library)
      : workload_{workload}, layout_{workload, library}, shifts_(workload.width),
        scratch_{make_aligned_buffer(layout_.sizes.scratch)} {
    const std::uint32_t key = target_key(workload.seed);
    for (std::size_t column = 0; column < shifts_.size(); ++column) shifts_[column] = target_shift(key, column);
    stamps_.reserve(4096);
  }

  [[nodiscard]] const ChunkSizes& sizes() const override { return layout_.sizes; }

  [[nodiscard]] void* allocate(Bytes bytes) override { return memory_.take(bytes); }
  void release(void* memory, Bytes bytes) noexcept override { memory_.keep(memory, bytes); }
  void fill(void* memory, int byte, Bytes bytes) override {
    if (bytes.count() > 0) std::memset(memory, byte, static_cast<std::size_t>(bytes.count()));
  }
  void copy(void* to, const void* from, Bytes bytes) override {
    if (bytes.count() > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes.count()));
  }
  [[nodiscard]] std::vector<float> read_gradients(const ChunkState& state) override { return read(state.gradients); }
  [[nodiscard]] std::vector<float> read_parameters(const ChunkState& state) override { return read(state.parameters); }
  void write_gradients(const ChunkState& state, const std::vector<float>& gradients) override {
    PPSIM_ASSERT(gradients.size() == count());
    copy(state.gradients, gradients.data(), layout_.sizes.gradient_bytes);
  }

  void initialise(const ChunkState& state, ChunkId chunk) override {
    for (const Place& place : layout_.places) {
      float* out = numbers(state.parameters) + place.parameters;
      for (const auto& [name, rows, columns] : place.branch->matrices()) {
        const std::uint32_t key = parameter_key(workload_.seed, chunk, place.layer, name);
        loops_.draw_parameters(key, parameter_limit(name, rows, workload_.depth), rows * columns, out);
        out += rows * columns;
      }
    }
    zero_gradients(state.gradients);
    fill(state.optimizer, 0, layout_.sizes.optimizer_bytes);
  }
  void make_input(MicrobatchId microbatch, void* x) override {
    loops_.draw_input(input_key(workload_.seed, microbatch), workload_.tokens * workload_.width, numbers(x));
  }

  void forward(const void* parameters, const void* x, void* y, const Stash& stash) override {
    copy(y, x, layout_.sizes.boundary);
    for (const Place& place : layout_.places)
      place.branch->forward(numbers(parameters) + place.parameters, numbers(y), stash_of(place, stash));
  }
  void loss(MicrobatchId microbatch, const void* y, const Stash& stash) override;
  void input_grad(const void* parameters, const void* dy, void* dx, const Stash& stash) override;
  void weight_grad(const Stash& stash, void* gradients) override {
    for (const Place& place : layout_.places)
      place.branch->weight_grad(stash_of(place, stash), numbers(gradients) + place.parameters);
  }
  void zero_gradients(void* gradients) override { fill(gradients, 0, layout_.sizes.gradient_bytes); }
  void optimizer_step(const ChunkState& state, std::size_t number, std::size_t microbatches) override;
  void add_gradients(void* gradients, const void* others, bool others_first) override {
    const float* mine = numbers(gradients);
    const float* theirs = numbers(others);
    loops_.add(others_first ? theirs : mine, others_first ? mine : theirs, count(), numbers(gradients));
  }

  void begin_step() override {
    stamps_.clear();
    losses_ = 0;
  }
  [[nodiscard]] Stamp stamp() override {
    stamps_.push_back(monotonic_now());
    return stamps_.size() - 1;
  }
  void hold(Stamp since, Duration length) override { sleep_exactly_until(stamps_.at(since) + length.count()); }
  void synchronize() override {}
  [[nodiscard]] std::vector<std::int64_t> stamps() override { return stamps_; }
  [[nodiscard]] double losses() override { return losses_; }
  [[nodiscard]] std::optional<Duration> cpu_time() override { return Duration{read_clock_ns(CLOCK_THREAD_CPUTIME_ID)}; }

private:
  [[nodiscard]] std::size_t count() const { return layout_.sizes.parameters; }
  [[nodiscard]] std::vector<float> read(const void* from) const { return {numbers(from), numbers(from) + count()}; }

  Workload workload_;
  ChunkLayout layout_;
  BlockCache memory_;
  std::vector<float> shifts_;
  AlignedBuffer scratch_;
  std::vector<std::int64_t> stamps_;
  double losses_ = 0;
  const HostLoops& loops_ = host_loops();
};

void HostDevice::loss(MicrobatchId microbatch, const void* y, const Stash& stash) {
  const std::size_t columns = workload_.width;
  const double elements = static_cast<double>(workload_.tokens) * static_cast<double>(columns);
  const auto factor = static_cast<float>(1 / elements);
  const std::uint32_t key = input_key(workload_.seed, microbatch);
  float* gradient = stash_of(layout_.places.back(), stash).for_weight;
  double squares = 0;
  for (std::size_t first = 0; first < workload_.tokens * columns; first += columns)
    squares +=
        double{loops_.loss_row(numbers(y) + first, shifts_.data(), key, first, columns, factor, gradient + first)};
  losses_ += squares / (2 * elements);
}

void HostDevice::input_grad(const void* parameters, const void* dy, void* dx, const Stash& stash) {
  if (dy != nullptr) copy(stash_of(layout_.places.back(), stash).for_weight, dy, layout_.sizes.boundary);
  // The first chunk's gradient is also computed, as an embedding before it would need it: chunks then cost the same.
  float* last = dx != nullptr ? numbers(dx) : numbers(scratch_.get());
  float* workspace = numbers(scratch_.get()) + workload_.tokens * workload_.width;
  for (std::size_t i = layout_.places.size(); i-- > 0;) {
    const Place& place = layout_.places[i];
    float* out = i > 0 ? stash_of(layout_.places[i - 1], stash).for_weight : last;
    place.branch->input_grad(numbers(parameters) + place.parameters, out, stash_of(place, stash), workspace);
  }
}

void HostDevice::optimizer_step(const ChunkState& state, std::size_t number, std::size_t microbatches) {
  const float* gradients = numbers(state.gradients);
  float* parameters = numbers(state.parameters);
  if (workload_.optimizer == OptimizerKind::sgd) {
    const double share = 1.0 / static_cast<double>(microbatches);
    loops_.sgd(gradients, static_cast<float>(workload_.learning_rate * share), count(), parameters);
    return;
  }
  float* first = numbers(state.optimizer);
  loops_.adam(gradients, adam_factors(workload_.learning_rate, number, microbatches), count(), parameters, first,
              first + count());
}

} // namespace

ChunkSizes host_sizes(const Workload& workload) {
  check(workload);
  return ChunkLayout{workload, built_in_matrices()}.sizes;
}

std::unique_ptr<Device> make_host_device(const Workload& workload, const MatrixLibrary& library) {
  check(workload);
  return std::make_unique<HostDevice>(workload, library);
}

std::unique_ptr<Device> make_host_device(const Workload& workload) {
  return make_host_device(workload, best_matrices());
}

} // namespace ppsim::runtime
