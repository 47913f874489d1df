// Everything as early as its communicator permits. Transfers are ordered by the time at which they could leave; every
// communicator takes its operations in that order on both sides, so that it never hangs.

#include <algorithm>
#include <map>
#include <utility>

#include "crossings.hpp"
#include "lowering_list.hpp"

namespace ppsim::lowering {
namespace {

/// What a stage calls the communicator of a transfer: the stage at its other end, and for `edge` the direction.
using Name = std::pair<StageId, bool>;

Name name_of(const Crossing& crossing, bool is_send, Communicators communicators) {
  if (communicators == Communicators::group) return {};
  return {is_send ? crossing.to : crossing.from, communicators == Communicators::edge && is_send};
}

CommOrder place(const TaskGraph& graph, bool /*overlap*/) {
  const Communicators communicators = graph.scenario().network.streams.communicators.value_or(Communicators::edge);
  const Crossings crossings{graph};
  const std::vector<std::uint32_t> in_time = places_in_time(graph, unit_ends(graph, crossings));
  std::vector<std::uint32_t> order(crossings.all().size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return in_time[index(crossings.all()[i].sender)]; });

  std::vector<std::vector<PlacedOp>> stages(graph.schedule().shape().stages);
  std::vector<std::map<Name, std::uint32_t>> behind(stages.size()); // CommOp::before of the last operation
  std::uint64_t key = 0;
  for (const std::uint32_t i : order) {
    const Crossing& crossing = crossings.all()[i];
    behind[index(crossing.from)][name_of(crossing, true, communicators)] = crossing.send_from;
    stages[index(crossing.from)].push_back(
        {{.sender = crossing.sender, .before = crossing.send_from, .is_send = true}, key});
    const std::uint32_t before = behind[index(crossing.to)][name_of(crossing, false, communicators)];
    stages[index(crossing.to)].push_back({{.sender = crossing.sender, .before = before}, key});
    ++key;
  }
  return sorted_order(std::move(stages));
}

} // namespace

const Lowering eager{.name = "eager",
                     .summary = "sends behind their task, receives as early as the order on their communicator permits",
                     .source = "the earliest order that can not hang",
                     .communicators = Communicators::edge,
                     .place = place};

} // namespace ppsim::lowering
