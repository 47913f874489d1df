#include "queue.hpp"

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "check.hpp"
#include "driver.hpp"

namespace ppsim::runtime::gpu {

Memory allocate_memory(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  void* memory = nullptr;
  PPSIM_GPU_CHECK(cudaMalloc(&memory, bytes));
  return Memory{static_cast<std::byte*>(memory)};
}

Event Queue::make_event(bool timed) const {
  if (context_ != nullptr) PPSIM_GPU_CHECK(driver().push(context_));
  cudaEvent_t event = nullptr;
  const cudaError_t status = cudaEventCreateWithFlags(&event, timed ? cudaEventDefault : cudaEventDisableTiming);
  if (context_ != nullptr) {
    CUcontext popped = nullptr;
    PPSIM_GPU_CHECK(driver().pop(&popped));
  }
  PPSIM_GPU_CHECK(status);
  return Event{event};
}

void Queue::wait(const Event& event) const {
  // "use the most recently captured state at the time of the API call, and are not affected by later calls to
  // cudaEventRecord": an event can be used again for the next transfer.
  PPSIM_GPU_CHECK(cudaStreamWaitEvent(get(), event.get(), 0));
}

void Queue::record(const Event& event) const {
  PPSIM_GPU_CHECK(cudaEventRecord(event.get(), get()));
}

void Queue::synchronize() const {
  PPSIM_GPU_CHECK(cudaStreamSynchronize(get()));
}

namespace {

bool is_success(cudaError_t status) {
  if (status == cudaSuccess) return true;
  if (status != cudaErrorNotReady) PPSIM_GPU_CHECK(status);
  static_cast<void>(cudaGetLastError()); // "not ready" is also remembered
  return false;
}

} // namespace

bool is_done(const Queue& queue) {
  return is_success(cudaStreamQuery(queue.get()));
}

bool is_done(const Event& event) {
  return is_success(cudaEventQuery(event.get()));
}

bool is_busy(const Queue& queue) noexcept {
  const bool busy = cudaStreamQuery(queue.get()) != cudaSuccess;
  static_cast<void>(cudaGetLastError()); // otherwise the next launch would return it
  return busy;
}

void wait_for(const Queue& queue, const std::function<bool()>& stopped, const char* what) {
  using std::chrono::steady_clock;
  const auto begin = steady_clock::now();
  while (!is_done(queue)) {
    if (stopped && stopped()) throw std::runtime_error{std::string{"stopped while waiting for "} + what};
    if (steady_clock::now() - begin > std::chrono::milliseconds{1})
      std::this_thread::sleep_for(std::chrono::microseconds{20});
  }
}

Queue make_queue(int priority) {
  cudaStream_t stream = nullptr;
  PPSIM_GPU_CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority));
  return {Stream{stream}, nullptr};
}

} // namespace ppsim::runtime::gpu
