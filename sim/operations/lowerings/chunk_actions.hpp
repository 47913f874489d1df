#pragma once
#include "ppsim/schedule/schedule.hpp"

namespace ppsim::lowering {

/// The actions that PyTorch adds to the tasks of a stage before it places sends and receives, in order, without
/// ChunkAction::behind: UNSHARD and RESHARD around the next chunks (_add_unshard_reshard), with FSDP or without, and
/// REDUCE_GRAD after the last backward of a chunk (_add_reduce_grad). With `reduces` false, as before PyTorch 2.10:
/// without REDUCE_GRAD, and remaining chunks are not dropped at the end of a step.
[[nodiscard]] std::vector<ChunkAction> pytorch_actions(const Schedule& schedule, StageId stage, bool reduces);
/// The actions in the schedule itself, with missing REDUCE_GRAD added, or without any; otherwise those that PyTorch
/// adds. Without ChunkAction::behind.
[[nodiscard]] std::vector<ChunkAction> actions_of(const Schedule& schedule, StageId stage, bool reduces);

} // namespace ppsim::lowering
