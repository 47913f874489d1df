#include "step_clock.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace ppsim::traces {
namespace {

constexpr std::int64_t no_bound = std::numeric_limits<std::int64_t>::max();

/// What two stages know of each other's clocks; `low` is the lower of the two. An offset is what the clock of the
/// higher one lacks.
struct Link {
  std::int64_t least = -no_bound; ///< offset that causality asks for
  std::int64_t most = no_bound;   ///< offset that it allows
  std::vector<std::int64_t> up;   ///< offsets by which both sides of a transfer end together, low to high
  std::vector<std::int64_t> down; ///< likewise, high to low
};

struct Offset {
  std::int64_t value = 0;
  std::int64_t error = 0;
};

std::int64_t median(std::vector<std::int64_t>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::int64_t middle(std::int64_t a, std::int64_t b) {
  return a + (b - a) / 2;
}

/// Where causality has both bounds, the middle; else the one that it has.
Offset by_causality(const Link& link) {
  const bool from_below = link.least != -no_bound;
  const bool from_above = link.most != no_bound;
  if (from_below && from_above)
    return {middle(link.least, link.most), (std::max(link.least - link.most, link.most - link.least) + 1) / 2};
  return {from_below ? link.least : link.most, 0};
}

Offset offset_of(Link link) {
  if (link.up.empty() && link.down.empty()) return by_causality(link);
  const std::int64_t up = median(link.up.empty() ? link.down : link.up);
  const std::int64_t down = link.down.empty() ? up : median(link.down);
  Offset offset{middle(up, down), (std::max(up - down, down - up) + 1) / 2};
  if (link.least > link.most) return by_causality(link);
  const std::int64_t allowed = std::clamp(offset.value, link.least, link.most);
  offset.error += std::max(allowed - offset.value, offset.value - allowed);
  offset.value = allowed;
  return offset;
}

using Links = std::map<std::pair<std::uint32_t, std::uint32_t>, Link>;

Links links_of(std::span<const Crossing> crossings) {
  Links links;
  for (const Crossing& crossing : crossings) {
    const bool up = crossing.from < crossing.to;
    Link& link = links[std::minmax(crossing.from, crossing.to)];
    if (up)
      link.least = std::max(link.least, crossing.made - crossing.used);
    else
      link.most = std::min(link.most, crossing.used - crossing.made);
    if (!crossing.sent || !crossing.received) continue;
    if (up)
      link.up.push_back(*crossing.sent - *crossing.received);
    else
      link.down.push_back(*crossing.received - *crossing.sent);
  }
  return links;
}

} // namespace

std::int64_t worst_violation(std::span<const Crossing> crossings) {
  std::int64_t worst = 0;
  for (const Crossing& crossing : crossings) worst = std::max(worst, crossing.made - crossing.used);
  return worst;
}

StageClocks align_clocks(std::size_t stages, std::span<const Crossing> crossings) {
  struct Neighbour {
    std::uint32_t stage;
    Offset offset; ///< of its clock to ours
  };
  std::vector<std::vector<Neighbour>> neighbours(stages);
  for (const auto& [ends, link] : links_of(crossings)) {
    const Offset offset = offset_of(link);
    neighbours[ends.first].push_back({ends.second, offset});
    neighbours[ends.second].push_back({ends.first, {-offset.value, offset.error}});
  }
  StageClocks clocks{std::vector<std::int64_t>(stages, 0), 0};
  std::vector<std::int64_t> error(stages, 0);
  std::vector<bool> known(stages, false);
  for (std::uint32_t root = 0; root < stages; ++root) { // one round is enough, unless no output joins some stages
    if (known[root]) continue;
    known[root] = true;
    std::vector<std::uint32_t> reached{root};
    for (std::size_t i = 0; i < reached.size(); ++i)
      for (const Neighbour& next : neighbours[reached[i]]) {
        if (known[next.stage]) continue;
        known[next.stage] = true;
        clocks.offset[next.stage] = clocks.offset[reached[i]] + next.offset.value;
        error[next.stage] = error[reached[i]] + next.offset.error;
        reached.push_back(next.stage);
      }
  }
  clocks.error = stages == 0 ? 0 : *std::ranges::max_element(error);
  return clocks;
}

} // namespace ppsim::traces
