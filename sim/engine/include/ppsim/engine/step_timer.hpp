#pragma once
// StepTimer: times steps of one order under many sets of costs.

#include "ppsim/graph/task_graph.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ppsim {

enum class LinkClass : std::uint8_t; // sim/graph/include/ppsim/graph/detail/dag.hpp
struct Wiring;                       // as above

/// Times steps of one order without making their timelines. Under `latency` a step is a recurrence: a task starts when
/// its stage is free and its inputs have arrived. Other transfer models, and graphs whose slow links join other stages
/// than in the original graph, are simulated. Thread-safe.
class StepTimer {
public:
  static constexpr std::size_t lanes = 8; ///< steps that makespans() computes together

  explicit StepTimer(const TaskGraph& graph);

  /// The end of the last task, reduction or optimizer step of `graph`: equal to that of simulate(), to the nanosecond.
  /// `graph` must be the constructor's, or with_costs() of it. Throws Error as simulate().
  [[nodiscard]] Duration makespan(const TaskGraph& graph) const;
  /// The same for `lanes` steps, with time alone[task * lanes + lane] for a task that runs alone.
  [[nodiscard]] std::vector<Duration> makespans(const TaskGraph& graph, std::span<const Duration> alone) const;

  /// A task in the order of the recurrence.
  struct Turn {
    std::uint32_t task = 0;
    std::uint32_t input = 0, other = 0; ///< tasks whose outputs it waits for; the number of all tasks if none
    std::uint16_t stage = 0;
    LinkClass link{}; ///< the link of its own output
  };

private:
  [[nodiscard]] bool is_recurrence(const TaskGraph& graph) const;

  std::shared_ptr<const Wiring> wiring_; ///< of the turns
  std::vector<Turn> turns_;
  HeldChunks held_;
};

} // namespace ppsim
