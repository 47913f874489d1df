#include "program_graph.hpp"

#include <algorithm>
#include <queue>
#include <utility>

namespace ppsim::runtime {
namespace {

using Node = ProgramGraph::Node;

Node node_of(TaskId id) {
  return static_cast<Node>(index(id));
}

/// For each channel the tasks that use its transfers, in the order of their stage: the order in which slots get free.
std::vector<std::vector<Node>> consumers_in_order(const Program& program) {
  std::vector<std::vector<Node>> consumers(program.channels.size());
  for (std::size_t channel = 0; channel < consumers.size(); ++channel)
    consumers[channel].reserve(program.channels[channel].transfers.size());
  for (const StageProgram& stage : program.stages)
    for (const ProgramTask& task : stage.tasks)
      if (task.input) consumers[index(task.input->channel)].push_back(node_of(task.id));
  return consumers;
}

} // namespace

std::size_t slot_size(const StageProgram& stage, std::size_t position) {
  return stage.tasks[position].task.pairing == Pairing::first ? 2 : 1;
}

ProgramGraph::ProgramGraph(const Program& program) : tasks_{static_cast<Node>(program.schedule.size())} {
  Node nodes = tasks_;
  for (const Channel& channel : program.channels) {
    first_transfer_.push_back(nodes);
    nodes += static_cast<Node>(channel.transfers.size());
  }
  std::vector<Listed> listed;
  listed.reserve(4 * std::size_t{nodes});
  for (const StageProgram& stage : program.stages) {
    list_stage(stage, listed);
    list_batches(stage, listed);
  }
  const auto consumers = consumers_in_order(program);
  for (std::size_t channel = 0; channel < program.channels.size(); ++channel)
    list_channel(program.channels[channel], consumers[channel], listed);
  for (const Lane& lane : program.lanes)
    for (std::size_t i = 1; i < lane.transfers.size(); ++i)
      listed.push_back({node_of(lane.transfers[i - 1]), {node_of(lane.transfers[i]), Wait::lane}});

  begin_.assign(std::size_t{nodes} + 1, 0);
  for (const Listed& one : listed) ++begin_[one.from + 1];
  for (std::size_t node = 0; node < nodes; ++node) begin_[node + 1] += begin_[node];
  arcs_.resize(listed.size());
  std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (const Listed& one : listed) arcs_[next[one.from]++] = one.arc;
}

void ProgramGraph::list_stage(const StageProgram& stage, std::vector<Listed>& listed) const {
  for (std::size_t i = 0; i < stage.tasks.size(); ++i) {
    const ProgramTask& task = stage.tasks[i];
    const Node self = runtime::node_of(task.id);
    if (i > 0) listed.push_back({runtime::node_of(stage.tasks[i - 1].id), {self, Wait::order}});
    if (task.output) listed.push_back({self, {node_of(*task.output), Wait::output}});
    if (task.input) listed.push_back({node_of(*task.input), {self, Wait::input}});
  }
}

/// The k-th transfer takes the slot of the (k - slots)-th that was used up, whichever that was.
void ProgramGraph::list_channel(const Channel& channel, const std::vector<Node>& consumers,
                                std::vector<Listed>& listed) {
  for (std::size_t k = channel.slots; k < channel.transfers.size(); ++k)
    listed.push_back({consumers[k - channel.slots], {runtime::node_of(channel.transfers[k].producer), Wait::slot}});
}

void ProgramGraph::list_batches(const StageProgram& stage, std::vector<Listed>& listed) const {
  for (const Batch& batch : stage.batches)
    for (const auto* transfers : {&batch.sends, &batch.receives})
      for (const TransferRef ref : *transfers) {
        const Node transfer = node_of(ref);
        if (batch.before > 0)
          listed.push_back({runtime::node_of(stage.tasks[batch.before - 1].id), {transfer, Wait::posted}});
        if (batch.before < stage.tasks.size())
          listed.push_back({transfer, {runtime::node_of(stage.tasks[batch.before].id), Wait::batch}});
      }
}

TransferRef ProgramGraph::transfer(Node node) const {
  // Channels without transfers share their first node with the next channel: the last one is meant.
  const auto behind = std::ranges::upper_bound(first_transfer_, node);
  const auto channel = static_cast<std::size_t>(behind - first_transfer_.begin()) - 1;
  return {make_id<ChannelId>(channel), node - first_transfer_[channel]};
}

std::vector<std::uint32_t> ProgramGraph::waits() const {
  std::vector<std::uint32_t> waits(size(), 0);
  for (const Arc& arc : arcs_) ++waits[arc.to];
  return waits;
}

std::vector<Node> ProgramGraph::order(const std::function<std::int64_t(Node)>& rank) const {
  using Ranked = std::pair<std::int64_t, Node>;
  std::vector<std::uint32_t> waits = this->waits();
  std::priority_queue<Ranked, std::vector<Ranked>, std::greater<>> ready;
  for (Node node = 0; node < size(); ++node)
    if (waits[node] == 0) ready.emplace(rank(node), node);
  std::vector<Node> order;
  order.reserve(size());
  while (!ready.empty()) {
    const Node node = ready.top().second;
    ready.pop();
    order.push_back(node);
    for (const Arc& arc : waiting_for(node))
      if (--waits[arc.to] == 0) ready.emplace(rank(arc.to), arc.to);
  }
  return order;
}

bool ProgramGraph::runs_to_its_end() const {
  return order([](Node) { return 0; }).size() == size();
}

} // namespace ppsim::runtime
