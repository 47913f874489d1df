#include "ppsim/base/wait_graph.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <queue>
#include <utility>

namespace ppsim {
namespace {

using Node = WaitGraph::Node;

/// Finds a cycle among stuck nodes, at the place where the run stops first.
class CycleSearch {
public:
  CycleSearch(const WaitGraph& graph, const std::function<bool(std::uint8_t)>& light)
      : graph_{graph}, stuck_{graph.stuck()}, distance_(graph.size(), far), reached_(graph.size()) {
    for (std::size_t why = 0; why < weights_.size(); ++why)
      weights_[why] = light(static_cast<std::uint8_t>(why)) ? light_weight : full_weight;
    keep_first_components();
  }

  [[nodiscard]] std::vector<Waiting> shortest() {
    search_from(on_some_cycle());
    // Every cycle has an arc that is not light, or any node suffices. Large graphs have very many, so time is limited.
    for (const Node start : ends_of_waits()) {
      if (visited_ > most_visited) break;
      search_from(start);
    }
    return std::move(best_);
  }

private:
  static constexpr std::uint64_t far = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::uint64_t light_weight = 1;
  static constexpr std::uint64_t full_weight = std::uint64_t{1} << 32U;
  static constexpr std::size_t most_visited = 4'000'000;

  /// Keeps the strongly connected components of stuck nodes that wait for no other component: the run stops there
  /// first.
  void keep_first_components() {
    const std::vector<std::uint32_t> component = components();
    const std::size_t count = graph_.size() + 1;
    std::vector<std::uint32_t> sizes(count, 0);
    std::vector<bool> is_behind(count, false);
    for (Node node = 0; node < graph_.size(); ++node) {
      if (!stuck_[node]) continue;
      ++sizes[component[node]];
      for (const WaitGraph::Arc& arc : graph_.waiting_for(node))
        if (component[arc.to] != component[node]) is_behind[component[arc.to]] = true;
    }
    for (Node node = 0; node < graph_.size(); ++node)
      stuck_[node] = stuck_[node] && sizes[component[node]] > 1 && !is_behind[component[node]];
  }

  /// Tarjan's algorithm over the stuck nodes, with an explicit stack: the number of each node's strongly connected
  /// component.
  // NOLINTNEXTLINE(readability-function-cognitive-complexity): in pieces it would be harder to follow
  [[nodiscard]] std::vector<std::uint32_t> components() const {
    struct Visit {
      Node node = 0;
      std::size_t next = 0; ///< next arc
    };
    std::vector<std::uint32_t> number(graph_.size(), 0); // in order of visits, from 1
    std::vector<std::uint32_t> lowest(graph_.size(), 0);
    std::vector<std::uint32_t> component(graph_.size(), 0); // from 1
    std::vector<Node> open;
    std::vector<Visit> visits;
    std::uint32_t visited = 0;
    std::uint32_t found = 0;
    const auto enter = [&](Node node) {
      number[node] = lowest[node] = ++visited;
      open.push_back(node);
      visits.push_back({node, 0});
    };
    for (Node root = 0; root < graph_.size(); ++root) {
      if (!stuck_[root] || number[root] != 0) continue;
      enter(root);
      while (!visits.empty()) {
        const Node node = visits.back().node;
        const auto arcs = graph_.waiting_for(node);
        if (visits.back().next < arcs.size()) {
          const Node to = arcs[visits.back().next++].to;
          if (number[to] == 0)
            enter(to);
          else if (component[to] == 0)
            lowest[node] = std::min(lowest[node], number[to]);
          continue;
        }
        visits.pop_back();
        if (!visits.empty()) lowest[visits.back().node] = std::min(lowest[visits.back().node], lowest[node]);
        if (lowest[node] != number[node]) continue;
        ++found;
        for (auto member = static_cast<Node>(graph_.size()); member != node;) {
          member = open.back();
          open.pop_back();
          component[member] = found;
        }
      }
    }
    return component;
  }

  /// Every stuck node waits for a stuck node, so following them leads into a cycle.
  [[nodiscard]] Node on_some_cycle() const {
    const auto first_stuck = [&](Node node) {
      const auto arcs = graph_.waiting_for(node);
      return std::ranges::find_if(arcs, [&](const WaitGraph::Arc& arc) { return stuck_[arc.to]; })->to;
    };
    std::vector<bool> seen(graph_.size(), false);
    auto node = static_cast<Node>(std::ranges::find(stuck_, true) - stuck_.begin());
    for (; !seen[node]; node = first_stuck(node)) seen[node] = true;
    return node;
  }

