#pragma once
// From a scenario to the instance of a synthesis, and back from its order to a schedule.

#include "ppsim/graph/task_graph.hpp"
#include "ppsim/synthesis/instance.hpp"

namespace ppsim {

/// The passes of a chunk's sequences, in their order: sequence `passes * chunk + i` is pass i of that chunk.
[[nodiscard]] std::span<const Pass> sequence_passes(bool splits_backward);

/// Chunk by chunk, all microbatches of one: an order of every placement that runs.
[[nodiscard]] Schedule plain_order(const Shape& shape, const std::vector<StageId>& placement, bool splits_backward);

/// What `plain`, the graph of such an order, has to run within which memory: up to `activation_limit` activations on a
/// stage, else the scenario's limit, if it has one.
[[nodiscard]] synthesis::Instance make_instance(const TaskGraph& plain, std::optional<std::size_t> activation_limit);

/// The least memory with which that stage can run at all, in the instance's unit: that of one microbatch. `passes`:
/// those of a chunk.
[[nodiscard]] std::int64_t least_capacity(const synthesis::Instance& instance, std::size_t stage, std::size_t passes);

/// `schedule` as an order of the instance, its microbatches renamed; nothing where it has other passes or another
/// placement.
[[nodiscard]] std::optional<synthesis::Order> as_order(const Schedule& schedule, const TaskGraph& plain);

[[nodiscard]] Schedule to_schedule(const synthesis::Order& order, const TaskGraph& plain);

} // namespace ppsim
