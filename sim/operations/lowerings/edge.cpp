// As ppsim's own runtime posts them (runtime/program/program.cpp): a communicator per directed edge, so that directions
// and neighbours do not block each other.

#include "ppsim/operations/detail/stage_transfers.hpp"
#include "ppsim/operations/slots.hpp"

#include <algorithm>

#include "lowering_list.hpp"

namespace ppsim::lowering::edge {
namespace {

/// For each transfer, the number of tasks after which its receive finds a free slot.
std::vector<std::uint32_t> free_slots(const TaskGraph& graph, const StageTransfers& transfers) {
  const std::vector<SimTime> ends = unit_ends(graph, transfers);
  std::vector<std::vector<std::uint32_t>> by_edge(transfers.edges());
  for (std::size_t i = 0; i < transfers.all().size(); ++i)
    by_edge[transfers.all()[i].edge].push_back(static_cast<std::uint32_t>(i));
  std::vector<std::uint32_t> places(transfers.all().size());
  std::vector<SimTime> made;
  std::vector<SimTime> used;
  for (const std::vector<std::uint32_t>& edge : by_edge) {
    made.clear();
    used.clear();
    for (const std::uint32_t i : edge) {
      made.push_back(ends[index(transfers.all()[i].sender)]);
      used.push_back(ends[index(transfers.all()[i].receiver)]);
    }
    const std::size_t slots = slots_needed(made, used);
    std::uint32_t behind = 0;
    for (std::size_t k = slots; k < edge.size(); ++k) {
      const StageTransfer& freed = transfers.all()[edge[k - slots]];
      const std::size_t end = index(pair_end(graph.schedule(), freed.receiver));
      behind = std::max(behind, static_cast<std::uint32_t>(end - index(graph.schedule().first_task(freed.to))));
      places[edge[k]] = behind;
    }
  }
  return places;
}

CommOrder place(const TaskGraph& graph, Overlap /*overlap*/) {
  const StageTransfers transfers{graph};
  const std::vector<std::uint32_t> latest = transfers.latest();
  std::vector<std::uint32_t> receives = free_slots(graph, transfers);
  for (std::size_t i = 0; i < receives.size(); ++i) receives[i] = std::min(receives[i], latest[i]);
  return order_with(transfers, receives, graph.schedule().shape().stages);
}

} // namespace

const Lowering definition{.name = "edge",
                          .summary = "sends after their task, receives as soon as a slot of their edge is free",
                          .source = "ppsim's runtime: a communicator per direction",
                          .communicators = Communicators::edge,
                          .place = place};

} // namespace ppsim::lowering::edge