  [[nodiscard]] std::vector<Node> ends_of_waits() const {
    std::vector<Node> ends;
    std::vector<bool> listed(graph_.size(), false);
    for (Node node = 0; node < graph_.size(); ++node) {
      if (!stuck_[node]) continue;
      for (const WaitGraph::Arc& arc : graph_.waiting_for(node))
        if (weights_[arc.why] == full_weight && stuck_[arc.to] && !listed[arc.to]) {
          listed[arc.to] = true;
          ends.push_back(arc.to);
        }
    }
    return ends;
  }

  /// Dijkstra's algorithm from `start` back to itself, limited by the best cycle so far.
  void search_from(Node start) {
    using Reached = std::pair<std::uint64_t, Node>;
    std::priority_queue<Reached, std::vector<Reached>, std::greater<>> open;
    std::vector<Node> touched;
    open.emplace(0, start);
    while (!open.empty() && open.top().first < best_weight_) {
      const auto [distance, node] = open.top();
      open.pop();
      if (node != start && distance > distance_[node]) continue;
      if (node == start && distance > 0) { // the first way back is the shortest
        best_weight_ = distance;
        keep_cycle(start);
        break;
      }
      for (const WaitGraph::Arc& arc : graph_.waiting_for(node)) {
        ++visited_;
        const std::uint64_t next = distance + weights_[arc.why];
        if (!stuck_[arc.to] || next >= distance_[arc.to]) continue;
        distance_[arc.to] = next;
        reached_[arc.to] = {arc.to, node, arc.why};
        touched.push_back(arc.to);
        open.emplace(next, arc.to);
      }
    }
    for (const Node node : touched) distance_[node] = far;
  }

  void keep_cycle(Node start) {
    best_.clear();
    Node node = start;
    do {
      best_.push_back(reached_[node]);
      node = reached_[node].on;
    } while (node != start);
  }

  const WaitGraph& graph_;
  std::vector<bool> stuck_;
  std::vector<std::uint64_t> distance_;
  std::vector<Waiting> reached_;
  std::vector<Waiting> best_;
  std::array<std::uint64_t, std::size_t{std::numeric_limits<std::uint8_t>::max()} + 1> weights_{};
  std::uint64_t best_weight_ = far;
  std::size_t visited_ = 0;
};

} // namespace

WaitGraph::WaitGraph(std::size_t nodes, std::span<const Listed> listed) : begin_(nodes + 1, 0), arcs_(listed.size()) {
  for (const Listed& one : listed) ++begin_[one.from + 1];
  for (std::size_t node = 0; node < nodes; ++node) begin_[node + 1] += begin_[node];
  std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (const Listed& one : listed) arcs_[next[one.from]++] = one.arc;
}

std::vector<std::uint32_t> WaitGraph::waits() const {
  std::vector<std::uint32_t> waits(size(), 0);
  for (const Arc& arc : arcs_) ++waits[arc.to];
  return waits;
}

std::vector<Node> WaitGraph::order(const std::function<std::int64_t(Node)>& rank) const {
  using Ranked = std::pair<std::int64_t, Node>;
  std::vector<std::uint32_t> waits = this->waits();
  std::priority_queue<Ranked, std::vector<Ranked>, std::greater<>> ready;
  for (Node node = 0; node < size(); ++node)
    if (waits[node] == 0) ready.emplace(rank(node), node);
  std::vector<Node> order;
  order.reserve(size());
  while (!ready.empty()) {
    const Node node = ready.top().second;
    ready.pop();
    order.push_back(node);
    for (const Arc& arc : waiting_for(node))
      if (--waits[arc.to] == 0) ready.emplace(rank(arc.to), arc.to);
  }
  return order;
}

std::vector<bool> WaitGraph::stuck() const {
  std::vector<std::uint32_t> waits = this->waits();
  std::vector<Node> ready;
  std::vector<bool> stuck(size(), true);
  for (Node node = 0; node < size(); ++node)
    if (waits[node] == 0) ready.push_back(node);
  while (!ready.empty()) {
    const Node node = ready.back();
    ready.pop_back();
    stuck[node] = false;
    for (const Arc& arc : waiting_for(node))
      if (--waits[arc.to] == 0) ready.push_back(arc.to);
  }
  return stuck;
}

bool WaitGraph::runs_to_its_end() const {
  const std::vector<bool> stuck = this->stuck();
  return std::ranges::find(stuck, true) == stuck.end();
}

std::vector<Waiting> shortest_cycle(const WaitGraph& graph, const std::function<bool(std::uint8_t)>& light) {
  return CycleSearch{graph, light}.shortest();
}

} // namespace ppsim
