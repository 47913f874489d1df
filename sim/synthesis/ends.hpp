#pragma once
// Both ends: tasks that cannot start early, however long the step (rule 8 of docs/synthesis.md), from both of its ends
// inwards.

#include "ppsim/synthesis/search.hpp"

#include <functional>

#include "near.hpp"

namespace ppsim::synthesis {

/// For a makespan for which there are orders. Adds the steps.
void apply_rules(Windows& windows, std::int64_t most, bool pairs, std::uint64_t& steps);

/// Tries the tasks of one microbatch after the other with the windows of a few before it, those that can share a
/// stage's memory. What they refute no order does.
class BothEnds {
public:
  /// Tries both views side by side if `threads` is above 1, which changes nothing. `longest`: every order has ended by
  /// then, also of more stages than `views` has.
  BothEnds(const Views& views, std::size_t threads, std::int64_t longest);

  /// Continues where the last call ended, for about so many `steps`, or until `goes_on` is false, which two threads may
  /// ask. Raises the starts of `root`, what holds of all orders, of which there are some. Whether there were any to
  /// raise.
  bool extend(Windows& root, std::uint64_t steps, const std::function<bool()>& goes_on);
  /// All steps of windows so far.
  [[nodiscard]] std::uint64_t steps() const { return sides_[0].steps + sides_[1].steps + root_steps_; }
  /// Whether nothing is left to try.
  [[nodiscard]] bool are_done() const { return is_done(sides_[0]) && is_done(sides_[1]); }
  /// Whether one end has been left for the other.
  [[nodiscard]] bool is_one_done() const { return is_done(sides_[0]) || is_done(sides_[1]); }
  /// Whether there are no cases yet, and at its pace so far so many more steps lead to microbatches that can repeat
  /// what others have shown.
  [[nodiscard]] bool may_reach_repeats(std::uint64_t steps) const;
  /// Whose windows are used.
  [[nodiscard]] std::size_t microbatches() const { return near_.views().m; }
  /// What was found, each under those before.
  [[nodiscard]] const std::vector<Case>& cases() const { return cases_; }

private:
  /// How the tasks of a sequence fare.
  struct Pace {
    std::int64_t gain = 0; ///< by which the last one starts later than was known
    std::size_t pause = 0; ///< microbatches to leave out when one brought nothing
    std::size_t left = 0;  ///< of them
  };
  /// What was known of a microbatch, and what was found.
  struct Finding {
    std::vector<std::int64_t> before, after; ///< starts, by sequence; at first, `after` is what is expected
    std::vector<Case> cases;
  };
  /// How much later all is than so many microbatches before.
  struct Shift {
    std::size_t period = 0;
    std::int64_t least = 0, spread = unlimited;
  };
  /// What is found in a view.
  struct Side {
    std::size_t d = 0;
    std::vector<Pace> paces;       ///< by sequence
    std::vector<Finding> findings; ///< by microbatch; of those before the first, nothing
    std::optional<Windows> root;   ///< all that is known, while its turn lasts
    std::optional<Windows> few;    ///< near the microbatch in hand
    std::size_t next = 0;          ///< the microbatch in hand
    std::size_t tried = 0;         ///< of its tasks
    std::size_t quiet = 0;         ///< microbatches since the last case
    std::size_t steady = 0;        ///< microbatches since those near one were not as much later as those before
    std::uint64_t steps = 0;
  };

  BothEnds(const Views& views, std::size_t threads, std::int64_t longest, Reach reach);
  [[nodiscard]] bool is_done(const Side& side) const { return side.next == views_.m; }
  [[nodiscard]] std::array<std::uint64_t, 2> shares_of(std::uint64_t steps) const;
  void extend(Side& side, std::uint64_t steps, const std::function<bool()>& goes_on) const;
  void begin(Side& side) const;
  [[nodiscard]] Shift shift_of(const Side& side) const;
  static void expect(Side& side, const Shift& shift);
  void repeat(Side& side, const Shift& shift) const;
  void try_task(Side& side, std::uint32_t sequence, const std::function<bool()>& goes_on) const;
  void delay(Side& side, std::size_t task, std::int64_t step, const std::function<bool()>& goes_on) const;
  void learn(Side& side) const;

  const Views& views_;
  std::size_t threads_;
  Near near_;
  std::int64_t longest_; ///< every order has ended by then
  std::int64_t unit_;    ///< the least time that is tried
  std::size_t first_;    ///< the first microbatch that is tried
  std::array<Side, 2> sides_;
  std::vector<Case> cases_;
  std::uint64_t root_steps_;
};

} // namespace ppsim::synthesis
