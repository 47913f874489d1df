// As proposed in pytorch#172833 and #178815: a receive right before the task that needs it, so that it blocks no
// operation that could go first. If two stages send to each other before they receive, it hangs on a communicator that
// both directions share.

#include "ppsim/operations/detail/stage_transfers.hpp"

#include "lowering_list.hpp"

namespace ppsim::lowering::just_in_time {
namespace {

CommOrder place(const TaskGraph& graph, Overlap /*overlap*/) {
  const StageTransfers transfers{graph};
  return order_with(transfers, transfers.latest(), graph.schedule().shape().stages);
}

} // namespace

const Lowering definition{.name = "just-in-time",
                          .summary = "sends after their task, receives right before the task that needs them",
                          .source = "proposed in pytorch#172833 and #178815",
                          .communicators = Communicators::edge,
                          .place = place};

} // namespace ppsim::lowering::just_in_time
