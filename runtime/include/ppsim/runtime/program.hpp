#pragma once
// Program: a schedule made ready to run: for each stage its tasks with what they wait for and free, for each directed
// edge its transfers in order with their slots, and the buffers. It is verified before anything runs.

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

/// One transfer: which channel, and its position on it.
struct TransferRef {
  ChannelId channel{};
  std::uint32_t position = 0;
  bool operator==(const TransferRef&) const = default;
};

/// The output of one task on its way to the task that needs it.
struct Transfer {
  TaskId producer{};
  TaskId consumer{};
  Duration time{0}; ///< that the scenario gives it, for transports that emulate a link
};

/// A directed edge between two stages, a FIFO: both ends post its transfers in the order in which the sender produces
/// them. Where both ends are one stage (neighbouring chunks on it), outputs wait there for their use.
struct Channel {
  StageId from{};
  StageId to{};
  std::vector<Transfer> transfers;
  std::size_t slots = 0; ///< buffers at the receiver: so many transfers can have arrived and not yet been used
  /// TransferModel::link, between nodes: the sender's node. Its transfers to other nodes share one link, as predicted.
  std::optional<std::size_t> uplink = std::nullopt;
  [[nodiscard]] bool is_local() const { return from == to; }
};

/// A task of a stage, and what it waits for, hands on and frees.
struct ProgramTask {
  TaskId id{};
  Task task{};
  std::optional<TransferRef> input;  ///< none: the first chunk makes its input, the last has its gradient in the stash
  std::optional<TransferRef> output; ///< none: the last chunk's forward, the first chunk's backward, W
  bool allocates = false;            ///< the stash of its chunk and microbatch: F
  bool frees_for_input = false;      ///< the part of the stash that only I needs, at its end
  bool frees_for_weight = false;     ///< the rest
  Duration length{0};                ///< compute time by the scenario, for timed tasks
};

/// With P2p::batched: what a stage posts as one group between two of its tasks (a pair counts as one): the sends of the
/// one and the receives of the next. It goes on when all of them are done.
struct Batch {
  std::uint32_t before = 0;          ///< position of the next task; after the last one: their number
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
  std::vector<ChannelId> in, out;    ///< channels that end, and that begin, here; local ones in both
  std::vector<Batch> batches;        ///< P2p::batched, those that are not empty, in order; else none
  std::size_t peak_stashes = 0;      ///< (chunk, microbatch) pairs that are stashed at once, at most
  Duration optimizer{0};             ///< for timed runs
};

/// How transfers share communicators (NCCL), by what frameworks do. edge: one per directed edge (ours). pair: one per
/// pair of stages, both directions in one order, as PyTorch. batched: one for all, the sends of a task and the receives
/// of the next as one group, as Megatron-LM.
enum class P2p : std::uint8_t { edge, pair, batched };
[[nodiscard]] std::string_view to_string(P2p p2p);

struct ProgramOptions {
  P2p p2p = P2p::edge;
  bool timed = false; ///< tasks last as the scenario says and compute nothing, so that it may recompute
  std::optional<std::size_t> slots = std::nullopt; ///< per channel; none: what the prediction needs, and one more
};

/// A schedule ready to run.
struct Program {
  Schedule schedule;
  std::string place; ///< that errors name: a file, or "schedule 'gpipe'"
  std::vector<StageProgram> stages;
  std::vector<Channel> channels;
  P2p p2p = P2p::edge;
  std::vector<Lane> lanes;         ///< communicators by their stages: one per directed edge (P2p::edge) or per pair of
                                   ///< stages (P2p::pair); none for P2p::batched, where all share one
  std::vector<TaskId> issue_order; ///< all tasks, by predicted start as far as slots allow: an order in which one
                                   ///< thread can issue them
  Duration predicted_step{0};
  std::vector<std::vector<Duration>> drawn = {}; ///< of timed tasks, by step from the first to warm up on, then task:
                                                 ///< what each lasts; empty: ProgramTask::length in each step
  bool synchronous_optimizer = true;
  TransferModel transfer_model = TransferModel::latency; ///< for transports that emulate links
  /// What a timed task lasts in a step, counted from the first to warm up.
  [[nodiscard]] Duration length_in(std::size_t step, const ProgramTask& task) const {
    return drawn.empty() ? task.length : drawn[step % drawn.size()][index(task.id)];
  }
  [[nodiscard]] const Channel& channel(TransferRef ref) const { return channels[index(ref.channel)]; }
  [[nodiscard]] const Transfer& transfer(TransferRef ref) const { return channel(ref).transfers[ref.position]; }
  /// Whether there is one, to another stage.
  [[nodiscard]] bool leaves_stage(const std::optional<TransferRef>& ref) const {
    return ref && !channel(*ref).is_local();
  }
  /// Whether transfers of several channels take one link (Channel::uplink).
  [[nodiscard]] bool has_uplinks() const;
  /// Stages that hold `chunk`, by rising id: one, or two where the placement is bidirectional.
  [[nodiscard]] std::vector<StageId> holders(ChunkId chunk) const;
};

/// Compiles and verifies. `prediction` is a timeline of `graph`. Throws Error: bad_input for what no runtime here can
/// replay (replicas, recomputation other than timed, pairs that overlap), `no` as verify() does.
[[nodiscard]] Program compile(const TaskGraph& graph, const Timeline& prediction, const ProgramOptions& options = {});

/// Whether the program runs to its end: each channel has one order at both ends; every stash is made once, used and
/// freed once, and no more are alive at once than was predicted; every input is produced once and used once; one thread
/// can issue it; and there is no cycle when each send and its receive are one rendezvous that waits for the transfer
/// before it on its communicator. A channel's slot is taken before its producer starts, as where buffers are handed
/// over: the stronger of what transports need. Throws Error (`no`) with all faults, or with the shortest cycle that was
/// found, operation by operation, and what would break it.
void verify(const Program& program);

} // namespace ppsim::runtime
