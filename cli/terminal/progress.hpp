#pragma once
// Progress: one line on a terminal while many runs take long.

#include "ppsim/study/compare.hpp"

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace ppsim::cli {

/// "30 of 120 schedules, 6 a second, 15 s left": after `done` of `of` (0: unknown) in that time.
[[nodiscard]] std::string progress_line(std::size_t done, std::size_t of, std::string_view what,
                                        std::chrono::steady_clock::duration elapsed);

/// Counts finished runs. If stderr is a terminal, it shows them in one line after 1 s; the destructor removes the line.
class Progress {
public:
  /// `what`: "schedules".
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  Progress(Progress&&) = delete;
  Progress& operator=(Progress&&) = delete;
  /// One more is done, of `count` (0: unknown). May be called from any thread.
  void step(std::size_t count);

private:
  std::string what_;
  bool terminal_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::size_t done_ = 0;
  bool shown_ = false;
};

/// Reports each simulation to `progress`.
[[nodiscard]] inline Watch watched_by(Progress& progress) {
  return [&progress](std::size_t of) { progress.step(of); };
}

/// compare() with a progress line.
[[nodiscard]] ComparedRuns compare_watched(const RunSpec& spec, std::size_t threads);

/// Shows a progress line if stderr is a terminal, after 1 s, at most ten times a second. The destructor removes it.
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

/// Shows the number of finished items in the same way.
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

/// Shows the finished share of one job in the same way.
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
