#pragma once
// The graph behind TaskGraph: Boost's compressed sparse row graph and the tables that the engines read beside it.
// Boost.Graph takes seconds to compile, so only the files that walk the graph include this one.

#include "ppsim/sim/timeline.hpp"

#include <boost/graph/compressed_sparse_row_graph.hpp>

#include <algorithm>
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

struct Dag {
  using Graph = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, EdgeTag, boost::no_property,
                                                   std::uint32_t, std::uint32_t>;
  Graph graph;
  std::vector<std::uint8_t> in_degree;
  std::vector<TaskId> topological_order;
  std::vector<Duration> cost;                         ///< [pass * chunks + chunk], overhead included
  std::vector<Duration> collective;                   ///< likewise, the part of it that is communication; empty: none
  std::array<std::vector<Duration>, 2> transfer_time; ///< per boundary: same node, other node
  std::array<std::vector<Duration>, 2> slice_time;    ///< likewise, of the last slice; empty where outputs leave whole
  std::int64_t slices = 1;
  std::size_t transfers = 0;
  Bytes transfer_volume{};
  bool has_pairs = false;
  std::size_t chunks = 0;
  PairRule pair;

  [[nodiscard]] std::size_t cost_index(const Task& task) const {
    return static_cast<std::size_t>(task.pass) * chunks + task.chunk_index;
  }
  [[nodiscard]] Duration task_cost(const Task& task) const { return cost[cost_index(task)]; }
  /// The part of task_cost() that is communication.
  [[nodiscard]] Duration collective_of(const Task& task) const {
    return collective.empty() ? Duration{0} : collective[cost_index(task)];
  }
  /// Boundary between chunks that the output of `sender` crosses.
  [[nodiscard]] static std::size_t boundary_of(const Task& sender) {
    return sender.pass == Pass::forward ? sender.chunk_index : sender.chunk_index - std::size_t{1};
  }
  /// Time of the transfer that `sender` starts, over a link of class `link`.
  [[nodiscard]] Duration transfer_of(const Task& sender, LinkClass link) const {
    return transfer_time[link == LinkClass::same_node ? 0 : 1][boundary_of(sender)];
  }
  /// Time of its last slice.
  [[nodiscard]] Duration slice_of(const Task& sender, LinkClass link) const {
    return slice_time[link == LinkClass::same_node ? 0 : 1][boundary_of(sender)];
  }
  /// Whether the output of `sender` leaves in slices: they are of use where its size takes time.
  [[nodiscard]] bool is_sliced(const Task& sender, LinkClass link) const {
    return slices > 1 && link != LinkClass::none && slice_of(sender, link) < transfer_of(sender, link);
  }
  /// When the first slice of a task is made.
  [[nodiscard]] SimTime first_slice(const Span& task) const {
    return task.start + Duration{(task.length().count() + slices - 1) / slices};
  }
  /// The transfer in slices of a task that ran in `task`, on a link that it gets at `begin`: slices follow each other,
  /// and the last one can not leave before the task has ended.
  [[nodiscard]] Span sliced_transfer(const Task& sender, LinkClass link, const Span& task, SimTime begin) const {
    return {begin, std::max(begin + transfer_of(sender, link), task.end + slice_of(sender, link))};
  }
};

/// How long each task of `tasks` lasts; the hot loops' form of TaskGraph::duration.
class Durations {
public:
  Durations(const Dag& dag, std::span<const Task> tasks)
      : dag_{dag}, tasks_{tasks}, in_one_piece_{dag.has_pairs && dag.pair.kind != PairRule::Kind::serial} {}
  [[nodiscard]] Duration operator[](std::size_t id) const {
    const Task& task = tasks_[id];
    const Duration own = dag_.task_cost(task);
    return !in_one_piece_ || task.pairing == Pairing::alone ? own : pair_length(id);
  }
  /// From the end of a pair's first half to the start of its second: back to the common start where they run in one
  /// piece.
  [[nodiscard]] Duration pair_delay(Duration first) const { return in_one_piece_ ? -first : Duration{0}; }

private:
  /// Length of the pair, in one piece, that task `id` is a half of. Not in the header: it would slow the loops over
  /// tasks without pairs.
  [[nodiscard]] Duration pair_length(std::size_t id) const;

  const Dag& dag_;
  std::span<const Task> tasks_;
  bool in_one_piece_;
};

/// Throws the Error (`no`) that names a cycle of `graph`. `waiting[id]` is how many inputs of a task never came; some
/// are above zero.
[[noreturn]] void report_cycle(const Schedule& schedule, const Dag::Graph& graph,
                               const std::vector<std::uint8_t>& waiting, std::string_view where);

} // namespace ppsim
