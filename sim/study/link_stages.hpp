#pragma once
// Links as stages of a synthesis: under TransferModel::link a directed link runs one transfer at a time.

#include "ppsim/graph/task_graph.hpp"
#include "ppsim/synthesis/instance.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ppsim {

/// Makes a sequence of each arc of `pipeline` between two stages, on a stage for its link, after those of the pipeline;
/// not if all transfers take no time. Such a stage runs its transfers in any order, and the simulation in one of these
/// orders: a bound for all covers it. `plain`: the graph of the pipeline.
void add_links(const TaskGraph& plain, synthesis::Instance& pipeline);

/// `order`, of the pipeline's stages, with the transfers of each link in the order of the simulation. None if it
/// deadlocks. `instance` may have no links.
[[nodiscard]] std::optional<synthesis::Order> with_transfers(const TaskGraph& plain,
                                                             const synthesis::Instance& instance,
                                                             std::span<const Pass> passes, synthesis::Order order);

/// "F0>1" for the transfers of the pass that `names` calls "F0", appended to the names of the pipeline.
void name_transfers(const synthesis::Instance& instance, std::size_t passes, std::vector<std::string>& names);

} // namespace ppsim
