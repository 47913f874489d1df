#include "clock.hpp"

#include "ppsim/runtime/monotonic.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "check.hpp"
#include "kernels.hpp"

namespace ppsim::runtime::gpu {

Clock::Clock(Queue queue, Kind kind) : queue_{std::move(queue)}, kind_{kind} {
  if (kind_ == Kind::kernels) base_memory_ = allocate_memory(sizeof(std::uint64_t));
}

void Clock::stamp_base() {
  if (kind_ == Kind::kernels) {
    store_globaltimer(reinterpret_cast<std::uint64_t*>(base_memory_.get()), queue_.get());
    queue_.synchronize();
    return;
  }
  base_event_ = queue_.make_event(true);
  queue_.record(base_event_);
  queue_.synchronize();
}

void Clock::align() {
  constexpr int tries = 50;
  Event best_event;
  std::int64_t tightest = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < tries; ++i) {
    const std::int64_t before = monotonic_now();
    stamp_base();
    const std::int64_t after = monotonic_now();
    if (after - before >= tightest) continue;
    tightest = after - before;
    base_host_ = before + tightest / 2;
    if (kind_ == Kind::events)
      best_event = std::move(base_event_);
    else
      PPSIM_GPU_CHECK(
          cudaMemcpy(&base_globaltimer_, base_memory_.get(), sizeof base_globaltimer_, cudaMemcpyDeviceToHost));
  }
  base_event_ = std::move(best_event);
  error_ = std::max(error_, (tightest + 1) / 2);
  ++alignments_;
}

std::int64_t Clock::host_time(const Event& event) const {
  float milliseconds = 0;
  PPSIM_GPU_CHECK(cudaEventElapsedTime(&milliseconds, base_event_.get(), event.get()));
  return base_host_ + std::llround(double{milliseconds} * 1e6);
}

std::int64_t Clock::host_time(std::uint64_t globaltimer) const {
  return base_host_ + static_cast<std::int64_t>(globaltimer - base_globaltimer_);
}

void Stamps::begin_step() {
  if (alignment_ == clock_.alignments()) clock_.align();
  alignment_ = clock_.alignments();
  size_ = 0;
}

void Stamps::reserve(std::size_t count) {
  if (clock_.kind() == Clock::Kind::events) {
    while (events_.size() < count) events_.push_back(queue_.make_event(true));
  } else {
    constexpr std::size_t bytes = block_size * sizeof(std::uint64_t);
    while (blocks_.size() * block_size < count) {
      blocks_.push_back(allocate_memory(bytes));
      // Older than any stamp. Set here, because cudaMemset() would return before it ends, and this stream, which waits
      // for no other, could store a stamp before it.
      PPSIM_GPU_CHECK(cudaMemsetAsync(blocks_.back().get(), 0, bytes, queue_.get()));
      queue_.synchronize();
    }
  }
}

Stamp Stamps::add() {
  reserve(size_ + 1); // already reserved, unless there are more stamps than the program has
  if (clock_.kind() == Clock::Kind::events) {
    queue_.record(events_[size_]);
  } else {
    store_globaltimer(const_cast<std::uint64_t*>(address(size_)), queue_.get());
  }
  return size_++;
}

const std::uint64_t* Stamps::address(Stamp stamp) const {
  return reinterpret_cast<const std::uint64_t*>(blocks_[stamp / block_size].get()) + stamp % block_size;
}

bool Stamps::has_passed(Stamp stamp) const {
  if (clock_.kind() == Clock::Kind::events) return is_done(events_[stamp]);
  std::uint64_t found = 0;
  PPSIM_GPU_CHECK(cudaMemcpy(&found, address(stamp), sizeof found, cudaMemcpyDeviceToHost));
  return clock_.is_new(found);
}

std::vector<std::int64_t> Stamps::host_times() const {
  std::vector<std::int64_t> times(size_);
  if (clock_.kind() == Clock::Kind::events) {
    for (std::size_t i = 0; i < size_; ++i) times[i] = clock_.host_time(events_[i]);
    return times;
  }
  std::vector<std::uint64_t> raw(size_);
  for (std::size_t first = 0; first < size_; first += block_size)
    PPSIM_GPU_CHECK(cudaMemcpy(&raw[first], blocks_[first / block_size].get(),
                               std::min(block_size, size_ - first) * sizeof(std::uint64_t), cudaMemcpyDeviceToHost));
  std::ranges::transform(raw, times.begin(), [&](std::uint64_t stamp) { return clock_.host_time(stamp); });
  return times;
}

} // namespace ppsim::runtime::gpu
