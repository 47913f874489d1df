#pragma once
// Overlapped pairs in a synthesis: pieces of an order, with whole backwards if they are split.

#include "ppsim/graph/task_graph.hpp"
#include "ppsim/synthesis/pieces.hpp"

namespace ppsim {

/// The pairs, and whole backwards, that may run beside the tasks of `instance`, which is that of `plain` under
/// TransferModel::latency. No joints if no pair is shorter than its halves.
[[nodiscard]] synthesis::Pieces pieces_of(const TaskGraph& plain, std::span<const Pass> passes,
                                          synthesis::Instance instance);

/// As as_order(), with pairs and whole backwards in one piece. None also where a pair is none of `pieces`.
[[nodiscard]] std::optional<synthesis::Order> as_pieces(const Schedule& schedule, std::span<const StageId> placement,
                                                        std::span<const Pass> passes, const synthesis::Pieces& pieces);

[[nodiscard]] Schedule as_schedule(std::string_view name, const Shape& shape, const synthesis::Order& order,
                                   std::span<const Pass> passes, const synthesis::Pieces& pieces);

/// Makes the best order of pieces of the orders of tasks that a search finds.
class PieceSearch {
public:
  /// `known`: begins with the best of them.
  PieceSearch(const synthesis::Pieces& pieces, std::uint64_t seed, std::vector<synthesis::PiecePlan> known);

  /// For SearchOptions::as_run.
  synthesis::Plan as_run(synthesis::Plan plan);
  /// Improves the best order: so many rounds of `effort`, on up to `threads` threads, whose number changes nothing,
  /// until `ends`, or it takes at most `target` ns. The steps that it took. `ends`: asked by several threads at the
  /// same time.
  std::uint64_t finish(std::uint64_t effort, std::int64_t target, std::size_t threads,
                       const std::function<bool()>& ends);

  [[nodiscard]] const std::optional<synthesis::PiecePlan>& best() const { return best_; }

private:
  void take(synthesis::PiecePlan plan);

  const synthesis::Pieces& pieces_;
  std::uint64_t seed_;
  std::optional<synthesis::PiecePlan> best_;
};

} // namespace ppsim
