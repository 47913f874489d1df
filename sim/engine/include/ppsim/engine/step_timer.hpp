#pragma once
// StepTimer: what a step of one order takes, with one cost after another.

#include "ppsim/graph/task_graph.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ppsim {

enum class LinkClass : std::uint8_t; // sim/graph/include/ppsim/graph/detail/dag.hpp
struct Wiring;                       // as above

/// Times steps of one order without making their timelines. Under `latency` a step is a recurrence: a task starts when
/// its stage is free and its inputs are there. Under other transfer models, and where links join other stages than in
/// the graph that it was made of, it is simulated. May be used by several threads at a
/// time.
class StepTimer {
public:
  static constexpr std::size_t lanes = 8; ///< steps that makespans() takes side by side

  explicit StepTimer(const TaskGraph& graph);

  /// When the last task, reduction or optimizer step of `graph` ends: that of simulate(), to the nanosecond. `graph` is
  /// the one that this was made of, or with_costs() of it. Throws Error as simulate() does.
  [[nodiscard]] Duration makespan(const TaskGraph& graph) const;
  /// The same of `lanes` steps whose tasks, when they run alone, take alone[task * lanes + lane].
  [[nodiscard]] std::vector<Duration> makespans(const TaskGraph& graph, std::span<const Duration> alone) const;

  /// A task in the order of the recurrence.
  struct Turn {
    std::uint32_t task = 0;
    std::uint32_t input = 0, other = 0; ///< tasks whose outputs it waits for; for none the number of all tasks
    std::uint16_t stage = 0;
    LinkClass link{}; ///< over which its own output leaves
  };

private:
  [[nodiscard]] bool is_recurrence(const TaskGraph& graph) const;

  std::shared_ptr<const Wiring> wiring_; ///< that the turns are of
  std::vector<Turn> turns_;
  HeldChunks held_;
};

} // namespace ppsim
