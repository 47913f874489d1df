#pragma once
// Program: a schedule compiled for a replay. It has each stage's tasks with what they wait for and free, each directed
// edge's transfers in order with their slots, and the buffers. It is verified before anything runs.

#include "ppsim/graph/timeline.hpp"
#include "ppsim/runtime/workload.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim::runtime {

/// A directed edge, by its position in Program::channels.
enum class ChannelId : std::uint32_t {};

/// One transfer: its channel and its position there.
struct TransferRef {
  ChannelId channel{};
  std::uint32_t position = 0;
  bool operator==(const TransferRef&) const = default;
};

/// The output of one task on its way to the task that needs it.
struct Transfer {
  TaskId producer{};
  TaskId consumer{};
  Duration time{0}; ///< from the scenario, for transports that emulate a link
};

/// A directed edge between two stages, a FIFO: both ends post its transfers in the order in which the sender produces
/// them. A local channel (both ends on one stage) keeps outputs between neighbouring chunks of that stage.
struct Channel {
  StageId from{};
  StageId to{};
  std::vector<Transfer> transfers;
  std::size_t slots = 0; ///< buffers at the receiver: the most transfers that may have arrived and not been used
  /// With TransferModel::link, between nodes: the sender's node. Its transfers to other nodes share one link, as
  /// predicted.
  std::optional<std::size_t> uplink = std::nullopt;
  [[nodiscard]] bool is_local() const { return from == to; }
};

/// A task of a stage, with what it waits for, sends and frees.
struct ProgramTask {
  TaskId id{};
  Task task{};
  std::optional<TransferRef>
      input; ///< none: the first chunk generates its input, the last one reads its gradient from the stash
  std::optional<TransferRef> output; ///< none: the last chunk's forward, the first chunk's backward, W
  bool allocates = false;            ///< the stash of its chunk and microbatch: F
  bool frees_for_input = false;      ///< at its end, the part of the stash that only I needs
  bool frees_for_weight = false;     ///< the rest
  Duration length{0};                ///< compute time in the scenario, for timed tasks
};

/// With P2p::batched: the operations that a stage posts as one group between two tasks (a pair counts as one): the
/// sends of the first and the receives of the second. The stage continues when all are done.
struct Batch {
  std::uint32_t before = 0;          ///< position of the next task; the number of tasks after the last one
  std::vector<TransferRef> sends;    ///< in the order of their channels
  std::vector<TransferRef> receives; ///< as above
};

/// The transfers of one communicator between two stages, in the order in which both launch them.
struct Lane {
  StageId first{};  ///< P2p::edge: the sender; P2p::pair: the lower of the two
  StageId second{}; ///< the other
  std::vector<TransferRef> transfers;
};

struct StageProgram {
  std::vector<ProgramTask> tasks;
  std::vector<std::uint16_t> chunks; ///< by rising id
  std::vector<ChannelId> in, out;    ///< channels that end and that begin on this stage; local ones are in both
  std::vector<Batch> batches;        ///< with P2p::batched: the non-empty ones, in order; otherwise none
  std::size_t peak_stashes = 0;      ///< the most (chunk, microbatch) pairs stashed at the same time
  Duration optimizer{0};             ///< for timed runs
};

/// How transfers share NCCL communicators. edge: one per directed edge (ppsim). pair: one per pair of stages, both
/// directions in one order (PyTorch). batched: one for all, the sends of a task and the receives of the next in one
/// group (Megatron-LM).
enum class P2p : std::uint8_t { edge, pair, batched };
[[nodiscard]] std::string_view to_string(P2p p2p);

struct ProgramOptions {
  P2p p2p = P2p::edge;
  bool timed = false; ///< tasks last as the scenario says and compute nothing, so recomputation is possible
  std::optional<std::size_t> slots = std::nullopt; ///< per channel; none: as many as the prediction needs, and one more
};

/// A compiled schedule.
struct Program {
  Schedule schedule;
  std::string place; ///< the origin that errors name: a file, or "schedule 'gpipe'"
  std::vector<StageProgram> stages;
  std::vector<Channel> channels;
  P2p p2p = P2p::edge;
  std::vector<Lane> lanes; ///< communicators by their stages: one per directed edge (P2p::edge) or per pair of stages
                           ///< (P2p::pair); none for P2p::batched
  std::vector<TaskId>
      issue_order; ///< all tasks, by predicted start as far as slots allow: an order in which one thread can issue them
  Duration predicted_step{0};
  std::vector<std::vector<Duration>> drawn =
      {}; ///< durations of timed tasks, by step (warm-up included), then task; empty: ProgramTask::length in each step
  bool synchronous_optimizer = true;
  TransferModel transfer_model = TransferModel::latency; ///< for transports that emulate links
  /// Duration of a timed task in a step; steps count from the first warm-up step.
  [[nodiscard]] Duration length_in(std::size_t step, const ProgramTask& task) const {
    return drawn.empty() ? task.length : drawn[step % drawn.size()][index(task.id)];
  }
  [[nodiscard]] const Channel& channel(TransferRef ref) const { return channels[index(ref.channel)]; }
  [[nodiscard]] const Transfer& transfer(TransferRef ref) const { return channel(ref).transfers[ref.position]; }
  /// Whether the transfer exists and goes to another stage.
  [[nodiscard]] bool leaves_stage(const std::optional<TransferRef>& ref) const {
    return ref && !channel(*ref).is_local();
  }
  /// Whether transfers of several channels share one link (Channel::uplink).
  [[nodiscard]] bool has_uplinks() const;
  /// Stages that hold `chunk`, by rising id: one, or two with a bidirectional placement.
  [[nodiscard]] std::vector<StageId> holders(ChunkId chunk) const;
};

/// Compiles and verifies. `prediction` is a timeline of `graph`. Throws Error: `bad_input` for schedules that no
/// runtime can replay (replicas, recomputation unless timed, overlapped pairs); `no` as verify().
[[nodiscard]] Program compile(const TaskGraph& graph, const Timeline& prediction, const ProgramOptions& options = {});

/// Checks that the program runs to its end. Each channel has one order at both ends. Every stash is allocated, used and
/// freed once, and no more exist at once than predicted. Every input is produced once and used once. One thread can
/// issue the program. There is no cycle if each send and its receive are one rendezvous that waits for the transfer
/// before it on its communicator. A slot counts as taken before its producer starts, the strongest requirement of all
/// transports. Throws Error (`no`) with all faults, or with the shortest cycle found, operation by operation, and a
/// remedy.
void verify(const Program& program);

} // namespace ppsim::runtime
