#pragma once
// Interval: what a step costs in the long run where stages do not meet between steps. docs/synthesis.md

#include "ppsim/synthesis/search.hpp"

namespace ppsim::synthesis {

/// Steps that follow each other, each in the same order; a stage begins the next one when its own tasks have ended,
/// with their tails.
struct Interval {
  std::int64_t length = 0;          ///< between steps in the long run, ns, rounded up
  std::vector<std::int64_t> starts; ///< by stage: when it begins a step at that pace, the least of them 0; as early as
                                    ///< it can beside the others
  std::vector<std::int64_t> late_starts; ///< as late as it can
};

/// Nothing where tasks wait for each other in a circle. Memory is not looked at.
[[nodiscard]] std::optional<Interval> interval_of(const Instance& instance, const Order& order);

/// What a search for the shortest interval found.
struct FoundInterval {
  std::optional<Order> order; ///< nothing where none was found
  std::int64_t interval = 0;  ///< of that order
  std::int64_t bound = 0;     ///< no order has a shorter one
  std::uint32_t stage = 0;    ///< the bound is that of this stage's span: between its first start and its last end
  Found found;                ///< of the span_instance() of that stage, with the order as plan; `history` has intervals
};

/// An instance whose makespan is `2 * margin` more than the span of `stage`: the others may begin `margin` before it,
/// and end as long after it, which is as long as all that there is to do. It has one more stage, whose only sequence
/// takes no time, and starts the others.
struct SpanInstance {
  Instance instance;
  std::int64_t margin = 0;
};
[[nodiscard]] SpanInstance span_instance(const Instance& instance, std::uint32_t stage);

/// As search(). `instance` and the span_instance() of its stages have passed fault_of().
[[nodiscard]] FoundInterval search_interval(const Instance& instance, const SearchOptions& options);

} // namespace ppsim::synthesis
