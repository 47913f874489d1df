#pragma once
// A Device with one number per activation and per parameter set, so that a training can be followed with a pencil:
// y = w x, the loss is y, dx = w dy, dw = x dy, and the optimizer subtracts the mean gradient.

#include "ppsim/runtime/device.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <time.h>

namespace ppsim::test {

/// Chunk c begins with w = c + 2; the input of microbatch j is j + 1.
class ToyDevice final : public runtime::Device {
public:
  ToyDevice() {
    sizes_.parameters = 1;
    sizes_.parameter_bytes = Bytes{100};
    sizes_.gradient_bytes = Bytes{40};
    sizes_.optimizer_bytes = Bytes{7};
    sizes_.stash_for_input = Bytes{5};
    sizes_.stash_for_weight = Bytes{8};
    sizes_.boundary = Bytes{16};
    sizes_.scratch = Bytes{3};
  }

  // State that a test sets or checks.
  Bytes capacity{1'000'000};
  std::size_t forwards = 0;
  std::size_t fail_at = static_cast<std::size_t>(-1); ///< that forward throws std::runtime_error
  Bytes used;
  std::size_t poisoned = 0;
  std::size_t others_first = 0; ///< additions with the other copy's gradients first

  const runtime::ChunkSizes& sizes() const override { return sizes_; }

  void* allocate(Bytes bytes) override {
    if (bytes == Bytes{}) return nullptr;
    if (used + bytes > capacity) throw std::bad_alloc{};
    used += bytes;
    return std::malloc(static_cast<std::size_t>(bytes.count()));
  }
  void release(void* memory, Bytes bytes) noexcept override {
    used -= bytes;
    std::free(memory);
  }
  void fill(void* memory, int byte, Bytes bytes) override {
    if (byte == 0xff) ++poisoned;
    std::memset(memory, byte, static_cast<std::size_t>(bytes.count()));
  }
  void copy(void* to, const void* from, Bytes bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes.count()));
  }
  std::vector<float> read_gradients(const runtime::ChunkState& state) override { return {get(state.gradients)}; }
  std::vector<float> read_parameters(const runtime::ChunkState& state) override { return {get(state.parameters)}; }
  void write_gradients(const runtime::ChunkState& state, const std::vector<float>& gradients) override {
    put(state.gradients, gradients[0]);
  }

  void initialise(const runtime::ChunkState& state, ChunkId chunk) override {
    put(state.parameters, static_cast<float>(index(chunk) + 2));
    put(state.gradients, 0);
  }
  void make_input(MicrobatchId microbatch, void* x) override { put(x, static_cast<float>(index(microbatch) + 1)); }

  void forward(const void* parameters, const void* x, void* y, const runtime::Stash& stash) override {
    if (forwards++ == fail_at) throw std::runtime_error{"the kernel failed"};
    put(stash.for_weight, get(x));
    put(y, get(parameters) * get(x));
  }
  void loss(MicrobatchId /*microbatch*/, const void* y, const runtime::Stash& stash) override {
    losses_ += static_cast<double>(get(y));
    put(stash.for_weight, 1, 1);
  }
  void input_grad(const void* parameters, const void* dy, void* dx, const runtime::Stash& stash) override {
    if (dy != nullptr) put(stash.for_weight, get(dy), 1);
    if (dx != nullptr) put(dx, get(parameters) * get(stash.for_weight, 1));
  }
  void weight_grad(const runtime::Stash& stash, void* gradients) override {
    put(gradients, get(gradients) + get(stash.for_weight) * get(stash.for_weight, 1));
  }
  void zero_gradients(void* gradients) override { put(gradients, 0); }
  void optimizer_step(const runtime::ChunkState& state, std::size_t /*number*/, std::size_t microbatches) override {
    put(state.parameters, get(state.parameters) - get(state.gradients) / static_cast<float>(microbatches));
  }
  void add_gradients(void* gradients, const void* others, bool others_come_first) override {
    if (others_come_first) ++others_first;
    const float first = others_come_first ? get(others) : get(gradients);
    const float second = others_come_first ? get(gradients) : get(others);
    put(gradients, first + second);
  }

  void begin_step() override {
    stamps_.clear();
    losses_ = 0;
  }
  runtime::Stamp stamp() override {
    stamps_.push_back(now());
    return stamps_.size() - 1;
  }
  void hold(runtime::Stamp since, Duration length) override {
    std::this_thread::sleep_for(Duration{stamps_[since]} + length - Duration{now()});
  }
  void synchronize() override {}
  std::vector<std::int64_t> stamps() override { return stamps_; }
  double losses() override { return losses_; }
  std::optional<Duration> cpu_time() override {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds{time.tv_sec} + Duration{time.tv_nsec};
  }

private:
  static std::int64_t now() {
    return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  static float get(const void* memory, std::size_t at = 0) {
    float value = 0;
    std::memcpy(&value, static_cast<const char*>(memory) + at * sizeof value, sizeof value);
    return value;
  }
  static void put(void* memory, float value, std::size_t at = 0) {
    std::memcpy(static_cast<char*>(memory) + at * sizeof value, &value, sizeof value);
  }

  runtime::ChunkSizes sizes_;
  std::vector<std::int64_t> stamps_;
  double losses_ = 0;
};

} // namespace ppsim::test
