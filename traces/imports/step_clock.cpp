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
  std::vector<std::int64_t> down; ///< as above, high to low
};

struct Offset {
  std::int64_t value = 0;
  std::optional<std::int64_t> error{}; ///< none: nothing bounds it
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

/// Where causality has both bounds, the middle; else the one that it has.
Offset by_causality(const Link& link) {
  if (has_both_bounds(link))
    return {middle(link.least, link.most), (std::max(link.least - link.most, link.most - link.least) + 1) / 2};
  return {link.least != -no_bound ? link.least : link.most, std::nullopt};
}

/// What one side notices late does not show where transfers go one way only.
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

/// A stage whose clock was set by that of another.
struct SetClock {
  std::uint32_t stage;
  std::size_t from;                  ///< position of the other; its own: the first
  std::optional<std::int64_t> error; ///< between the two
};
/// Each after the one that it is from.
using Reached = std::vector<SetClock>;

/// The errors between two stages add up along the way from one to the other: the most that they do.
std::optional<std::int64_t> largest_sum(const Reached& tree) {
  std::vector<std::int64_t> longest(tree.size(), 0); // way from a stage to one that is set by it
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
    Offset offset; ///< of its clock to ours
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
  for (std::uint32_t root = 0; root < stages; ++root) { // one round is enough, unless no output joins some stages
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
