#pragma once
// Overlapped pairs in a synthesis: pieces of an order, with whole backwards if they are split.

#include "ppsim/graph/task_graph.hpp"
#include "ppsim/synthesis/pieces.hpp"

namespace ppsim {

/// Whether the rule makes some pair shorter than its halves.
[[nodiscard]] bool pairs_overlap(const Scenario& scenario);

/// The pairs, and whole backwards if they are split, that may run beside the tasks of `instance`, which is that of
/// `plain` under TransferModel::latency, where microbatches cost the same.
[[nodiscard]] synthesis::Pieces pieces_of(const TaskGraph& plain, std::span<const Pass> passes,
                                          synthesis::Instance instance);

/// As as_order(), with pairs and whole backwards in one piece. None also where a pair is none of `pieces`.
[[nodiscard]] std::optional<synthesis::Order> as_pieces(const Schedule& schedule, std::span<const StageId> placement,
                                                        std::span<const Pass> passes, const synthesis::Pieces& pieces);

[[nodiscard]] Schedule as_schedule(std::string_view name, const Shape& shape, const synthesis::Order& order,
                                   std::span<const Pass> passes, const synthesis::Pieces& pieces);

} // namespace ppsim
