#pragma once
// Views: an instance as seen forwards and backwards in time. Backwards it is a problem of the same kind: arcs are
// turned round, a task takes what it gave, and task j is task m-1-j. Every rule is written once, and holds in both.

#include "ppsim/synthesis/instance.hpp"

#include <array>

namespace ppsim::synthesis {

/// One direction of time.
struct View {
  struct Input {
    std::uint32_t sequence = 0;
    std::int64_t lag = 0;
  };
  std::vector<std::vector<Input>> inputs;  ///< by sequence: what its task j waits for
  std::vector<std::vector<Input>> outputs; ///< by sequence: what waits for its task j
  std::vector<std::uint32_t> path;         ///< sequences, each after its inputs
  std::vector<std::int64_t> take, give;    ///< by sequence
  std::vector<std::int64_t> room;          ///< by stage: capacity less what is held before the first task
  std::vector<std::int64_t> release;       ///< by sequence: the earliest that its first task may start
};

/// What is the same both ways, and both ways.
struct Views {
  explicit Views(const Instance& of);

  const Instance& instance;
  std::size_t m;                              ///< microbatches
  std::size_t width;                          ///< the most sequences of a stage
  std::vector<std::vector<std::uint32_t>> on; ///< by stage: its sequences
  std::vector<std::uint32_t> local;           ///< by sequence: its position there
  std::vector<std::int64_t> work;             ///< by stage, ns
  std::array<View, 2> view;                   ///< forwards, backwards
  std::vector<std::vector<bool>> leads_to;    ///< by sequence, position on its stage: whether arcs lead there, forwards
  [[nodiscard]] std::int64_t duration(std::size_t sequence) const { return instance.sequences[sequence].duration; }
  [[nodiscard]] std::size_t stage(std::size_t sequence) const { return instance.sequences[sequence].stage; }
  /// ns for which the busiest stage computes for a microbatch.
  [[nodiscard]] std::int64_t most_microbatch_work() const;
  /// The same task in the other view.
  [[nodiscard]] std::size_t turned(std::size_t task) const { return task - task % m + (m - 1 - task % m); }
};

} // namespace ppsim::synthesis
