#pragma once
// Cases: tasks that are supposed to start early (rule 8 of docs/synthesis.md), at makespans between a bound and an
// order.

#include "ppsim/synthesis/search.hpp"

#include <functional>
#include <optional>

#include "windows.hpp"

namespace ppsim::synthesis {

class Cases {
public:
  /// `root`: what holds of all orders. Tries cases on up to `threads` threads, whose number changes nothing.
  Cases(const Views& views, const Windows& root, std::size_t threads);

  /// No order is shorter than `bound`, by `cases`.
  struct Proof {
    std::int64_t bound = 0;
    std::vector<Case> cases = {};
  };
  /// Continues where the last call ended: for about `steps`, which count down (to 0 if there is nothing left to try),
  /// until `goes_on` is false, or until a bound above `bound` is proven. `makespan`: of the best order.
  std::optional<Proof> raise(std::int64_t bound, std::int64_t makespan, std::uint64_t& steps,
                             const std::function<bool()>& goes_on);
  /// The root says more than before.
  void renew() {
    work_.reset();
    open_ = unlimited;
  }
  /// All steps of windows so far.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  /// Whether a task that cannot start early was ever found.
  [[nodiscard]] bool bring_something() const { return bring_something_; }

private:
  /// Tasks of a stage, each supposed to start in the first 1 / (1 + divisor) of its window. What brought the last case
  /// or proof comes first: it is likely to bring the next.
  struct Arm {
    std::size_t stage = 0;
    std::int64_t divisor = 1;
    bool looks_far = false; ///< tries tasks in both orders on all stages; else on this one only
    std::size_t next = 0;   ///< task to try
    std::size_t tried = 0;  ///< tasks since the windows changed
  };
  struct Task {
    std::size_t view = 0;
    std::size_t task = 0;
  };
  /// The task is supposed to start before `time`.
  struct Trial : Task {
    std::int64_t time = 0;
    std::uint64_t steps = 0;
    bool possible = true;
  };
  /// Cases at one makespan.
  struct Work {
    std::int64_t most = 0;
    Windows windows;
    std::vector<Case> cases = {};
    std::vector<Task> again = {}; ///< tasks of the last batch that cannot start early
    std::size_t arm = 0;
    std::size_t missed = 0; ///< tasks in this arm's turn since it last found a case
    std::size_t quota = 0;  ///< the most of those before the next arm's turn, per sequence and view
    bool found = false;     ///< a case, by this arm in its turn
    std::uint64_t steps = 0;
  };

  bool begin(std::int64_t bound, std::int64_t makespan);
  bool lower(std::int64_t bound, std::int64_t makespan);
  void restart_arms();
  void prefer_arm();
  bool next_arm();
  bool next_batch();
  [[nodiscard]] Task task_of(const Arm& arm) const;
  void add(const Arm& arm, Task task);
  bool try_batch();
  [[nodiscard]] std::size_t tasks_of(const Arm& arm) const;
  void count(std::uint64_t steps);

  const Views& views_;
  const Windows& root_;
  std::size_t threads_;
  std::vector<std::size_t> spread_; ///< all microbatches, the last first, then halfway between, and so on
  std::vector<Arm> arms_;
  std::optional<Work> work_;
  std::vector<Trial> batch_;
  double share_;                  ///< of the gap: how far above the bound cases are tried
  std::uint64_t patience_;        ///< steps at a makespan before a shorter one is tried
  std::int64_t open_ = unlimited; ///< the least makespan at which nothing was left to try
  std::uint64_t steps_ = 0;
  bool bring_something_ = false;
};

} // namespace ppsim::synthesis
