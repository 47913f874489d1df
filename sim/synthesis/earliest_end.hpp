#pragma once
// When a set of tasks on one machine can have ended at the earliest, as tasks come in one by one.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace ppsim::synthesis {

/// A tree over the tasks of a stage by rising earliest start (Vilim's theta tree): `insert` and `end` take O(log n) and
/// O(1). The end is that of the tasks run in this order, each as early as may be, which no order of them beats.
class EarliestEnd {
public:
  static constexpr std::int64_t none = std::int64_t{-1} << 62U;

  /// Empty, for positions 0 to size-1.
  void reset(std::size_t size) {
    leaves_ = std::bit_ceil(std::max<std::size_t>(size, 1));
    nodes_.assign(2 * leaves_, {});
  }
  void insert(std::size_t position, std::int64_t start, std::int64_t duration) {
    std::size_t node = leaves_ + position;
    nodes_[node] = {duration, start + duration};
    while (node > 1) {
      node /= 2;
      const Node& left = nodes_[2 * node];
      const Node& right = nodes_[2 * node + 1];
      nodes_[node] = {left.work + right.work, std::max(right.end, left.end + right.work)};
    }
  }
  /// Of all that was inserted; `none` where nothing was.
  [[nodiscard]] std::int64_t end() const { return nodes_[1].end; }

private:
  struct Node {
    std::int64_t work = 0;
    std::int64_t end = none;
  };
  std::size_t leaves_ = 1;
  std::vector<Node> nodes_{2};
};

} // namespace ppsim::synthesis
