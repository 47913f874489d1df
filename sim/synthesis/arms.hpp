#pragma once
// Arms: tasks of one stage are supposed to start in one part of their windows (rule 8 of docs/synthesis.md). It stays
// with the stage and the part that brought something.

#include "attempt.hpp"

namespace ppsim::synthesis {

class Arms {
public:
  /// Tries cases on up to `threads` threads, whose number changes nothing.
  Arms(const Views& views, std::size_t threads);

  /// The next attempt, or a shorter makespan.
  void restart();
  /// The windows have changed otherwise.
  void look_again();
  /// Tries a few cases.
  Outcome go_on(Attempt& attempt);

private:
  /// Tasks of a stage, each supposed to start in the first 1 / (1 + divisor) of its window. What brought the last case
  /// or proof comes first.
  struct Arm {
    std::size_t stage = 0;
    std::int64_t divisor = 1;
    bool looks_far = false; ///< tries tasks in both orders on all stages; else on this one only
    std::size_t next = 0;   ///< task to try
    std::size_t tried = 0;  ///< tasks since the windows changed
  };
  /// The task is supposed to start before `time`.
  struct Trial : Task {
    std::int64_t time = 0;
    std::uint64_t steps = 0;
    bool possible = true;
  };

  void prefer();
  bool next_arm();
  bool next_batch(const Attempt& attempt);
  [[nodiscard]] Task task_of(const Arm& arm) const;
  void add(const Attempt& attempt, const Arm& arm, const Task& task);
  [[nodiscard]] std::size_t tasks_of(const Arm& arm) const;

  const Views& views_;
  std::size_t threads_;
  std::vector<std::size_t> spread_; ///< all microbatches
  std::vector<Arm> arms_;
  std::vector<Trial> batch_;
  std::vector<Task> again_; ///< tasks of the last batch that cannot start early
  std::size_t arm_ = 0;
  std::size_t missed_ = 0; ///< tasks in this arm's turn since it last found a case
  std::size_t quota_ = 0;  ///< the most of those before the next arm's turn, per sequence and view
  bool found_ = false;     ///< a case, by this arm in its turn
};

} // namespace ppsim::synthesis
