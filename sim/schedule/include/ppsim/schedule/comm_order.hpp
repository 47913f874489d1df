#pragma once
// CommOrder: for every stage, where among its tasks it launches its sends and receives. Like a schedule, it has no
// times.

#include "ppsim/base/units.hpp"
#include "ppsim/scenario/communicators.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ppsim {

/// One side of a transfer, at its place in the order of its stage.
struct CommOp {
  TaskId sender{};          ///< the task whose output goes: it names the transfer
  std::uint32_t before = 0; ///< how many tasks of its stage are launched before it: 0 to all of them
  bool is_send = false;
  bool joins = false; ///< launched in one group with the operation before it on its stage (ncclGroupStart, BATCH_P2P)
  bool holds = false; ///< a task of its stage waits for it. For a receive, the task that needs it does anyway
  std::uint32_t holds_after = 0; ///< with `holds`: so many tasks stand between it and the one that waits; 0: the next
  bool operator==(const CommOp&) const = default;
};

/// What PyTorch does with a chunk as a whole, at its place in the order of a stage: it gathers the parameters that FSDP
/// sharded, drops them again, reduces the gradients of all microbatches (and divides them by their number). It takes no
/// time here.
struct ChunkAction {
  enum class Kind : std::uint8_t { unshard, reshard, reduce_grad };
  Kind kind{};
  std::uint16_t chunk_index = 0;
  std::uint32_t before = 0; ///< how many tasks of its stage are launched before it
  std::uint32_t behind = 0; ///< how many sends and receives of its stage are
  bool operator==(const ChunkAction&) const = default;
};
/// By stage, in order; empty if not given.
using ChunkActions = std::vector<std::vector<ChunkAction>>;

/// Sends and receives of every stage in the order in which it launches them, which `before` follows.
class CommOrder {
public:
  CommOrder() = default;
  /// `ops` holds the stages one after another; stage s is [offsets[s], offsets[s+1]).
  CommOrder(std::vector<CommOp> ops, std::vector<std::uint32_t> offsets, ChunkActions actions = {})
      : ops_{std::move(ops)}, offsets_{std::move(offsets)}, actions_{std::move(actions)} {}
  [[nodiscard]] std::size_t stages() const { return offsets_.size() - 1; }
  [[nodiscard]] IdRange<StageId> stage_ids() const { return {0, stages()}; }
  /// As the constructor takes them.
  [[nodiscard]] const std::vector<std::uint32_t>& offsets() const { return offsets_; }
  [[nodiscard]] std::size_t size() const { return ops_.size(); }
  [[nodiscard]] std::span<const CommOp> ops() const { return ops_; }
  [[nodiscard]] std::span<const CommOp> stage(StageId stage) const {
    return std::span{ops_}.subspan(offsets_[index(stage)], offsets_[index(stage) + 1] - offsets_[index(stage)]);
  }
  /// Position in ops() of the first operation of `stage`; with stage == p, the number of operations.
  [[nodiscard]] std::size_t first(StageId stage) const { return offsets_[index(stage)]; }
  [[nodiscard]] const ChunkActions& actions() const { return actions_; }
  /// The same sends and receives, with these actions.
  [[nodiscard]] CommOrder with_actions(ChunkActions actions) const { return {ops_, offsets_, std::move(actions)}; }
  bool operator==(const CommOrder&) const = default;

private:
  std::vector<CommOp> ops_;
  std::vector<std::uint32_t> offsets_{0};
  ChunkActions actions_;
};

} // namespace ppsim
