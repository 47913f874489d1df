// As pytorch#172833 and #178815 propose: a receive right before the task that needs it, so that it holds up nothing
// that could go before it. Where two stages send to each other before they receive, it hangs on a communicator that
// both directions share.

#include "ppsim/operations/detail/crossings.hpp"

#include "lowering_list.hpp"

namespace ppsim::lowering::just_in_time {
namespace {

CommOrder place(const TaskGraph& graph, Overlap /*overlap*/) {
  const Crossings crossings{graph};
  const std::vector<std::uint32_t> latest = crossings.latest();
  std::vector<std::vector<PlacedOp>> stages(graph.schedule().shape().stages);
  for (std::size_t i = 0; i < crossings.all().size(); ++i) {
    const Crossing& crossing = crossings.all()[i];
    stages[index(crossing.from)].push_back(
        {{.sender = crossing.sender, .before = crossing.send_from, .is_send = true}, i});
    stages[index(crossing.to)].push_back({{.sender = crossing.sender, .before = latest[i]}, receives_behind | i});
  }
  return sorted_order(std::move(stages));
}

} // namespace

const Lowering definition{.name = "just-in-time",
                          .summary = "sends behind their task, receives right before the task that needs them",
                          .source = "proposed in pytorch#172833 and #178815",
                          .communicators = Communicators::edge,
                          .place = place};

} // namespace ppsim::lowering::just_in_time
