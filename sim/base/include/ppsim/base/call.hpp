#pragma once
// Call: work that its caller can stop early. Programs that use ppsim as a library create one; the command line does
// not.

#include <atomic>

namespace ppsim {

/// Thrown to end stopped work. Not a std::exception, so that no handler mistakes it for a result.
struct Stopped {};

/// One call into the library, shared by all threads that work for it (for_each_index()).
class Call {
public:
  Call() = default;
  virtual ~Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  Call(Call&&) = delete;
  Call& operator=(Call&&) = delete;
  /// Makes the next check_stop() throw. Callable from any thread.
  void stop() noexcept { stopped_.store(true, std::memory_order_relaxed); }
  /// Asked often, from any thread that works for it.
  [[nodiscard]] virtual bool is_stopped() const { return stopped_.load(std::memory_order_relaxed); }

private:
  std::atomic<bool> stopped_{false};
};

namespace detail {
inline constinit thread_local Call* current_call = nullptr;
} // namespace detail

/// The call that this thread works for; null if there is none.
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

/// Throws Stopped if the call was stopped. For loops whose single iterations are short.
inline void check_stop() {
  if (const Call* const call = current_call(); call != nullptr && call->is_stopped()) throw Stopped{};
}

} // namespace ppsim
