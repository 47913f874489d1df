#pragma once
// How the tasks of a pipeline are the sequences of a synthesis: pass i of chunk c is sequence `passes * c + i`.

#include "ppsim/schedule/schedule.hpp"
#include "ppsim/synthesis/instance.hpp"

namespace ppsim {

/// The passes of a chunk in their order: F, I, W, or F, B.
[[nodiscard]] std::span<const Pass> sequence_passes(bool splits_backward);

/// Who waits for whom, with so many passes per chunk: each pass of a chunk for the one before, forwards for those of
/// the chunk before, gradients for those of the chunk behind. `lags`: of each boundary, ns, both ways.
[[nodiscard]] std::vector<synthesis::Arc> pipeline_arcs(std::size_t passes, std::span<const std::int64_t> lags);

/// `schedule` as an order of the sequences, its microbatches renamed; where the passes are split and it runs a B, as I
/// and W one after the other. Nothing where it has other passes, or a chunk on another stage than `placement` says.
[[nodiscard]] std::optional<synthesis::Order> as_order(const Schedule& schedule, std::span<const StageId> placement,
                                                       std::span<const Pass> passes);

[[nodiscard]] Schedule as_schedule(std::string_view name, const Shape& shape, const synthesis::Order& order,
                                   std::span<const Pass> passes);

} // namespace ppsim
