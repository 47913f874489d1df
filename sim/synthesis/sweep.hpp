#pragma once
// Sweep: all tasks in turn are supposed to start early (rule 8 of docs/synthesis.md), each by what it was later by last
// time. With few microbatches this refutes what Arms, which stay with one stage, do not.

#include "attempt.hpp"

namespace ppsim::synthesis {

class Sweep {
public:
  /// Tries cases on up to `threads` threads, whose number changes nothing.
  Sweep(const Views& views, std::size_t threads);

  /// The next attempt, or a shorter makespan.
  void restart();
  /// The windows have changed otherwise.
  void look_again();
  /// Tries a few tasks.
  Outcome go_on(Attempt& attempt);

private:
  struct Place : Task {
    std::int64_t pace = 0; ///< ns by which it may be later: the first trial
    std::size_t pause = 0; ///< sweeps without it, after one that found nothing
    std::size_t left = 0;  ///< of them
  };
  /// Times before which a task cannot start, each given those before.
  struct Trial {
    std::size_t place = 0; ///< of the task in the sweep
    std::vector<std::int64_t> times = {};
    std::int64_t pace = 0;
    std::uint64_t steps = 0;
  };

  bool next_batch(const Attempt& attempt);
  void delay(const Attempt& attempt, Trial& trial) const;

  const Views& views_;
  std::size_t threads_;
  std::int64_t unit_; ///< ns: hardly less is tried
  std::vector<Place> places_;
  std::size_t next_ = 0;
  std::size_t quiet_ = 0;     ///< places without a case until now
  bool left_none_out_ = true; ///< of those
  std::vector<Trial> batch_;
};

} // namespace ppsim::synthesis
