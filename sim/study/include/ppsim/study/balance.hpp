#pragma once
// Balance: the split of layers over chunks with the shortest step.

#include "ppsim/graph/timeline.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace ppsim {

/// The value of one split.
struct SplitValue {
  Bytes excess;               ///< largest excess of a stage over the memory limit; none without a limit
  Duration step_time{0};      ///< as Report::step_time
  std::vector<Duration> load; ///< by chunk: compute time of the busiest stage that holds it
};

/// The value of a run with this timeline and this step time in the long run.
[[nodiscard]] SplitValue split_value(const TaskGraph& graph, const Timeline& timeline, Duration step_time);

/// The value of a split; none if it is not allowed.
using SplitObjective = std::function<std::optional<SplitValue>(const Layout&)>;

/// The start of a search.
struct BalanceStart {
  Layout layout;
  bool is_given = false; ///< the user's own split, not the even one
};

/// The result of a search.
struct Balance {
  BalanceStart start;
  Layout layout;
  Duration start_step_time{0}; ///< zero if the start has no order because it does not fit, or deadlocks
  Duration step_time{0};
  bool start_fits = true;
  bool fits = true;
  std::size_t tried = 0; ///< splits
  bool settled = true;   ///< no move of one layer improves `layout`; otherwise the search reached its limit
  [[nodiscard]] bool changed() const { return layout != start.layout; }
};

/// The best split that a search from `start` finds. Criteria, in this order: the least excess (with equal devices, of
/// the fullest one); the least step time; the fewest layers moved; the fewest on the first chunks, which in most
/// schedules hold more activations. Layers for multi-token prediction, embedding and loss do not move. A chunk with one
/// of them, or without layers at the start, may end without layers; all others keep at least one.
///
/// The search first moves layers from the busiest stage to the least busy one while that reduces the maximum. Then it
/// explores neighbours (one layer from one chunk to another) of the best split with unexplored neighbours, from the
/// heaviest to the lightest chunk first. It ends when several times as many tries as one split has neighbours bring no
/// improvement, or after `most_tries` splits. While no split fits, every second neighbour is one of the split with the
/// least total excess, moving a layer from a full stage to an emptier one. Neighbours use the 64 heaviest and the 64
/// lightest chunks.
///
/// Deterministic. It finds the optimum in small cases (tests/property/balance_property.cpp), without a guarantee in
/// others. `start` must be allowed.
[[nodiscard]] Balance balance(const BalanceStart& start, const SplitObjective& value, std::size_t most_tries);

struct BuiltRun;
struct RunSpec;

/// Finds the best split for the resolved spec. Sets the scenario of `run`, and its schedule if the order depends on
/// costs. Throws Error if the costs do not follow the layers, or if the original run does not end.
[[nodiscard]] Balance balance_layers(const RunSpec& spec, BuiltRun& run);

} // namespace ppsim
