#include "ppsim/study/balance.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/report/detail/memory.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace ppsim {
namespace {

Bytes excess_of(const TaskGraph& graph, const Timeline& timeline) {
  Bytes excess;
  const std::optional<Bytes> limit = graph.scenario().memory.limit;
  for (std::size_t position = 0; limit && position < graph.schedule().shape().stages; ++position) {
    const auto stage = make_id<StageId>(position);
    Bytes bytes = static_bytes(graph, stage, weight_versions(graph, timeline, stage));
    Bytes peak = bytes;
    walk_activations(graph, timeline, stage, [&](SimTime, Bytes change, int, TaskId) {
      bytes += change;
      peak = std::max(peak, bytes);
    });
    excess = std::max(excess, peak - *limit);
  }
  return excess;
}

/// By stage. An overlapped pair that runs in one piece counts once.
std::vector<Duration> busy_times(const TaskGraph& graph, const Timeline& timeline) {
  const Schedule& schedule = graph.schedule();
  std::vector<Duration> busy(schedule.shape().stages);
  for (const StageId stage : schedule.stage_ids()) {
    SimTime until{};
    for (const TaskId id : schedule.task_ids(stage)) {
      const Span& span = timeline.tasks[index(id)];
      busy[index(stage)] += std::max(span.end, until) - std::max(span.start, until);
      until = std::max(until, span.end);
    }
  }
  return busy;
}

/// Moves one layer from one chunk to another.
struct Move {
  std::uint16_t from = 0;
  std::uint16_t to = 0;
};

class Search {
public:
  Search(const BalanceStart& start, const SplitObjective& value, std::size_t most_tries)
      : start_{start}, value_{value}, most_tries_{most_tries} {
    for (const ChunkBlocks& blocks : start.layout)
      least_.push_back(blocks.embedding || blocks.loss || blocks.mtp_layers > 0 || blocks.layers == 0 ? 0 : 1);
  }

  Balance run() {
    const bool allowed = try_split(start_.layout);
    PPSIM_ASSERT(allowed);
    even_out();
    explore();
    const Node& best = nodes_[best_];
    return {.start = start_,
            .layout = best.layout,
            .start_step_time = nodes_[0].value.step_time,
            .step_time = best.value.step_time,
            .start_fits = nodes_[0].value.excess == Bytes{},
            .fits = best.value.excess == Bytes{},
            .tried = tried_,
            .settled = best.expanded && best.next == best.moves.size()};
  }

private:
  /// A tried split.
  struct Node {
    Layout layout;
    SplitValue value;
    std::vector<Move> moves = {}; ///< to its neighbours, the most promising first; empty until expanded
    std::size_t next = 0;         ///< the first untried move
    bool expanded = false;
  };
  /// The order of splits: less is better.
  using Rank = std::tuple<Bytes, Duration, std::size_t, std::vector<std::size_t>>;
  static constexpr std::size_t most_ends = 64;       ///< most chunks that moves start from, and end at
  static constexpr std::size_t least_patience = 256; ///< splits without improvement before the search ends

  static std::vector<std::size_t> layers_of(const Layout& layout) {
    std::vector<std::size_t> layers;
    layers.reserve(layout.size());
    for (const ChunkBlocks& blocks : layout) layers.push_back(blocks.layers);
    return layers;
  }

  [[nodiscard]] std::size_t moved(const Layout& layout) const {
    std::size_t sum = 0;
    for (std::size_t chunk = 0; chunk < layout.size(); ++chunk)
      sum += std::max(layout[chunk].layers, start_.layout[chunk].layers) -
             std::min(layout[chunk].layers, start_.layout[chunk].layers);
    return sum / 2;
  }

  [[nodiscard]] Rank rank_of(const Node& node) const {
    return {node.value.excess, node.value.step_time, moved(node.layout), layers_of(node.layout)};
  }

  /// Adds the split to the nodes unless it was already tried or is not allowed.
  bool try_split(const Layout& layout) {
    if (!seen_.insert(layers_of(layout)).second) return false;
    ++tried_;
    std::optional<SplitValue> value = value_(layout);
    if (!value) return false;
    nodes_.push_back({layout, std::move(*value)});
    const Rank rank = rank_of(nodes_.back());
    open_.emplace(rank, nodes_.size() - 1);
    if (nodes_.size() == 1 || rank < best_rank_) {
      best_ = nodes_.size() - 1;
      best_rank_ = rank;
      since_best_ = 0;
    }
    return true;
  }

