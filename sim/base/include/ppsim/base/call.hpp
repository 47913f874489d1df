#pragma once
// Call: work that somebody waits for who may want it to end early. Programs that hold ppsim as a library make one; the
// command line does not.

#include <atomic>

namespace ppsim {

/// Thrown out of work that is to end early. No std::exception, so that nobody takes it for a result.
struct Stopped {};

/// One call into the library. All threads that work for it know of it (for_each_index()).
class Call {
public:
  Call() = default;
  virtual ~Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  Call(Call&&) = delete;
  Call& operator=(Call&&) = delete;
  /// From any thread: the next check_stop() throws.
  void stop() noexcept { stopped_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool is_stopped() const noexcept { return stopped_.load(std::memory_order_relaxed); }

private:
  std::atomic<bool> stopped_{false};
};

namespace detail {
inline constinit thread_local Call* current_call = nullptr;
} // namespace detail

/// The one that this thread works for; null where there is none.
[[nodiscard]] inline Call* current_call() {
  return detail::current_call;
}
/// While it exists, this thread works for `call`.
class CallScope {
public:
  explicit CallScope(Call* call) : before_{detail::current_call} { detail::current_call = call; }
  ~CallScope() { detail::current_call = before_; }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  CallScope(CallScope&&) = delete;
  CallScope& operator=(CallScope&&) = delete;

private:
  Call* before_;
};

/// Throws Stopped where the call is to end. For loops of which one round is short, and a thousand are not.
inline void check_stop() {
  if (const Call* const call = current_call(); call != nullptr && call->is_stopped()) throw Stopped{};
}

} // namespace ppsim
