#pragma once
// Counter: a monotonic number that threads wait for.

#include "ppsim/base/units.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace ppsim::runtime {

/// The interval at which a sleeping thread checks whether the run was stopped.
inline constexpr Duration stop_check = std::chrono::milliseconds{5};

/// A monotonic number. Writes before raise() are visible after wait_for().
class Counter {
public:
  void raise() {
    // Sequentially consistent, like the sleeper's count: either the sleeper sees the new value or this thread sees the
    // sleeper.
    value_.fetch_add(1);
    if (sleepers_.load() == 0) return;
    { const std::lock_guard lock{mutex_}; } // a thread that saw the old value under the lock is asleep now
    raised_.notify_all();
  }
  [[nodiscard]] std::uint64_t value() const { return value_.load(); }

  /// Waits until it is `target` or more. False if stopped() returned true before.
  template <class Stopped>
  [[nodiscard]] bool wait_for(std::uint64_t target, Duration spin, const Stopped& stopped) {
    const auto until = std::chrono::steady_clock::now() + spin;
    do
      if (value_.load() >= target) return true;
    while (spin > Duration{0} && std::chrono::steady_clock::now() < until);
    std::unique_lock lock{mutex_};
    sleepers_.fetch_add(1);
    while (value_.load() < target && !stopped()) raised_.wait_for(lock, stop_check);
    sleepers_.fetch_sub(1);
    return value_.load() >= target;
  }

private:
  alignas(64) std::atomic<std::uint64_t> value_{0};
  std::atomic<std::uint32_t> sleepers_{0};
  std::mutex mutex_;
  std::condition_variable raised_;
};

} // namespace ppsim::runtime
