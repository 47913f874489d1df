#pragma once
// WaitGraph: what waits for what, each with a reason; and the shortest cycle of such waits, where there is one.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace ppsim {

/// Nodes are numbers; so are reasons.
class WaitGraph {
public:
  using Node = std::uint32_t;
  struct Arc {
    Node to = 0; ///< what waits
    std::uint8_t why = 0;
  };
  /// `arc.to` waits for `from`.
  struct Listed {
    Node from = 0;
    Arc arc;
  };

  WaitGraph() = default;
  WaitGraph(std::size_t nodes, std::span<const Listed> listed);

  [[nodiscard]] std::size_t size() const { return begin_.size() - 1; }
  /// What waits for `node`.
  [[nodiscard]] std::span<const Arc> waiting_for(Node node) const {
    return {arcs_.data() + begin_[node], begin_[node + 1] - begin_[node]};
  }
  /// An order in which each node comes after all that it waits for; among those that could come next the one with the
  /// lowest `rank`, then the lowest number. Nodes on cycles, and after them, are missing.
  [[nodiscard]] std::vector<Node> order(const std::function<std::int64_t(Node)>& rank) const;
  /// By node: whether it is on a cycle, or after one.
  [[nodiscard]] std::vector<bool> stuck() const;
  /// Whether no node is.
  [[nodiscard]] bool runs_to_its_end() const;

private:
  [[nodiscard]] std::vector<std::uint32_t> waits() const;

  std::vector<std::uint32_t> begin_{0};
  std::vector<Arc> arcs_;
};

/// `node` waits for `on`.
struct Waiting {
  WaitGraph::Node node = 0;
  WaitGraph::Node on = 0;
  std::uint8_t why = 0;
};

/// A cycle of `graph`, which has one, that waits for no other cycle: each of its nodes waits for the next one's, the
/// last for the first. Of those that are looked at (of large graphs not all) the one with the least waits for reasons
/// that are not `light`, then with the least waits.
[[nodiscard]] std::vector<Waiting> shortest_cycle(const WaitGraph& graph,
                                                  const std::function<bool(std::uint8_t)>& light);

} // namespace ppsim
