// Every operation as early as its communicator permits. Transfers are ordered by the time at which they could be sent;
// every communicator takes its operations in that order on both sides, so it never hangs.

#include "ppsim/base/error.hpp"
#include "ppsim/operations/detail/ranked.hpp"

#include <optional>

#include "lowering_list.hpp"

namespace ppsim::lowering::eager {
namespace {

CommOrder place(const TaskGraph& graph, Overlap /*overlap*/) {
  const Communicators communicators = graph.scenario().network.streams.communicators.value_or(Communicators::edge);
  const StageTransfers transfers{graph};
  const std::vector<std::uint32_t> places = places_in_time(graph, unit_ends(graph, transfers));
  const std::optional<CommOrder> order =
      ranked_order(transfers, by_sender(transfers, places), communicators, graph.schedule().shape().stages);
  PPSIM_ASSERT(order.has_value()); // a transfer made before a task is needed is sent before that task's output
  return *order;
}

} // namespace

const Lowering definition{.name = "eager",
                          .summary =
                              "sends after their task, receives as early as the order on their communicator permits",
                          .source = "the earliest order that cannot hang",
                          .communicators = Communicators::edge,
                          .place = place};

} // namespace ppsim::lowering::eager
