#pragma once
// One chunk on the processor with all its memory, for tests.

#include "ppsim/runtime/host_device.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace ppsim::test {

/// Numbers in a device's memory.
class Numbers {
public:
  Numbers(runtime::Device& device, Bytes bytes) : device_{device}, bytes_{bytes}, memory_{device.allocate(bytes)} {}
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  ~Numbers() { device_.release(memory_, bytes_); }
  [[nodiscard]] void* get() const { return memory_; }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(bytes_.count()) / sizeof(float); }
  [[nodiscard]] float* begin() const { return static_cast<float*>(memory_); }
  [[nodiscard]] float* end() const { return begin() + size(); }
  [[nodiscard]] std::vector<float> values() const { return {begin(), end()}; }
  void fill(int byte) { device_.fill(memory_, byte, bytes_); }
  void write(const std::vector<float>& values) { device_.copy(memory_, values.data(), bytes_); }

private:
  runtime::Device& device_;
  Bytes bytes_;
  void* memory_;
};

/// One microbatch at a chunk.
struct HostBuffers {
  explicit HostBuffers(runtime::Device& device)
      : x{device, device.sizes().boundary}, y{device, device.sizes().boundary}, dy{device, device.sizes().boundary},
        dx{device, device.sizes().boundary}, for_input{device, device.sizes().stash_for_input},
        for_weight{device, device.sizes().stash_for_weight} {}
  Numbers x, y, dy, dx, for_input, for_weight;
  [[nodiscard]] runtime::Stash stash() const { return {for_input.get(), for_weight.get()}; }
  void fill(int byte) {
    for (Numbers* numbers : {&y, &dx, &for_input, &for_weight}) numbers->fill(byte);
  }
};

/// Parameters, gradients and moments.
struct HostWeights {
  explicit HostWeights(runtime::Device& device, ChunkId chunk = ChunkId{0})
      : parameters{device, device.sizes().parameter_bytes}, gradients{device, device.sizes().gradient_bytes},
        optimizer{device, device.sizes().optimizer_bytes} {
    device.initialise(state(), chunk);
  }
  Numbers parameters, gradients, optimizer;
  [[nodiscard]] runtime::ChunkState state() const { return {parameters.get(), gradients.get(), optimizer.get()}; }
};

} // namespace ppsim::test
