#pragma once
// CommOrder: for every stage, the positions of its sends and receives among its tasks. Like a schedule, it has no
// times.

#include "ppsim/base/units.hpp"
#include "ppsim/scenario/communicators.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ppsim {

/// One side of a transfer, at its position in the order of its stage.
struct CommOp {
  TaskId sender{};          ///< the task whose output is sent; it identifies the transfer
  std::uint32_t before = 0; ///< number of tasks of its stage launched before it: 0 to all of them
  bool is_send = false;
  bool joins = false; ///< launched in one group with the operation before it on its stage (ncclGroupStart, BATCH_P2P)
  bool holds = false; ///< a task of its stage waits for it. The task that needs a receive always waits for it
  std::uint32_t holds_after =
      0; ///< with `holds`: number of tasks between it and the one that waits; 0: the next task waits
  bool operator==(const CommOp&) const = default;
};

/// A PyTorch action on a whole chunk, at its position in the order of a stage: gather the parameters that FSDP sharded,
/// drop them again, or reduce the gradients of all microbatches (and divide them by their number). Takes no time in
/// simulations.
struct ChunkAction {
  enum class Kind : std::uint8_t { unshard, reshard, reduce_grad };
  Kind kind{};
  std::uint16_t chunk_index = 0;
  std::uint32_t before = 0; ///< number of tasks of its stage launched before it
  std::uint32_t behind = 0; ///< number of sends and receives of its stage launched before it
  bool operator==(const ChunkAction&) const = default;
};
/// By stage, in order; empty if not given.
using ChunkActions = std::vector<std::vector<ChunkAction>>;

/// The sends and receives of every stage in launch order, sorted by `before`.
class CommOrder {
public:
  CommOrder() = default;
  /// `ops` contains the stages one after another; stage s is [offsets[s], offsets[s+1]).
  CommOrder(std::vector<CommOp> ops, std::vector<std::uint32_t> offsets, ChunkActions actions = {})
      : ops_{std::move(ops)}, offsets_{std::move(offsets)}, actions_{std::move(actions)} {}
  [[nodiscard]] std::size_t stages() const { return offsets_.size() - 1; }
  [[nodiscard]] IdRange<StageId> stage_ids() const { return {0, stages()}; }
  /// As passed to the constructor.
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
