#include "link_stages.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/graph/detail/dag.hpp"
#include "ppsim/schedule/detail/sequences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace ppsim {
namespace {

/// The links of a network, numbered from the number of stages on.
class LinkNumbers {
public:
  explicit LinkNumbers(const Scenario& scenario) : network_{scenario.network}, stages_{scenario.shape.stages} {}

  /// As in the simulation: a node has one uplink to all other nodes.
  std::uint32_t between(std::uint32_t from, std::uint32_t to) {
    const std::optional<std::size_t> node = network_.uplink(make_id<StageId>(from), make_id<StageId>(to));
    const std::pair<std::size_t, std::size_t> link{node.value_or(from), node ? stages_ : to};
    return static_cast<std::uint32_t>(stages_ + numbers_.try_emplace(link, numbers_.size()).first->second);
  }

  [[nodiscard]] std::size_t size() const { return numbers_.size(); }

private:
  const Network& network_;
  std::size_t stages_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> numbers_; // the uplink of node n: {n, stages}
};

/// By sequence of the pipeline: the sequence of its transfers, or no_transfer.
constexpr std::uint32_t no_transfer = 0xFFFF'FFFF;
std::vector<std::uint32_t> transfers_of(const synthesis::Instance& instance, std::size_t pipeline) {
  std::vector<std::uint32_t> result(pipeline, no_transfer);
  for (const synthesis::Arc& arc : instance.arcs)
    if (arc.to >= pipeline) result[arc.from] = arc.to;
  return result;
}

} // namespace

void add_links(const TaskGraph& plain, synthesis::Instance& pipeline) {
  if (std::ranges::all_of(pipeline.arcs, [](const synthesis::Arc& arc) { return arc.lag == 0; })) return;
  LinkNumbers links{plain.scenario()};
  const std::size_t arcs = pipeline.arcs.size();
  for (std::size_t i = 0; i < arcs; ++i) {
    const synthesis::Arc arc = pipeline.arcs[i];
    const std::uint32_t sender = pipeline.sequences[arc.from].stage;
    const std::uint32_t receiver = pipeline.sequences[arc.to].stage;
    if (sender == receiver) continue;
    const auto transfer = static_cast<std::uint32_t>(pipeline.sequences.size());
    pipeline.sequences.push_back({.stage = links.between(sender, receiver), .duration = arc.lag});
    pipeline.arcs[i] = {arc.from, transfer, 0};
    pipeline.arcs.push_back({transfer, arc.to, 0});
  }
  pipeline.capacity.resize(pipeline.capacity.size() + links.size(), synthesis::unlimited);
}

std::optional<synthesis::Order> with_transfers(const TaskGraph& plain, const synthesis::Instance& instance,
                                               std::span<const Pass> passes, synthesis::Order order) {
  const Shape& shape = plain.schedule().shape();
  if (instance.stages() == shape.stages) return order;
  const std::vector<std::uint32_t> transfer = transfers_of(instance, passes.size() * shape.chunks());
  using Sent = std::pair<std::pair<SimTime, SimTime>, std::uint32_t>; // from start to end, by that sequence
  std::vector<std::vector<Sent>> of_link(instance.stages() - shape.stages);
  try {
    const TaskGraph graph = lower(as_schedule("transfers", shape, order, passes), plain.scenario());
    const Timeline timeline = simulate(graph);
    for (const TaskId id : graph.dag().wiring->topological_order) {
      const Task& task = graph.schedule().task(id);
      const auto pass = static_cast<std::size_t>(std::ranges::find(passes, task.pass) - passes.begin());
      const std::uint32_t own = transfer[passes.size() * task.chunk_index + pass];
      if (own == no_transfer) continue;
      const auto& sent = timeline.transfers[index(id)];
      of_link[instance.sequences[own].stage - shape.stages].emplace_back(std::pair{sent.start, sent.end}, own);
    }
  } catch (const Error& error) {
    if (error.code() != ExitCode::no) throw;
    return std::nullopt;
  }
  for (auto& transfers : of_link) {
    // those at the same time, which take none, stay in topological order
    std::ranges::stable_sort(transfers, {}, &Sent::first);
    std::vector<std::uint16_t>& row = order.emplace_back();
    for (const auto& [time, own] : transfers) row.push_back(static_cast<std::uint16_t>(own));
  }
  return order;
}

void name_transfers(const synthesis::Instance& instance, std::size_t passes, std::vector<std::string>& names) {
  const std::size_t pipeline = names.size();
  names.resize(instance.sequences.size());
  for (const synthesis::Arc& arc : instance.arcs) {
    if (arc.from >= pipeline) names[arc.from] += fmt::format(">{}", arc.to / passes);
    if (arc.to >= pipeline) names[arc.to].insert(0, names[arc.from]);
  }
}

} // namespace ppsim
