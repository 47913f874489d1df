#pragma once
// The transfer model `streams`: sends and receives as NCCL runs them (SPEC section 2; docs/communication.md).

#include "ppsim/graph/timeline.hpp"
#include "ppsim/operations/lowering.hpp"

#include <optional>
#include <span>

namespace ppsim {

/// Simulates `graph` with the operations of `order` on `communicators`; Network::streams says the rest. A task is
/// launched after the task before it on its stage; an operation after the `before` tasks of its stage, and on each
/// communicator one after the other (those of one group on one communicator together). Between the halves of a pair
/// nothing is launched: what is there, is after both. A transfer flows when its send
/// and its receive are both in front (rendezvous); one of fewer bytes than Streams::eager_below when its send is.
/// Stages start at zero, or when `stage_ready` says. What follows the tasks (Scenario::update) is in the timeline too.
/// Throws Error (`no`) where data would go astray (find_mismatch) and where the order hangs (find_hang).
[[nodiscard]] Timeline simulate(const TaskGraph& graph, const CommOrder& order, Communicators communicators,
                                std::span<const SimTime> stage_ready = {});
/// The same from zero, of an order without find_mismatch(); nothing where it hangs.
[[nodiscard]] std::optional<Timeline> try_simulate(const TaskGraph& graph, const CommOrder& order,
                                                   Communicators communicators);

} // namespace ppsim
