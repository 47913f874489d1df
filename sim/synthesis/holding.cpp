#include "holding.hpp"

#include <algorithm>

namespace ppsim::synthesis {

std::vector<Holding> holdings_of(const Views& views, const Windows& root) {
  std::vector<Holding> holdings;
  for (std::uint32_t stage = 0; stage < views.on.size(); ++stage) {
    const std::int64_t capacity = views.instance.capacity[stage];
    const auto net = [&](std::uint32_t s) { return views.view[0].take[s] - views.view[0].give[s]; };
    const auto takes = [&](std::uint32_t s) { return capacity != unlimited && net(s) > 0; };
    const std::int64_t takers = std::ranges::count_if(views.on[stage], takes);
    if (takers == 0) continue;
    const std::uint32_t taker = *std::ranges::find_if(views.on[stage], takes);
    std::int64_t next = unlimited;
    std::int64_t beside = 0;
    for (const std::uint32_t s : views.on[stage]) {
      if (s != taker) beside = std::max(beside, views.view[0].take[s]);
      if (views.leads_to[taker][views.local[s]]) next = std::min(next, root.head(0, s * views.m));
    }
    if (takers > 1 || next == unlimited) return {};
    holdings.push_back({.stage = stage,
                        .taker = taker,
                        .room = std::max<std::int64_t>(1, (capacity - beside) / net(taker)),
                        .away = next - root.head(0, taker * views.m) - views.duration(taker)});
  }
  return holdings;
}

} // namespace ppsim::synthesis
