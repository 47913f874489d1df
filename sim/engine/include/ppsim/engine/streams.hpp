#pragma once
// The transfer model `streams`: sends and receives as NCCL runs them (SPEC section 2; docs/communication.md).

#include "ppsim/graph/timeline.hpp"
#include "ppsim/operations/lowering.hpp"

#include <optional>
#include <span>

namespace ppsim {

/// Simulates `graph` with the operations of `order` on `communicators`, under the rules of Network::streams. A task is
/// launched after the task before it on its stage. An operation is launched after the first `before` tasks of its
/// stage; on each communicator, operations run one after the other (those of one group together). Operations between
/// the halves of a pair are launched after both. A transfer flows when its send and its receive are both at the front
/// (rendezvous), or with fewer bytes than Streams::eager_below when its send is. Stages start at zero or at
/// `stage_ready`. The timeline includes the work after the tasks (Scenario::update). Throws Error (`no`) if data would
/// be misdelivered (find_mismatch) or the order hangs (find_hang).
[[nodiscard]] Timeline simulate(const TaskGraph& graph, const CommOrder& order, Communicators communicators,
                                std::span<const SimTime> stage_ready = {});
/// The same from time zero, for an order without find_mismatch(); none if it hangs.
[[nodiscard]] std::optional<Timeline> try_simulate(const TaskGraph& graph, const CommOrder& order,
                                                   Communicators communicators);

} // namespace ppsim
