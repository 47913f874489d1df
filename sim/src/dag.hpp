#pragma once
// The graph behind TaskGraph: Boost's compressed sparse row graph and the tables that the engines read beside it.
// Boost.Graph takes seconds to compile, so only the files that walk the graph include this one.

#include "ppsim/sim/task_graph.hpp"

#include <boost/graph/compressed_sparse_row_graph.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace ppsim {

/// Whether an edge is a transfer, and over which class of link.
enum class LinkClass : std::uint8_t { none, same_node, inter_node };

/// What the graph stores with each edge.
struct EdgeTag {
  Cause cause = Cause::none;
  LinkClass link = LinkClass::none;
};

/// What becomes of the activation that a task makes or uses.
struct ActivationFate {
  bool recomputed : 1 = false;
  bool output_released : 1 = false; ///< its forward's output goes to another stage and is then given up
};

struct Dag {
  static constexpr std::size_t pass_count = 4;
  using Graph = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, EdgeTag, boost::no_property,
                                                   std::uint32_t, std::uint32_t>;
  Graph graph;
  std::vector<std::uint8_t> in_degree;
  std::vector<TaskId> topological_order;
  std::vector<Duration> cost;                         ///< [row * chunks + chunk], overhead included; see task_cost
  std::vector<ActivationFate> fates;                  ///< by task; empty where all activations simply live
  std::array<std::vector<Duration>, 2> transfer_time; ///< per boundary: same node, other node
  std::size_t transfers = 0;
  Bytes transfer_volume{};
  bool has_pairs = false;
  std::size_t chunks = 0;
  PairRule pair;

  /// A row per pass, and the same again for tasks whose activation is recomputed.
  [[nodiscard]] Duration task_cost(const Task& task, bool recomputed) const {
    const std::size_t row = static_cast<std::size_t>(task.pass) + (recomputed ? pass_count : 0);
    return cost[row * chunks + task.chunk_index];
  }
  /// Time of the transfer that `sender` starts, over a link of class `link`.
  [[nodiscard]] Duration transfer_of(const Task& sender, LinkClass link) const {
    const std::size_t boundary =
        sender.pass == Pass::forward ? sender.chunk_index : sender.chunk_index - std::size_t{1};
    return transfer_time[link == LinkClass::same_node ? 0 : 1][boundary];
  }
};

/// Length of an overlapped pair that runs in one piece.
[[nodiscard]] Duration pair_length(const PairRule& rule, Duration first, Duration second);

/// How long each task of `tasks` lasts; the hot loops' form of TaskGraph::duration.
class Durations {
public:
  Durations(const Dag& dag, std::span<const Task> tasks)
      : dag_{dag}, tasks_{tasks}, in_one_piece_{dag.has_pairs && dag.pair.kind != PairRule::Kind::serial},
        plain_{!in_one_piece_ && dag.fates.empty()} {}
  [[nodiscard]] Duration operator[](std::size_t id) const {
    return plain_ ? dag_.task_cost(tasks_[id], false) : in_pair(id);
  }
  /// From the end of a pair's first half to the start of its second: back to the common start where they run in one
  /// piece.
  [[nodiscard]] Duration pair_delay(Duration first) const { return in_one_piece_ ? -first : Duration{0}; }

private:
  [[nodiscard]] Duration alone(std::size_t id) const {
    return dag_.task_cost(tasks_[id], !dag_.fates.empty() && dag_.fates[id].recomputed);
  }
  [[nodiscard]] Duration in_pair(std::size_t id) const {
    const Pairing pairing = tasks_[id].pairing;
    if (!in_one_piece_ || pairing == Pairing::alone) return alone(id);
    return pairing == Pairing::first ? pair_length(dag_.pair, alone(id), alone(id + 1))
                                     : pair_length(dag_.pair, alone(id - 1), alone(id));
  }

  const Dag& dag_;
  std::span<const Task> tasks_;
  bool in_one_piece_;
  bool plain_; ///< no pair and no recomputation: the cost table says it all
};

/// Throws the Error (`no`) that names a cycle of `graph`. `waiting[id]` is how many inputs of a task never came; some
/// are above zero.
[[noreturn]] void report_cycle(const Schedule& schedule, const Dag::Graph& graph,
                               const std::vector<std::uint8_t>& waiting, std::string_view where);

} // namespace ppsim
