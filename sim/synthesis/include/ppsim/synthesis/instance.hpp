#pragma once
// Instance: what an order is sought for, in whole numbers: nanoseconds, and memory in whatever unit its maker counts.

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace ppsim::synthesis {

/// One pass of one chunk, for every microbatch: tasks 0, 1, ... m-1, which run in this order. Where all microbatches
/// cost the same nothing is lost by that (docs/synthesis.md), and the order of a stage is a merge of its sequences.
struct Sequence {
  std::uint32_t stage = 0;
  std::int64_t duration = 0; ///< of each task, ns
  std::int64_t take = 0;     ///< memory that each task takes when it starts
  std::int64_t give = 0;     ///< memory that is free again when it ends
  std::int64_t tail = 0;     ///< ns from the end of its last task to the end of the step, at least
};

/// Task j of `to` starts `lag` ns after the end of task j of `from`, or later.
struct Arc {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::int64_t lag = 0;
};

inline constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max() / 4;

/// Sequences on stages that run one task at a time, and have `capacity` of memory each.
struct Instance {
  std::uint32_t microbatches = 1;
  std::vector<std::int64_t> capacity; ///< by stage
  std::vector<Sequence> sequences;
  std::vector<Arc> arcs;
  [[nodiscard]] std::size_t stages() const { return capacity.size(); }
  [[nodiscard]] std::size_t tasks() const { return sequences.size() * microbatches; }
};

/// What is wrong with it, if anything: an index out of range, a negative number, arcs in a circle, sums beyond 2^61.
[[nodiscard]] std::optional<std::string_view> fault_of(const Instance& instance);

/// All durations, lags and tails, one after another: every order that runs has ended by then.
[[nodiscard]] std::int64_t whole_length(const Instance& instance);

/// By stage: of which sequence each task is, in the order in which they run.
using Order = std::vector<std::vector<std::uint16_t>>;

/// An order with its times.
struct Plan {
  Order order;
  std::vector<std::int64_t> start; ///< of each task, [sequence * microbatches + j], each as early as may be
  std::int64_t makespan = 0;       ///< the last end, with its tail
};

/// Runs `order`, which has every task once; nothing where tasks wait for each other in a circle. Memory is not looked
/// at. `durations`: of each task, as in `start`, if microbatches differ (by_microbatch.hpp).
[[nodiscard]] std::optional<Plan> run(const Instance& instance, Order order,
                                      std::span<const std::int64_t> durations = {});

/// Whether the memory of every stage suffices, task by task.
[[nodiscard]] bool fits(const Instance& instance, const Order& order);

} // namespace ppsim::synthesis
