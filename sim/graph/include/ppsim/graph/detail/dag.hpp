#pragma once
// The graph of a TaskGraph: Boost's compressed sparse row graph and the tables that the engines read. Boost.Graph takes
// seconds to compile, so only files that walk the graph include this header.

#include "ppsim/graph/timeline.hpp"

#include <boost/graph/compressed_sparse_row_graph.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace ppsim {

/// Whether an edge is a transfer, and the class of its link. Two more classes follow for each of
/// Network::unusual_links, see unusual().
enum class LinkClass : std::uint8_t { none, same_node, inter_node };

/// The class of Network::unusual_links[at].
[[nodiscard]] constexpr LinkClass unusual(std::size_t at, bool same_node) {
  return static_cast<LinkClass>(2 * (at + 1) + (same_node ? 1 : 2));
}

/// The data stored with each edge, in one byte because there are two edges per task: its cause, or the class of its
/// link. The cause of a transfer follows from its sender's pass.
class EdgeTag {
public:
  EdgeTag() = default;
  explicit EdgeTag(Cause cause) : code_{static_cast<std::uint8_t>(cause)} {}
  explicit EdgeTag(LinkClass link) : code_{static_cast<std::uint8_t>(static_cast<std::size_t>(link) + causes)} {}
  [[nodiscard]] LinkClass link() const {
    return code_ > causes ? static_cast<LinkClass>(code_ - causes) : LinkClass::none;
  }
  [[nodiscard]] Cause cause(const Task& sender) const {
    if (code_ <= causes) return static_cast<Cause>(code_);
    return sender.pass == Pass::forward ? Cause::activation : Cause::gradient;
  }
  [[nodiscard]] bool is_pair() const { return code_ == static_cast<std::uint8_t>(Cause::pair); }

private:
  static constexpr std::size_t causes = static_cast<std::size_t>(Cause::send_gradient);
  static_assert(2 * (Network::max_unusual_links + 1) + causes <= UINT8_MAX);
  std::uint8_t code_ = 0;
};

/// How the activation that a task makes or uses is kept.
struct ActivationHandling {
  bool recomputed : 1 = false;
  bool output_released : 1 = false; ///< its forward's output goes to another stage and is then freed
};

/// The part that depends on the order alone; graphs with other costs share it.
struct Wiring {
  using Graph = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, EdgeTag, boost::no_property,
                                                   std::uint32_t, std::uint32_t>;
  Graph graph;
  std::vector<TaskId> topological_order;
  std::vector<std::size_t> transfers; ///< by boundary, both ways
  bool has_pairs = false;
};

struct Dag {
  static constexpr std::size_t pass_count = 4;
  std::shared_ptr<const Wiring> wiring;
  std::vector<Duration> cost;               ///< [row * chunks + chunk], overhead included; see task_cost()
  std::vector<Duration> collective;         ///< [pass * chunks + chunk], the communication part; empty: none
  std::vector<ActivationHandling> handling; ///< by task; empty if every activation is kept whole
  std::vector<Duration> own_cost;           ///< by task, if it runs alone; empty if task_cost() suffices, without
                                            ///< Costs::stage_ppm, costs by microbatch and set_times()
  std::vector<std::vector<Duration>> transfer_time; ///< by class of link, then boundary
  std::vector<std::vector<Duration>> slice_time;    ///< as above, of the last slice; empty if outputs are not sliced
  std::int64_t slices = 1;
  std::size_t chunks = 0;
  PairRule pair;

