#pragma once
// Guard: a thread that ends this process, with a word, when it is told to from outside or when something that cannot
// be asked to give up takes too long.

#include "ppsim/base/units.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace ppsim::runtime {

/// Takes SIGTERM, by which mpirun ends all processes when one is gone, from when it is made: threads that others start
/// later leave it to this one.
class Guard {
public:
  Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard();

  /// What is to be said of an end from outside, if anything. Asked every `look_every` and, with true, at a SIGTERM,
  /// until there is something. Called from the guard's thread.
  void set_last_words(std::function<std::optional<std::string>(bool is_ending)> words);
  /// How to end the process; by default itself alone.
  void set_end(std::function<void()> end);
  /// Unless it is lifted in time, ends the process: `what` is what took too long.
  void set_limit(Duration limit, std::string what);
  void lift_limit();
  /// Says nothing from now on.
  void be_quiet() { quiet_ = true; }
  /// Whether this process has just stood still (SIGSTOP): then it knows nothing of what happened. Known within
  /// `look_every` of its waking up, for as long as it takes to end the processes of a run that has failed without it.
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
