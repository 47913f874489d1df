#pragma once
// Monitor: what every stage of this process is doing, and an end for runs that stand still.

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

/// What a stage is doing. preparing: making devices and connections, before its first step.
enum class Doing : std::uint8_t {
  nothing,
  computing,
  waiting_for_input,
  waiting_for_slot,
  finishing,
  meeting,
  preparing
};

/// 0 to `count` - 1: the stages of a Monitor where one process runs them all.
[[nodiscard]] std::vector<StageId> all_stages(std::size_t count);

/// Watches the stages of this process. A stage says what it does; when no stage has done anything new for `limit`, the
/// run is stopped: stopped() turns true, waits give up, and failure() says which stage stands where, waiting for whom:
/// first those that wait for no other one here. While all do nothing (before they begin, when they have ended), none is
/// missed.
class Monitor {
public:
  /// `stages`: those that run in this process. `limit` is longer than any task; while a stage prepares, which may take
  /// longer than a task and says nothing, the limit is no less than `preparation_limit`. `on_stuck` is called once,
  /// from the watching thread, when by `grace` after they were stopped a stage still does something (a task that never
  /// returns) and this has not been destroyed: the process has to be ended from there. Throws Error (failed) where
  /// the system starts no thread to watch.
  Monitor(const Program& program, std::vector<StageId> stages, Duration limit, Duration grace,
          std::function<void(const std::string& what)> on_stuck, Duration preparation_limit = std::chrono::seconds{60});
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;
  Monitor(Monitor&&) = delete;
  Monitor& operator=(Monitor&&) = delete;
  ~Monitor();

  /// `stage` is doing this now, with the task at that position of its program. By one thread at a time for each stage.
  void note(StageId stage, Doing doing, std::size_t task = 0);
  [[nodiscard]] bool stopped() const { return stopped_.load(std::memory_order_acquire); }
  /// Stops the run because of `what`; the first reason is kept.
  void stop(std::string what);
  /// Why it was stopped.
  [[nodiscard]] std::string failure() const;
  /// "stage 1 waits for the activation of 0F3 from stage 0".
  [[nodiscard]] std::string describe(StageId stage) const;

private:
  struct State;
  class Standing;
  struct Look {
    bool has_moved = false;
    bool is_idle = true;
    bool prepares = false;
  };
  void watch();
  /// What all stages did since `words` were seen, which it brings up to date.
  [[nodiscard]] Look look(std::vector<std::uint64_t>& words) const;
  /// All stages, one after another in words.
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
  std::jthread watcher_; ///< last, so that it has ended before the rest goes
};

} // namespace ppsim::runtime
