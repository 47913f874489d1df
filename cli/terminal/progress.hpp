#pragma once
// Progress: one line on a terminal while many runs take long.

#include "ppsim/study/compare.hpp"

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace ppsim::cli {

/// "30 of 120 schedules, 6 a second, 15 s left": after `done` of so many (0: unknown) in that time.
[[nodiscard]] std::string progress_line(std::size_t done, std::size_t of, std::string_view what,
                                        std::chrono::steady_clock::duration elapsed);

/// Counts what is done. Where stderr is a terminal and more than a second has passed, it shows so in one line, which is
/// gone when the object is.
class Progress {
public:
  /// `what`: "schedules".
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  Progress(Progress&&) = delete;
  Progress& operator=(Progress&&) = delete;
  /// One more is done, of so many (0: unknown). May be called from any thread.
  void step(std::size_t count);

private:
  std::string what_;
  bool terminal_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::size_t done_ = 0;
  bool shown_ = false;
};

/// What tells `progress` of each simulation.
[[nodiscard]] inline Watch watched_by(Progress& progress) {
  return [&progress](std::size_t of) { progress.step(of); };
}

/// compare() with its progress, which is gone when it returns.
[[nodiscard]] ComparedRuns compare_watched(const RunSpec& spec, std::size_t threads);

/// Shows a line that says how far a long job is, where stderr is a terminal and more than a second has passed; ten
/// times a second at most. It is gone when the object is.
class ProgressLine {
public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ProgressLine(ProgressLine&&) = delete;
  ProgressLine& operator=(ProgressLine&&) = delete;
  void show(const std::string& line);

private:
  bool terminal_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_{};
  bool shown_ = false;
};

/// Shows how many of many like things are done, in the same way.
class ProgressCount {
public:
  /// `what`: "steps".
  explicit ProgressCount(std::string what) : what_{std::move(what)} {}
  void show(std::size_t done, std::size_t of);

private:
  std::string what_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  ProgressLine line_;
};

/// Shows which share of one long job is done, in the same way.
class ProgressShare {
public:
  /// `what`: "read".
  explicit ProgressShare(std::string what) : what_{std::move(what)} {}
  /// `share`: from 0 to 1.
  void show(double share);

private:
  std::string what_;
  ProgressLine line_;
};

} // namespace ppsim::cli
