#include "program_graph.hpp"

#include <algorithm>
#include <utility>

namespace ppsim::runtime {
namespace {

using Node = ProgramGraph::Node;

Node node_of(TaskId id) {
  return static_cast<Node>(index(id));
}

constexpr std::uint8_t as_number(WaitReason why) {
  return static_cast<std::uint8_t>(why);
}

/// For each channel, the tasks that use its transfers, in the order of their stage: the order in which slots become
/// free.
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
      listed.push_back({node_of(lane.transfers[i - 1]), {node_of(lane.transfers[i]), as_number(WaitReason::lane)}});

  graph_ = WaitGraph{nodes, listed};
}

void ProgramGraph::list_stage(const StageProgram& stage, std::vector<Listed>& listed) const {
  for (std::size_t i = 0; i < stage.tasks.size(); ++i) {
    const ProgramTask& task = stage.tasks[i];
    const Node self = runtime::node_of(task.id);
    if (i > 0) listed.push_back({runtime::node_of(stage.tasks[i - 1].id), {self, as_number(WaitReason::order)}});
    if (task.output) listed.push_back({self, {node_of(*task.output), as_number(WaitReason::output)}});
    if (task.input) listed.push_back({node_of(*task.input), {self, as_number(WaitReason::input)}});
  }
}

/// The k-th transfer takes the slot of the (k - slots)-th one to be used, whichever that was.
void ProgramGraph::list_channel(const Channel& channel, const std::vector<Node>& consumers,
                                std::vector<Listed>& listed) {
  for (std::size_t k = channel.slots; k < channel.transfers.size(); ++k)
    listed.push_back(
        {consumers[k - channel.slots], {runtime::node_of(channel.transfers[k].producer), as_number(WaitReason::slot)}});
}

void ProgramGraph::list_batches(const StageProgram& stage, std::vector<Listed>& listed) const {
  for (const Batch& batch : stage.batches)
    for (const auto* transfers : {&batch.sends, &batch.receives})
      for (const TransferRef ref : *transfers) {
        const Node transfer = node_of(ref);
        if (batch.before > 0)
          listed.push_back(
              {runtime::node_of(stage.tasks[batch.before - 1].id), {transfer, as_number(WaitReason::posted)}});
        if (batch.before < stage.tasks.size())
          listed.push_back({transfer, {runtime::node_of(stage.tasks[batch.before].id), as_number(WaitReason::batch)}});
      }
}

TransferRef ProgramGraph::transfer(Node node) const {
  // Channels without transfers share their first node with the next channel, so search for the last one.
  const auto behind = std::ranges::upper_bound(first_transfer_, node);
  const auto channel = static_cast<std::size_t>(behind - first_transfer_.begin()) - 1;
  return {make_id<ChannelId>(channel), node - first_transfer_[channel]};
}

namespace {

using StageOperations = std::vector<std::vector<CommOp>>;

/// Each operation of a lane is launched right after the one before it, or when its content exists.
void add_lanes(const Program& program, StageOperations& operations) {
  for (const Lane& lane : program.lanes) {
    std::uint32_t reached_first = 0;
    std::uint32_t reached_second = 0;
    const auto reached = [&](StageId stage) -> std::uint32_t& {
      return stage == lane.first ? reached_first : reached_second;
    };
    for (const TransferRef ref : lane.transfers) {
      const Channel& channel = program.channel(ref);
      const TaskId sender = program.transfer(ref).producer;
      std::uint32_t& sends = reached(channel.from);
      const std::size_t made = index(sender) - index(program.schedule.first_task(channel.from)) + 1;
      sends = std::max(sends, static_cast<std::uint32_t>(made));
      operations[index(channel.from)].push_back({.sender = sender, .before = sends, .is_send = true});
      operations[index(channel.to)].push_back({.sender = sender, .before = reached(channel.to)});
    }
  }
  for (std::vector<CommOp>& stage : operations) std::ranges::stable_sort(stage, {}, &CommOp::before);
}

void add_batches(const Program& program, StageOperations& operations) {
  for (std::size_t stage = 0; stage < program.stages.size(); ++stage)
    for (const Batch& batch : program.stages[stage].batches) {
      bool joins = false;
      for (const auto* transfers : {&batch.sends, &batch.receives})
        for (const TransferRef ref : *transfers) {
          operations[stage].push_back({.sender = program.transfer(ref).producer,
                                       .before = batch.before,
                                       .is_send = transfers == &batch.sends,
                                       .joins = joins,
                                       .holds = true});
          joins = true;
        }
    }
}

} // namespace

CommOrder operations_of(const Program& program) {
  StageOperations operations(program.stages.size());
  if (program.p2p == P2p::batched)
    add_batches(program, operations);
  else
    add_lanes(program, operations);
  std::vector<CommOp> ops;
  std::vector<std::uint32_t> offsets{0};
  for (const std::vector<CommOp>& stage : operations) {
    ops.insert(ops.end(), stage.begin(), stage.end());
    offsets.push_back(static_cast<std::uint32_t>(ops.size()));
  }
  return {std::move(ops), std::move(offsets)};
}

} // namespace ppsim::runtime
