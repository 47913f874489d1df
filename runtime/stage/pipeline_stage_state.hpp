#pragma once
// What a PipelineStage holds while it runs.

#include "ppsim/base/error.hpp"
#include "ppsim/runtime/pipeline_stage.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "arena.hpp"

namespace ppsim::runtime {

/// One chunk that a stage holds.
struct HeldChunk {
  ChunkId id{};
  ChunkState state;               ///< parameters: the newest version
  std::vector<Stash> stashes;     ///< by microbatch
  std::vector<void*> versions;    ///< of the parameters, by microbatch: what its forward used, while it is under way
  std::vector<void*> spare;       ///< memory for further versions (asynchronous programs)
  std::size_t updates = 0;        ///< optimizer steps
  std::optional<StageId> partner; ///< that holds it too
  void* others_gradients = nullptr;
};

/// Outputs that wait on their own stage for their use.
struct LocalChannel {
  ChannelId id{};
  std::vector<void*> spare;
  std::vector<void*> content; ///< by position
};

/// Transfers of a channel that ends here.
struct IncomingChannel {
  ChannelId id{};
  std::uint32_t posted = 0;
};

struct TaskStamps {
  Stamp start{};
  Stamp end{};
};

/// What a stage was about when something was thrown.
struct Place {
  std::string_view doing; ///< after the rank and the task: "input"
  std::optional<StageId> peer;
  std::optional<TaskId> input{}; ///< the task whose output is taken
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
  /// Nothing where the channel is not a local one.
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
  std::size_t step = 0;          ///< how many ended
  std::size_t next = 0;          ///< task
  std::size_t part = 0;          ///< of what follows the tasks
  std::size_t ended = 0;         ///< tasks, as far as was followed
  std::optional<Doing> standing; ///< what the next of them was seen to do
  Place place;
  std::vector<TaskStamps> tasks;
  std::vector<TaskStamps> reductions; ///< of chunks with a partner, by rising chunk
  std::optional<TaskStamps> optimizer;
  std::optional<Duration> cpu;
};

} // namespace ppsim::runtime
