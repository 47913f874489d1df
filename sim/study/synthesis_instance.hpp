#pragma once
// From a scenario to the instance of a synthesis.

#include "ppsim/graph/task_graph.hpp"
#include "ppsim/schedule/detail/sequences.hpp"
#include "ppsim/synthesis/by_microbatch.hpp"

namespace ppsim {

/// Chunk by chunk, all microbatches of one: an order of every placement that runs.
[[nodiscard]] Schedule plain_order(const Shape& shape, const std::vector<StageId>& placement, bool splits_backward);

/// By chunk and pass: the task on microbatch 0.
[[nodiscard]] std::vector<TaskId> first_tasks(const Schedule& schedule, std::span<const Pass> passes);

/// What `plain`, the graph of such an order, has to run within which memory: up to `activation_limit` activations on a
/// stage, else the scenario's limit, if it has one. Under TransferModel::link the links follow as stages of their own.
[[nodiscard]] synthesis::Instance make_instance(const TaskGraph& plain, std::optional<std::size_t> activation_limit);

/// What each task takes in `plain`, where microbatches differ.
[[nodiscard]] synthesis::Durations durations_of(const TaskGraph& plain);

/// The least memory with which that stage can run at all, in the instance's unit: that of one microbatch. `passes`:
/// those of a chunk.
[[nodiscard]] std::int64_t least_capacity(const synthesis::Instance& instance, std::size_t stage, std::size_t passes);

} // namespace ppsim
