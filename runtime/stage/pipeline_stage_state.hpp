#pragma once
// The state of a PipelineStage.

#include "ppsim/base/error.hpp"
#include "ppsim/runtime/pipeline_stage.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "arena.hpp"

namespace ppsim::runtime {

/// One chunk of a stage.
struct HeldChunk {
  ChunkId id{};
  ChunkState state;               ///< parameters: the newest version
  std::vector<Stash> stashes;     ///< by microbatch
  std::vector<void*> versions;    ///< of the parameters, by microbatch: those that its forward used, while it is active
  std::vector<void*> spare;       ///< memory for further versions (asynchronous programs)
  std::size_t updates = 0;        ///< optimizer steps
  std::optional<StageId> partner; ///< another stage that holds the chunk
  void* others_gradients = nullptr;
};

/// Outputs for the same stage.
struct LocalChannel {
  ChannelId id{};
  std::vector<void*> spare;
  std::vector<void*> content; ///< by position
};

/// Transfers of a channel that ends on this stage.
struct IncomingChannel {
  ChannelId id{};
  std::uint32_t posted = 0;
};

struct TaskStamps {
  Stamp start{};
  Stamp end{};
};

/// The place of an exception.
struct Place {
  std::string_view doing; ///< text after the rank and the task: "input"
  std::optional<StageId> peer;
  std::optional<TaskId> input{}; ///< the task whose output is the input
};

/// "input 0F1 from rank 0".
[[nodiscard]] inline Place at_input(const Program& program, TransferRef transfer) {
  return {"input", program.channel(transfer).from, program.transfer(transfer).producer};
}

struct PipelineStage::State {
  explicit State(Device& device) : memory{device} {}

  [[nodiscard]] HeldChunk& chunk(const Task& task) {
    const auto found =
        std::find_if(chunks.begin(), chunks.end(), [&](const HeldChunk& held) { return held.id == task.chunk(); });
    PPSIM_ASSERT(found != chunks.end());
    return *found;
  }
  /// Null if the channel is not local.
  [[nodiscard]] LocalChannel* local(TransferRef transfer) {
    const auto found = std::find_if(locals.begin(), locals.end(),
                                    [&](const LocalChannel& channel) { return channel.id == transfer.channel; });
    return found == locals.end() ? nullptr : &*found;
  }

  Arena memory;
  std::vector<HeldChunk> chunks;
  std::vector<LocalChannel> locals;
  std::vector<IncomingChannel> incoming;
  void* input = nullptr;         ///< of the first chunk
  void* output = nullptr;        ///< of the last chunk
  std::size_t step = 0;          ///< number of finished steps
  std::size_t next = 0;          ///< the next task
  std::size_t part = 0;          ///< the next part after the tasks
  std::size_t ended = 0;         ///< number of ended tasks, as far as followed
  std::optional<Doing> standing; ///< the last observed state of the next task
  Place place;
  std::vector<TaskStamps> tasks;
  std::vector<TaskStamps> reductions; ///< of chunks with a partner, by rising chunk
  std::optional<TaskStamps> optimizer;
  std::optional<Duration> cpu;
};

} // namespace ppsim::runtime