  /// One row per pass, then one row per pass for tasks whose activation is recomputed.
  [[nodiscard]] Duration task_cost(const Task& task, bool recomputed) const {
    const std::size_t row = static_cast<std::size_t>(task.pass) + (recomputed ? pass_count : 0);
    return cost[row * chunks + task.chunk_index];
  }
  /// The communication part of task_cost().
  [[nodiscard]] Duration collective_of(const Task& task) const {
    return collective.empty() ? Duration{0}
                              : collective[static_cast<std::size_t>(task.pass) * chunks + task.chunk_index];
  }
  /// Whether both halves of a pair start and end together.
  [[nodiscard]] bool runs_pairs_in_one_piece() const {
    return wiring->has_pairs && pair.kind != PairRule::Kind::serial;
  }
  /// The time of a pair, if its halves take `alone` and `other_alone` when they run alone.
  [[nodiscard]] Duration pair_time(const Task& half, Duration alone, const Task& other, Duration other_alone) const;
  /// The boundary between chunks that the output of `sender` crosses.
  [[nodiscard]] static std::size_t boundary_of(const Task& sender) {
    return sender.pass == Pass::forward ? sender.chunk_index : sender.chunk_index - std::size_t{1};
  }
  /// The row of `link` in the tables of transfer times; not for `none`.
  [[nodiscard]] static std::size_t row_of(LinkClass link) { return static_cast<std::size_t>(link) - 1; }
  /// Time of the transfer that `sender` starts, over a link of class `link`.
  [[nodiscard]] Duration transfer_of(const Task& sender, LinkClass link) const {
    return transfer_time[row_of(link)][boundary_of(sender)];
  }
  /// Time of the transfer's last slice.
  [[nodiscard]] Duration slice_of(const Task& sender, LinkClass link) const {
    return slice_time[row_of(link)][boundary_of(sender)];
  }
  /// Whether the output of `sender` is sliced: only if its transfer time depends on its size.
  [[nodiscard]] bool is_sliced(const Task& sender, LinkClass link) const {
    return slices > 1 && link != LinkClass::none && slice_of(sender, link) < transfer_of(sender, link);
  }
  /// When the first slice of a task is complete.
  [[nodiscard]] SimTime first_slice(const Span& task) const {
    return task.start + Duration{(task.length().count() + slices - 1) / slices};
  }
  /// The sliced transfer of a task that ran in `task`, if the link is free at `begin`. Slices follow each other; the
  /// last one cannot leave before the task has ended.
  [[nodiscard]] Span sliced_transfer(const Task& sender, LinkClass link, const Span& task, SimTime begin) const {
    return {begin, std::max(begin + transfer_of(sender, link), task.end + slice_of(sender, link))};
  }
};

/// The duration of each task of `tasks`; TaskGraph::duration() for hot loops.
class Durations {
public:
  Durations(const Dag& dag, std::span<const Task> tasks)
      : dag_{dag}, tasks_{tasks}, in_one_piece_{dag.runs_pairs_in_one_piece()},
        plain_{!in_one_piece_ && dag.handling.empty() && dag.own_cost.empty()} {}
  [[nodiscard]] Duration operator[](std::size_t id) const {
    return plain_ ? dag_.task_cost(tasks_[id], false) : not_plain(id);
  }
  /// From the end of a pair's first half to the start of its second: negative if they run in one piece, to return to
  /// the common start.
  [[nodiscard]] Duration pair_delay(Duration first) const { return in_one_piece_ ? -first : Duration{0}; }

  /// Its duration if it runs alone, outside a pair.
  [[nodiscard]] Duration alone(std::size_t id) const {
    if (!dag_.own_cost.empty()) return dag_.own_cost[id];
    return dag_.task_cost(tasks_[id], !dag_.handling.empty() && dag_.handling[id].recomputed);
  }

private:
  /// For any task. Not inline, because it would slow loops over uniform tasks.
  [[nodiscard]] Duration not_plain(std::size_t id) const;

  const Dag& dag_;
  std::span<const Task> tasks_;
  bool in_one_piece_;
  bool plain_; ///< no pair, recomputation or stage factor: the cost table suffices
};

/// The number of inputs that each task waits for.
[[nodiscard]] std::vector<std::uint8_t> count_inputs(const Wiring::Graph& graph);

/// Throws Error (`no`) with a cycle of `graph`. `waiting[id]`: how many inputs of a task are missing; at least one is
/// above zero.
[[noreturn]] void report_cycle(const Schedule& schedule, const Wiring::Graph& graph,
                               const std::vector<std::uint8_t>& waiting, std::string_view where);

} // namespace ppsim
