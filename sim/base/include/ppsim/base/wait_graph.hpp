#pragma once
// WaitGraph: which node waits for which, with reasons, and the shortest cycle of waits, if any.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace ppsim {

/// Nodes and reasons are numbers.
class WaitGraph {
public:
  using Node = std::uint32_t;
  struct Arc {
    Node to = 0; ///< the waiting node
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
  /// The nodes that wait for `node`.
  [[nodiscard]] std::span<const Arc> waiting_for(Node node) const {
    return {arcs_.data() + begin_[node], begin_[node + 1] - begin_[node]};
  }
  /// An order in which each node comes after all that it waits for; if several could come next, the lowest `rank` and
  /// then the lowest number comes first. Nodes on cycles, and after them, are missing.
  [[nodiscard]] std::vector<Node> order(const std::function<std::int64_t(Node)>& rank) const;
  /// By node: whether it is on a cycle, or after one.
  [[nodiscard]] std::vector<bool> stuck() const;
  /// Whether no node is stuck.
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

/// A cycle of `graph`, which must have one, that waits for no other cycle: each node waits for the next one, the last
/// for the first. Among the examined cycles (not all in large graphs), the one with the fewest reasons that are not
/// `light`, then with the fewest waits.
[[nodiscard]] std::vector<Waiting> shortest_cycle(const WaitGraph& graph,
                                                  const std::function<bool(std::uint8_t)>& light);

} // namespace ppsim
