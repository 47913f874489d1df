#pragma once
// Which range of shared work is begun next, how long it is, and what was made, put in order. Without messages and
// without a clock, so that a test can model ten thousand processes.

#include "ppsim/runtime/shared_work.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ppsim::runtime {

class WorkQueue {
public:
  /// Since any start, the same for all calls.
  using Moment = std::chrono::nanoseconds;

  /// So many numbers may be made, or be in work, while the one before them is not, and the rest of a range.
  static constexpr std::uint64_t most_ahead = 1 << 16;
  static constexpr std::uint64_t longest_range = 1024;
  /// A range lasts about so long: then messages cost next to nothing, and at the end nobody waits long for another.
  static constexpr std::chrono::milliseconds short_range{20}, long_range{100};

  /// `shortest`, `longest`: limits of a range, the last one may be shorter.
  explicit WorkQueue(WorkRange all, std::uint64_t shortest = 1, std::uint64_t longest = longest_range)
      : all_{all}, due_{all.begin}, shortest_{shortest}, longest_{longest}, length_{shortest} {}

  /// For somebody who has nothing to do. None where all is begun or nothing more is wanted, and while too much is
  /// ahead.
  [[nodiscard]] std::optional<WorkRange> next(Moment now);
  /// What was made of a range that next() gave; `take` gets all that is due by it.
  void put(WorkRange range, std::string made, Moment now, const TakeResult& take);
  /// Somebody who got it with next() makes nothing of it: another one is to.
  void give_back(WorkRange range) { given_back_.push_back(range); }
  /// All is taken, or no more is wanted. Stretches may be in work still.
  [[nodiscard]] bool is_over() const { return stopped_ || due_ == all_.end; }

private:
  void adapt_length(WorkRange range, Moment took);

  WorkRange all_; ///< what was not begun
  std::uint64_t due_;
  std::uint64_t shortest_, longest_, length_;
  bool stopped_ = false;
  std::vector<WorkRange> given_back_;
  std::map<std::uint64_t, Moment> begun_;
  std::map<std::uint64_t, std::pair<WorkRange, std::string>> made_;
};

} // namespace ppsim::runtime
