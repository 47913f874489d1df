#include "near.hpp"

#include "ppsim/base/error.hpp"

#include <algorithm>

namespace ppsim::synthesis {
namespace {

/// Whether arcs lead from a task that takes memory to all others of its stage that give more than they take.
bool leads_to_givers(const Views& views, std::uint32_t taker) {
  const View& view = views.view[0];
  return std::ranges::all_of(views.on[views.stage(taker)], [&](std::uint32_t giver) {
    return giver == taker || view.give[giver] <= view.take[giver] || views.leads_to[taker][views.local[giver]];
  });
}

/// Whether an order without some of its microbatches fits, because each holds none or more at any time.
bool are_separate(const Views& views) {
  for (std::uint32_t s = 0; s < views.local.size(); ++s)
    if (views.view[0].take[s] > 0 && !leads_to_givers(views, s)) return false;
  return std::ranges::all_of(views.on, [&](const std::vector<std::uint32_t>& here) {
    std::int64_t left = 0;
    for (const std::uint32_t s : here) left += views.view[0].take[s] - views.view[0].give[s];
    return left == 0;
  });
}

Instance with_microbatches(Instance instance, std::size_t count) {
  instance.microbatches = static_cast<std::uint32_t>(count);
  return instance;
}

} // namespace

/// By how many tasks of one sequence fit into the memory of a stage: a quarter more than where most do can take part in
/// what delays one, and memory is not short until there are nearly as many as where fewest do.
Reach reach_of(const Views& views) {
  const auto m = static_cast<std::int64_t>(views.m);
  std::int64_t most = 0;
  std::int64_t least = m;
  for (std::size_t s = 0; s < views.local.size(); ++s) {
    const std::int64_t capacity = views.instance.capacity[views.stage(s)];
    const std::int64_t net = views.view[0].take[s] - views.view[0].give[s];
    if (capacity == unlimited || net <= 0) continue;
    most = std::max(most, std::min(m, capacity / net));
    least = std::min(least, capacity / net);
  }
  if (least == m || !are_separate(views)) return {1, views.m};
  return {static_cast<std::size_t>(std::min(m, most + most / 4 + 2)), static_cast<std::size_t>(least * 3 / 4)};
}

Near::Near(const Views& views, std::size_t few)
    : all_{views.m}, few_{with_microbatches(views.instance, few)}, few_views_{few_}, root_{few_views_} {
  const bool possible = root_.tighten(unlimited, false);
  PPSIM_ASSERT(possible || few == 1); // there are orders of more; they may fit where one alone does not
}

Neighbours Near::among(std::size_t microbatch) const {
  if (few_views_.m == all_) return {};
  return {static_cast<std::uint32_t>(first(microbatch)), static_cast<std::uint32_t>(few_views_.m)};
}

} // namespace ppsim::synthesis
