#pragma once
// Maps the tasks of a pipeline to the sequences of a synthesis: pass i of chunk c is sequence `passes * c + i`.

#include "ppsim/schedule/schedule.hpp"
#include "ppsim/synthesis/instance.hpp"

namespace ppsim {

/// The passes of a chunk in their order: F, I, W, or F, B.
[[nodiscard]] std::span<const Pass> sequence_passes(bool splits_backward);

/// The dependencies with `passes` passes per chunk: each pass of a chunk waits for the one before it, forwards for
/// those of the chunk before, gradients for those of the chunk after. `lags`: transfer time of each boundary in ns,
/// both directions.
[[nodiscard]] std::vector<synthesis::Arc> pipeline_arcs(std::size_t passes, std::span<const std::int64_t> lags);

/// `schedule` as an order of the sequences, with renumbered microbatches. If `passes` are split, a B counts as I
/// followed by W. None if it has other passes, or a chunk on another stage than in `placement`.
[[nodiscard]] std::optional<synthesis::Order> as_order(const Schedule& schedule, std::span<const StageId> placement,
                                                       std::span<const Pass> passes);

[[nodiscard]] Schedule as_schedule(std::string_view name, const Shape& shape, const synthesis::Order& order,
                                   std::span<const Pass> passes);

} // namespace ppsim
