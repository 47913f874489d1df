#pragma once
// When a set of tasks on one machine can have ended at the earliest, as tasks come in one by one.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace ppsim::synthesis {

/// The end of the tasks run by rising earliest start, each as early as may be, which no order of them beats. A task
/// takes the first free time from its start on, piece by piece; pieces that are full are joined to what is after them
/// (Fahimi and Quimper, Linear-Time Filtering Algorithms for the Disjunctive Constraint, AAAI 2014), so that `insert`
/// takes hardly more than O(1) on average.
class EarliestEnd {
public:
  static constexpr std::int64_t none = std::int64_t{-1} << 62U;

  /// Empty, for tasks whose earliest starts are these, which rise.
  template <class Starts>
  void reset(const Starts& starts) {
    const auto size = static_cast<std::size_t>(std::ranges::size(starts));
    start_.resize(size + 1);
    std::ranges::copy(starts, start_.begin());
    start_.back() = std::numeric_limits<std::int64_t>::max();
    free_ = start_;
    piece_.resize(size + 1);
    std::iota(piece_.begin(), piece_.end(), std::uint32_t{0});
    end_ = none;
  }
  /// The task whose earliest start is number `position`.
  void insert(std::size_t position, std::int64_t duration) {
    end_ = std::max(end_, start_[position]);
    auto at = find(static_cast<std::uint32_t>(position));
    while (duration > 0) {
      const std::int64_t taken = std::min(duration, start_[at + 1] - free_[at]);
      free_[at] += taken;
      duration -= taken;
      end_ = std::max(end_, free_[at]);
      if (free_[at] == start_[at + 1]) at = find(piece_[at] = at + 1);
    }
  }
  /// Of all that was inserted; `none` where nothing was.
  [[nodiscard]] std::int64_t end() const { return end_; }

private:
  /// The first piece from `at` on that is not joined to the one after it.
  std::uint32_t find(std::uint32_t at) {
    while (piece_[at] != at) at = piece_[at] = piece_[piece_[at]];
    return at;
  }

  std::vector<std::int64_t> start_; // of each piece, which ends where the next one starts
  std::vector<std::int64_t> free_;  // from when on the piece is free
  std::vector<std::uint32_t> piece_;
  std::int64_t end_ = none;
};

} // namespace ppsim::synthesis