  [[nodiscard]] static Layout after(const Layout& layout, const Move& move) {
    Layout changed = layout;
    --changed[move.from].layers;
    ++changed[move.to].layers;
    return changed;
  }

  /// Moves layers from the busiest stage to the least busy one while that reduces the maximum.
  void even_out() {
    for (std::size_t at = 0; tried_ < most_tries_;) {
      const std::vector<Move> moves = moves_from(nodes_[at], 1);
      if (moves.empty() || !try_split(after(nodes_[at].layout, moves.front()))) return;
      const std::size_t next = nodes_.size() - 1;
      if (busiest(nodes_[next]) >= busiest(nodes_[at])) return;
      at = next;
    }
  }

  [[nodiscard]] static Duration busiest(const Node& node) { return std::ranges::max(node.value.load); }

  void explore() {
    const std::size_t neighbours = start_.layout.size() * start_.layout.size();
    const std::size_t patience = std::max(least_patience, 4 * neighbours);
    while (!open_.empty() && tried_ < most_tries_ && since_best_ < patience) {
      const std::size_t at = open_.begin()->second;
      if (!nodes_[at].expanded) {
        nodes_[at].moves = moves_from(nodes_[at], most_ends);
        nodes_[at].expanded = true;
      }
      if (nodes_[at].next == nodes_[at].moves.size()) {
        open_.erase(open_.begin());
        continue;
      }
      ++since_best_;
      try_split(after(nodes_[at].layout, nodes_[at].moves[nodes_[at].next++]));
    }
  }

  /// Moves between the `ends` chunks with the most load and the `ends` with the least, the largest difference first.
  [[nodiscard]] std::vector<Move> moves_from(const Node& node, std::size_t ends) const {
    const std::vector<Duration>& load = node.value.load;
    std::vector<std::uint16_t> givers;
    std::vector<std::uint16_t> takers;
    for (std::size_t chunk = 0; chunk < load.size(); ++chunk) {
      takers.push_back(static_cast<std::uint16_t>(chunk));
      if (node.layout[chunk].layers > least_[chunk]) givers.push_back(static_cast<std::uint16_t>(chunk));
    }
    const auto layers = [&](std::uint16_t chunk) { return node.layout[chunk].layers; };
    // Of equally loaded chunks, such as those of one stage, the longest gives and the shortest takes.
    std::ranges::stable_sort(givers, [&](std::uint16_t a, std::uint16_t b) {
      return load[a] != load[b] ? load[a] > load[b] : layers(a) > layers(b);
    });
    std::ranges::stable_sort(takers, [&](std::uint16_t a, std::uint16_t b) {
      return load[a] != load[b] ? load[a] < load[b] : layers(a) < layers(b);
    });
    givers.resize(std::min(givers.size(), ends));
    takers.resize(std::min(takers.size(), ends));
    std::vector<Move> moves;
    for (const std::uint16_t from : givers)
      for (const std::uint16_t to : takers)
        if (from != to) moves.push_back({from, to});
    std::ranges::stable_sort(moves, std::greater{}, [&](const Move& move) { return load[move.from] - load[move.to]; });
    return moves;
  }

  const BalanceStart& start_;
  const SplitObjective& value_;
  std::size_t most_tries_;
  std::vector<std::size_t> least_; ///< the fewest layers of each chunk
  std::vector<Node> nodes_;
  std::set<std::pair<Rank, std::size_t>> open_; ///< nodes with untried neighbours, the best first
  std::set<std::vector<std::size_t>> seen_;
  std::size_t best_ = 0;
  Rank best_rank_;
  std::size_t tried_ = 0;
  std::size_t since_best_ = 0; ///< neighbours tried since the best was found
};

} // namespace

SplitValue split_value(const TaskGraph& graph, const Timeline& timeline, Duration step_time) {
  const std::vector<Duration> busy = busy_times(graph, timeline);
  const HeldChunks held{graph.schedule()};
  SplitValue value{excess_of(graph, timeline), step_time, std::vector<Duration>(graph.schedule().shape().chunks())};
  for (const StageId stage : graph.schedule().stage_ids())
    for (const std::uint16_t chunk : held.of(stage))
      value.load[chunk] = std::max(value.load[chunk], busy[index(stage)]);
  return value;
}

Balance balance(const BalanceStart& start, const SplitObjective& value, std::size_t most_tries) {
  return Search{start, value, most_tries}.run();
}

} // namespace ppsim
