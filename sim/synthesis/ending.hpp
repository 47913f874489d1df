#pragma once
// What searches for a makespan and for an interval have in common: when they end, and what they note of their way.

#include "ppsim/synthesis/search.hpp"

namespace ppsim::synthesis {

/// A bound is looked for to this part of it.
constexpr std::int64_t bisection_share = 100'000;

/// Where the order or the bound is another than before.
inline void add_milestone(std::vector<Milestone>& history, const Milestone& now) {
  if (!history.empty() && history.back().makespan == now.makespan && history.back().bound == now.bound) return;
  if (history.empty() || history.back().steps < now.steps) history.emplace_back();
  history.back() = now;
}

} // namespace ppsim::synthesis
