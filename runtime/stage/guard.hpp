#pragma once
// Guard: a thread that ends this process, with a message, on a signal from outside or if an operation that cannot be
// interrupted takes too long.

#include "ppsim/base/units.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace ppsim::runtime {

/// Handles SIGTERM, by which mpirun ends all processes after one is lost. Threads started later leave the signal to
/// this one.
class Guard {
public:
  Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard();

  /// Sets the message about an end from outside, if any. Called every `look_every` and, with true, at a SIGTERM, until
  /// it returns one. Called on the guard's thread.
  void set_last_words(std::function<std::optional<std::string>(bool is_ending)> words);
  /// How to end the process; by default only this one.
  void set_end(std::function<void()> end);
  /// Ends the process unless the limit is lifted in time; `what` names what took too long.
  void set_limit(Duration limit, std::string what);
  void lift_limit();
  /// Prints nothing from now on.
  void be_quiet() { quiet_ = true; }
  /// Whether this process was just suspended (SIGSTOP), so that it missed events. Detected within `look_every` after it
  /// continues, for as long as it takes to end the processes of a run that has failed without it.
  [[nodiscard]] bool stood_still() const;
  static constexpr std::chrono::milliseconds look_every{100};

private:
  void watch();
  void look(bool is_ending);
  void check_limit();

  std::mutex mutex_;
  std::function<std::optional<std::string>(bool)> words_;
  std::function<void()> end_;
  std::optional<std::chrono::steady_clock::time_point> until_;
  std::string what_;
  std::atomic<bool> quiet_ = false, done_ = false;
  std::atomic<std::chrono::steady_clock::time_point> woke_{std::chrono::steady_clock::time_point::min()};
  std::jthread watcher_;
};

} // namespace ppsim::runtime
