#pragma once
// Instances whose microbatches differ: each task has a duration of its own, which replaces that of its sequence.

#include "ppsim/synthesis/search.hpp"

namespace ppsim::synthesis {

/// By task, [sequence * microbatches + j], in ns.
using Durations = std::vector<std::int64_t>;

/// The first sequence whose tasks differ; none if all are equal.
[[nodiscard]] std::optional<std::size_t> first_uneven(std::size_t microbatches, const Durations& durations);

/// The instance with each sequence's mean duration, rounded.
[[nodiscard]] Instance with_means(Instance instance, const Durations& durations);

/// No order has a shorter makespan, in any order of microbatches. Spends that many steps on the windows' rules. `order`
/// runs and fits. Proof: docs/synthesis.md, "Costs by microbatch".
[[nodiscard]] std::int64_t bound_by_microbatch(const Instance& instance, const Durations& durations, Order order,
                                               std::uint64_t steps);

/// As search(): the order with the least makespan found, microbatches in order, and bound_by_microbatch(). The first
/// order is sought for `instance`, which has mean durations; rounds use the true ones.
[[nodiscard]] Found search_by_microbatch(const Instance& instance, const Durations& durations,
                                         const SearchOptions& options);

} // namespace ppsim::synthesis
