#pragma once
// Session: from the records of stages to a MeasuredRun. What all backends share.

#include "ppsim/runtime/backend.hpp"
#include "ppsim/runtime/reference.hpp"

#include <vector>

namespace ppsim::runtime {

/// How far a stage's clock is ahead of the leader's, at two moments; linear between.
struct ClockOffset {
  std::int64_t at_begin = 0, begin = 0; ///< leader's time, and offset then
  std::int64_t at_end = 0, end = 0;
  std::int64_t error = 0; ///< bound, in ns
};

/// What one stage brings to a MeasuredRun.
struct StageResult {
  StageId stage{};
  std::vector<StageRecord> steps;                                ///< the timed ones
  ClockOffset clock;                                             ///< all zero where stages share a clock
  std::vector<double> losses;                                    ///< sums, by step, warm-up included
  std::vector<std::pair<ChunkId, std::vector<float>>> gradients; ///< of the first step
};

/// Trains on one stage: the warm-up steps (the first with poisoned buffers), then the timed ones. What a stage's thread
/// or process does.
[[nodiscard]] StageResult train(PipelineStage& stage, const Program& program, const RunOptions& options);

/// Puts the stages' results together: one timeline per step, shifted so that its first task starts at zero.
[[nodiscard]] MeasuredRun assemble(const Program& program, std::vector<StageResult> results);

/// Without progress for so long, a run has failed.
[[nodiscard]] Duration progress_limit(const Program& program, const RunOptions& options);

} // namespace ppsim::runtime
