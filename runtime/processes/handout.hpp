#pragma once
// Which stretch of shared work is begun next, how long it is, and what was made, put in order. Without messages and
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

class Handout {
public:
  /// Since any start, the same for all calls.
  using Moment = std::chrono::nanoseconds;

  /// So many numbers may be made, or be in work, while the one before them is not, and the rest of a stretch.
  static constexpr std::uint64_t most_ahead = 1 << 16;
  static constexpr std::uint64_t longest_stretch = 1024;
  /// A stretch lasts about so long: then messages cost next to nothing, and at the end nobody waits long for another.
  static constexpr std::chrono::milliseconds short_stretch{20}, long_stretch{100};

  /// `shortest`, `longest`: limits of a stretch, the last one may be shorter.
  explicit Handout(Stretch all, std::uint64_t shortest = 1, std::uint64_t longest = longest_stretch)
      : all_{all}, due_{all.begin}, shortest_{shortest}, longest_{longest}, length_{shortest} {}

  /// For somebody who has nothing to do. None where all is begun or nothing more is wanted, and while too much is
  /// ahead.
  [[nodiscard]] std::optional<Stretch> next(Moment now);
  /// What was made of a stretch that next() gave; `take` gets all that is due by it.
  void put(Stretch stretch, std::string made, Moment now, const TakeMade& take);
  /// Somebody who got it with next() makes nothing of it: another one is to.
  void give_back(Stretch stretch) { given_back_.push_back(stretch); }
  /// All is taken, or no more is wanted. Stretches may be in work still.
  [[nodiscard]] bool is_over() const { return stopped_ || due_ == all_.end; }

private:
  void adapt_length(Stretch stretch, Moment took);

  Stretch all_; ///< what was not begun
  std::uint64_t due_;
  std::uint64_t shortest_, longest_, length_;
  bool stopped_ = false;
  std::vector<Stretch> given_back_;
  std::map<std::uint64_t, Moment> begun_;
  std::map<std::uint64_t, std::pair<Stretch, std::string>> made_;
};

} // namespace ppsim::runtime
