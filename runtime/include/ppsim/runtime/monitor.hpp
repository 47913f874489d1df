#pragma once
// Monitor: tracks what every stage of this process does, and stops runs without progress.

#include "ppsim/runtime/program.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace ppsim::runtime {

/// What a stage does. preparing: creating devices and connections before its first step.
enum class Doing : std::uint8_t {
  nothing,
  computing,
  waiting_for_input,
  waiting_for_slot,
  finishing,
  meeting,
  preparing
};

/// 0 to `count` - 1: all stages, for a Monitor in a run of one process.
[[nodiscard]] std::vector<StageId> all_stages(std::size_t count);

/// Watches the stages of this process. Stages report what they do. If no stage reports anything new for `limit`, the
/// monitor stops the run: stopped() turns true, waits give up, and failure() lists where each stage waits and for whom.
/// Stages that wait for no other stage of this process come first. The limit does not apply while all stages do nothing
/// (before they begin, after they end).
class Monitor {
public:
  /// `stages`: those that run in this process. `limit` must be longer than any task; while a stage prepares, at least
  /// `preparation_limit` applies. If a stage is still active `grace` after a stop (a task that never returns), the
  /// watching thread calls `on_stuck` once, which has to end the process. Throws Error (failed) if the system cannot
  /// start the watching thread.
  Monitor(const Program& program, std::vector<StageId> stages, Duration limit, Duration grace,
          std::function<void(const std::string& what)> on_stuck, Duration preparation_limit = std::chrono::seconds{60});
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;
  Monitor(Monitor&&) = delete;
  Monitor& operator=(Monitor&&) = delete;
  ~Monitor();

  /// Reports what `stage` does now, at position `task` of its program. At most one thread at a time per stage.
  void note(StageId stage, Doing doing, std::size_t task = 0);
  [[nodiscard]] bool stopped() const { return stopped_.load(std::memory_order_acquire); }
  /// Stops the run because of `what`; keeps the first reason.
  void stop(std::string what);
  /// The reason for the stop.
  [[nodiscard]] std::string failure() const;
  /// "stage 1 waits for the activation of 0F3 from stage 0".
  [[nodiscard]] std::string describe(StageId stage) const;

private:
  struct State;
  class Snapshot;
  struct Look {
    bool has_moved = false;
    bool is_idle = true;
    bool prepares = false;
  };
  void watch();
  /// What all stages have done since `words` was read; updates `words`.
  [[nodiscard]] Look look(std::vector<std::uint64_t>& words) const;
  /// What all stages do, in words.
  [[nodiscard]] std::string standstill() const;
  const Program& program_;
  std::vector<StageId> stages_;
  Duration limit_, grace_, preparation_limit_;
  std::function<void(const std::string&)> on_stuck_;
  std::vector<State> states_; ///< by stage
  std::atomic<bool> stopped_{false};
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  std::string failure_;
  bool done_ = false;
  std::jthread watcher_; ///< last, so that the thread ends before the other members are destroyed
};

} // namespace ppsim::runtime
