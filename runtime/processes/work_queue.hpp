#pragma once
// The next range of shared work, its length, and the results in order. Uses neither messages nor a clock, so that a
// test can model ten thousand processes.

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
  /// Time since any origin, the same for all calls.
  using Moment = std::chrono::nanoseconds;

  /// The most numbers that may be computed or in progress after the first unfinished one, plus the rest of a range.
  static constexpr std::uint64_t most_ahead = 1 << 16;
  static constexpr std::uint64_t longest_range = 1024;
  /// The target duration of a range: long enough to make messages negligible, short enough that no process waits long
  /// at the end.
  static constexpr std::chrono::milliseconds short_range{20}, long_range{100};

  /// `shortest`, `longest`: limits of a range's length; the last one may be shorter.
  explicit WorkQueue(WorkRange all, std::uint64_t shortest = 1, std::uint64_t longest = longest_range)
      : all_{all}, due_{all.begin}, shortest_{shortest}, longest_{longest}, length_{shortest} {}

  /// The next range for an idle process. None if all ranges are assigned, no more results are wanted, or too many
  /// results are ahead.
  [[nodiscard]] std::optional<WorkRange> next(Moment now);
  /// Stores the result of a range from next(); `take` gets all results that are next in order.
  void put(WorkRange range, std::string made, Moment now, const TakeResult& take);
  /// Returns a range from next() without a result, for another process.
  void give_back(WorkRange range) { given_back_.push_back(range); }
  /// Whether all results are taken, or no more are wanted. Ranges may still be in progress.
  [[nodiscard]] bool is_over() const { return stopped_ || due_ == all_.end; }

private:
  void adapt_length(WorkRange range, Moment took);

  WorkRange all_; ///< the part that is not assigned yet
  std::uint64_t due_;
  std::uint64_t shortest_, longest_, length_;
  bool stopped_ = false;
  std::vector<WorkRange> given_back_;
  std::map<std::uint64_t, Moment> begun_;
  std::map<std::uint64_t, std::pair<WorkRange, std::string>> made_;
};

} // namespace ppsim::runtime
