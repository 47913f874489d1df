#pragma once
// Both ends: tasks that cannot start early, however long the step (rule 8 of docs/synthesis.md), from both of its ends
// inwards.

#include "ppsim/synthesis/search.hpp"

#include <functional>

#include "windows.hpp"

namespace ppsim::synthesis {

/// Tries the tasks of one microbatch after the other with the windows of a few before it, those that can share a
/// stage's memory. What they refute no order does.
class BothEnds {
public:
  /// Tries both views side by side if `threads` is above 1, which changes nothing.
  BothEnds(const Views& views, std::size_t threads);

  /// Continues where the last call ended, for about so many `steps`, or until `goes_on` is false, which two threads may
  /// ask. Raises the starts of `root`, what holds of all orders, of which there are some. Whether there were any to
  /// raise.
  bool extend(Windows& root, std::uint64_t steps, const std::function<bool()>& goes_on);
  /// All steps of windows so far.
  [[nodiscard]] std::uint64_t steps() const { return sides_[0].steps + sides_[1].steps + root_steps_; }
  /// Whether nothing is left to try.
  [[nodiscard]] bool are_done() const { return next_ == views_.m; }
  /// Whose windows are used.
  [[nodiscard]] std::size_t microbatches() const { return few_views_.m; }
  /// What was found, each under those before.
  [[nodiscard]] const std::vector<Case>& cases() const { return cases_; }

private:
  struct Reach {
    std::size_t few = 1;   ///< microbatches whose windows are used
    std::size_t first = 0; ///< that is tried
  };
  /// How the tasks of a sequence fare.
  struct Pace {
    std::int64_t gain = 0; ///< by which the last one starts later than was known
    std::size_t pause = 0; ///< microbatches to leave out when one brought nothing
    std::size_t left = 0;  ///< of them
  };
  /// What is found in a view.
  struct Side {
    std::vector<Pace> paces;    ///< by sequence
    std::vector<Case> cases;    ///< of the microbatch in hand
    std::optional<Windows> few; ///< near it
    std::size_t tried = 0;      ///< of its tasks
    std::size_t quiet = 0;      ///< microbatches since the last case
    std::uint64_t steps = 0;
  };

  static Reach reach_of(const Views& views);
  BothEnds(const Views& views, std::size_t threads, Reach reach);
  void try_microbatch(const Windows& root, std::size_t d, std::size_t first, std::uint64_t steps,
                      const std::function<bool()>& goes_on);
  bool begin(const Windows& root, std::size_t d, std::size_t first);
  void try_task(std::size_t d, std::uint32_t sequence, std::size_t first, const std::function<bool()>& goes_on);
  void learn(Windows& root, std::size_t first);

  const Views& views_;
  std::size_t threads_;
  Instance few_; ///< the same for few microbatches
  Views few_views_;
  Windows few_root_;
  std::int64_t longest_; ///< every order has ended by then
  std::int64_t unit_;    ///< the least time that is tried
  std::array<Side, 2> sides_;
  std::vector<Case> cases_;
  std::size_t next_ = 0; ///< microbatch
  std::uint64_t root_steps_ = 0;
};

} // namespace ppsim::synthesis
