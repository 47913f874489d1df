#pragma once
// Balance: the split of layers over chunks that makes a step shortest.

#include "ppsim/graph/timeline.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace ppsim {

/// What one split is worth.
struct SplitValue {
  Bytes excess;               ///< what the stage that lacks most needs beyond the memory limit; none without a limit
  Duration step_time{0};      ///< as Report::step_time
  std::vector<Duration> load; ///< by chunk: compute time of the busiest stage that holds it
};

/// The value of a run with its timeline, whose step costs `step_time` in the long run.
[[nodiscard]] SplitValue split_value(const TaskGraph& graph, const Timeline& timeline, Duration step_time);

/// The value of a split; nothing where it is not allowed.
using SplitObjective = std::function<std::optional<SplitValue>(const Layout&)>;

/// Where a search begins.
struct BalanceStart {
  Layout layout;
  bool is_given = false; ///< it is the user's own split and not the even one
};

/// What a search found.
struct Balance {
  BalanceStart start;
  Layout layout;
  Duration start_step_time{0}; ///< none where it has no order, as it does not fit
  Duration step_time{0};
  bool start_fits = true;
  bool fits = true;
  std::size_t tried = 0; ///< splits
  bool settled = true;   ///< no move of one layer makes `layout` better; else the search ended at its limit
  [[nodiscard]] bool changed() const { return layout != start.layout; }
};

/// The best split that a search from `start` finds: the least excess (of devices that are all alike the fullest
/// decides), then the least step time, then the fewest layers moved, then the fewest on the first chunks, which in most
/// schedules hold more activations. Layers for multi-token prediction, embedding and loss stay where they are; a chunk
/// that has one of them, or none at the start, may end without layers, all others keep one at least. The search first
/// moves layers from the busiest stage to the least busy one while that makes the busiest less so. From there on it
/// looks at the neighbours (one layer from one chunk to another) of the best split whose neighbours it has not all
/// seen, from the heaviest to the lightest chunk first, and ends when several times as many as one split has were no
/// better, or after `most_tries` splits. While no split fits, every other neighbour is one of the split that lacks
/// least in all, where a layer goes from a full stage to an emptier one. Neighbours are looked for among the 64
/// heaviest and the 64 lightest chunks. Deterministic; it finds the best of all splits in small cases
/// (tests/property/balance_property.cpp), without a guarantee in others. `start` must be allowed.
[[nodiscard]] Balance balance(const BalanceStart& start, const SplitObjective& value, std::size_t most_tries);

struct BuiltRun;
struct RunSpec;

/// Finds the best split for the resolved spec and gives `run` its scenario, and its schedule where the order follows
/// from the costs. Throws Error where the costs do not follow the layers, or the run as it is does not end.
[[nodiscard]] Balance balance_layers(const RunSpec& spec, BuiltRun& run);

} // namespace ppsim
