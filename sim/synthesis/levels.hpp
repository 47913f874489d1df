#pragma once
// Levels: cases from both ends of the step, first with a few stages, then with more, then with all.

#include <memory>

#include "ends.hpp"

namespace ppsim::synthesis {

/// What is left of an instance if only some of its stages run one task at a time and have a capacity: tasks of the
/// others are lags and tails. What no order of it does none of the whole does.
struct FewStages {
  Instance instance;
  std::vector<std::uint32_t> sequences; ///< which they are in the whole
};
[[nodiscard]] FewStages keep_stages(const Views& views, std::span<const std::uint32_t> stages);

/// The stages to begin with, and those after them: the one that a microbatch leaves for the longest for its room, and
/// those that it leaves for the shortest, where it turns. None where there are few, or where several sequences of one
/// take memory (chunks). `root`: what holds of all orders.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> stages_of_levels(const Views& views, const Windows& root);

/// Cases from both ends: what a few stages show in few steps is known when all are tried.
class Levels {
public:
  /// Tries both views side by side if `threads` is above 1, which changes nothing. `root`: as of extend(), of which
  /// there are orders.
  Levels(const Views& views, const Windows& root, std::size_t threads);

  /// As BothEnds::extend().
  bool extend(Windows& root, std::uint64_t steps, const std::function<bool()>& goes_on);
  /// All steps of windows so far.
  [[nodiscard]] std::uint64_t steps() const { return steps_ + ends().steps(); }
  /// Whether no level is left.
  [[nodiscard]] bool has_all_stages() const { return whole_.has_value(); }
  /// Whether one end of all stages has been left for the other.
  [[nodiscard]] bool is_one_done() const { return has_all_stages() && whole_->is_one_done(); }
  /// Whether nothing is left to try.
  [[nodiscard]] bool are_done() const { return has_all_stages() && whole_->are_done(); }
  /// As BothEnds::may_reach_repeats(), of the stages in hand.
  [[nodiscard]] bool may_reach_repeats(std::uint64_t steps) const { return ends().may_reach_repeats(steps); }
  /// What was found, each under those before.
  [[nodiscard]] const std::vector<Case>& cases() const { return cases_; }

private:
  struct Level {
    Level(FewStages of, std::size_t threads, std::int64_t longest);
    FewStages few;
    Views views;
    Windows root;
    BothEnds ends;
  };
  [[nodiscard]] const BothEnds& ends() const { return whole_ ? *whole_ : level_->ends; }
  void begin_next();
  bool extend_level(Windows& root, std::uint64_t steps, const std::function<bool()>& goes_on);
  bool extend_whole(Windows& root, std::uint64_t steps, const std::function<bool()>& goes_on);

  const Views& views_;
  std::size_t threads_;
  std::vector<std::vector<std::uint32_t>> stages_; ///< of each level
  std::size_t begun_ = 0;                          ///< of them
  std::unique_ptr<Level> level_;                   ///< in hand
  std::optional<BothEnds> whole_;                  ///< once all have been
  std::vector<Case> cases_;
  std::uint64_t steps_ = 0; ///< of what is no longer in hand
};

} // namespace ppsim::synthesis
