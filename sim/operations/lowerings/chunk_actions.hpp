#pragma once
#include "ppsim/schedule/schedule.hpp"

namespace ppsim::lowering {

/// What PyTorch adds to the tasks of a stage before it places sends and receives, in order, ChunkAction::behind left
/// open: UNSHARD and RESHARD around the chunks that come next (_add_unshard_reshard), with FSDP or without, and behind
/// the last backward of a chunk its REDUCE_GRAD (_add_reduce_grad). Not `reduces`: as before PyTorch 2.10, where there
/// is none and what is left at the end of a step is not dropped.
[[nodiscard]] std::vector<ChunkAction> pytorch_actions(const Schedule& schedule, StageId stage, bool reduces);
/// What the schedule itself says of that, with the REDUCE_GRAD that it lacks, or without any; else what PyTorch adds.
/// ChunkAction::behind is left open.
[[nodiscard]] std::vector<ChunkAction> actions_of(const Schedule& schedule, StageId stage, bool reduces);

} // namespace ppsim::lowering
