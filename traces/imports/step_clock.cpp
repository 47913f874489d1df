#include "step_clock.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace ppsim::traces {
namespace {

constexpr std::int64_t no_bound = std::numeric_limits<std::int64_t>::max();

/// Information about the offset between two stages' clocks; `low` is the lower one. The offset is added to the higher
/// one's clock.
struct Link {
  std::int64_t least = -no_bound; ///< least offset by causality
  std::int64_t most = no_bound;   ///< largest offset by causality
  std::vector<std::int64_t> up;   ///< offsets with which both sides of a transfer end together, low to high
  std::vector<std::int64_t> down; ///< as above, high to low
};

struct Offset {
  std::int64_t value = 0;
  std::optional<std::int64_t> error{}; ///< none: unbounded
};

std::int64_t median(std::vector<std::int64_t>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::int64_t middle(std::int64_t a, std::int64_t b) {
  return a + (b - a) / 2;
}

bool has_both_bounds(const Link& link) {
  return link.least != -no_bound && link.most != no_bound;
}

/// The middle of both bounds of causality; otherwise the only bound.
Offset by_causality(const Link& link) {
  if (has_both_bounds(link))
    return {middle(link.least, link.most), (std::max(link.least - link.most, link.most - link.least) + 1) / 2};
  return {link.least != -no_bound ? link.least : link.most, std::nullopt};
}

/// Late polling on one side is not visible if transfers go in one direction only.
Offset by_one_direction(Link& link) {
  const std::int64_t seen = median(link.up.empty() ? link.down : link.up);
  const std::int64_t value = std::clamp(seen, link.least, link.most);
  if (!has_both_bounds(link)) return {value, std::nullopt};
  return {value, std::max(value - link.least, link.most - value)};
}

Offset offset_of(Link link) {
  if (link.least > link.most || (link.up.empty() && link.down.empty())) return by_causality(link);
  if (link.up.empty() || link.down.empty()) return by_one_direction(link);
  const std::int64_t up = median(link.up);
  const std::int64_t down = median(link.down);
  const std::int64_t value = middle(up, down);
  const std::int64_t allowed = std::clamp(value, link.least, link.most);
  const std::int64_t moved = std::max(allowed - value, value - allowed);
  return {allowed, (std::max(up - down, down - up) + 1) / 2 + moved};
}

using Links = std::map<std::pair<std::uint32_t, std::uint32_t>, Link>;

Links links_of(std::span<const StampedTransfer> transfers) {
  Links links;
  for (const StampedTransfer& transfer : transfers) {
    const bool up = transfer.from < transfer.to;
    Link& link = links[std::minmax(transfer.from, transfer.to)];
    if (up)
      link.least = std::max(link.least, transfer.made - transfer.used);
    else
      link.most = std::min(link.most, transfer.used - transfer.made);
    if (!transfer.sent || !transfer.received) continue;
    if (up)
      link.up.push_back(*transfer.sent - *transfer.received);
    else
      link.down.push_back(*transfer.received - *transfer.sent);
  }
  return links;
}

/// A stage whose clock was set from that of another.
struct SetClock {
  std::uint32_t stage;
  std::size_t from;                  ///< position of the other stage; for the first, its own
  std::optional<std::int64_t> error; ///< between the two
};
/// Each after the stage that it was set from.
using Reached = std::vector<SetClock>;

/// Errors between two stages add up along the path between them: returns the largest sum.
std::optional<std::int64_t> largest_sum(const Reached& tree) {
  std::vector<std::int64_t> longest(tree.size(), 0); // path from a stage to one set from it
  std::int64_t largest = 0;
  for (std::size_t i = tree.size(); i-- > 1;) {
    if (!tree[i].error) return std::nullopt;
    const std::int64_t way = longest[i] + *tree[i].error;
    largest = std::max(largest, longest[tree[i].from] + way);
    longest[tree[i].from] = std::max(longest[tree[i].from], way);
  }
  return largest;
}

} // namespace

std::int64_t worst_violation(std::span<const StampedTransfer> transfers, std::span<const std::int64_t> offset) {
  std::int64_t worst = 0;
  for (const StampedTransfer& transfer : transfers)
    worst = std::max(worst, transfer.made + offset[transfer.from] - transfer.used - offset[transfer.to]);
  return worst;
}

StageClocks align_clocks(std::size_t stages, std::span<const StampedTransfer> transfers) {
  struct Neighbour {
    std::uint32_t stage;
    Offset offset; ///< of its clock to this one
  };
  std::vector<std::vector<Neighbour>> neighbours(stages);
  for (const auto& [ends, link] : links_of(transfers)) {
    const Offset offset = offset_of(link);
    neighbours[ends.first].push_back({ends.second, offset});
    neighbours[ends.second].push_back({ends.first, {-offset.value, offset.error}});
  }
  StageClocks clocks{.offset = std::vector<std::int64_t>(stages, 0)};
  Reached tree;
  tree.reserve(stages);
  std::vector<bool> known(stages, false);
  std::size_t roots = 0;
  for (std::uint32_t root = 0; root < stages; ++root) { // one round is enough, unless some stages are not connected
    if (known[root]) continue;
    known[root] = true;
    ++roots;
    tree.push_back({root, tree.size(), 0});
    for (std::size_t i = tree.size() - 1; i < tree.size(); ++i)
      for (const Neighbour& next : neighbours[tree[i].stage]) {
        if (known[next.stage]) continue;
        known[next.stage] = true;
        clocks.offset[next.stage] = clocks.offset[tree[i].stage] + next.offset.value;
        tree.push_back({next.stage, i, next.offset.error});
      }
  }
  if (roots <= 1) clocks.error = largest_sum(tree);
  return clocks;
}

} // namespace ppsim::traces
