#pragma once
// Session: from the records of stages to a MeasuredRun. What all backends share.

#include "ppsim/runtime/backend.hpp"
#include "ppsim/runtime/reference.hpp"

#include <memory>
#include <string>
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
  std::vector<std::pair<ChunkId, std::vector<float>>> gradients; ///< as in TrainingResult
};

/// Trains on one stage: the warm-up steps (the first with poisoned buffers), then the timed ones. What a stage's thread
/// or process does.
[[nodiscard]] StageResult train(PipelineStage& stage, const Program& program, const RunOptions& options);

/// The same for all stages of a program, by one thread, which issues their tasks in Program::issue_order and takes the
/// parts of what follows them together. Results are by stage.
[[nodiscard]] std::vector<StageResult> train_together(const std::vector<std::unique_ptr<PipelineStage>>& stages,
                                                      const Program& program, const RunOptions& options);

/// Puts the stages' results (in any order) together: one timeline per step, shifted so that its first task starts at
/// zero, all in the leader's time. Facts and proof are left to the caller.
[[nodiscard]] MeasuredRun assemble(const Program& program, const RunOptions& options,
                                   const std::vector<StageResult>& results);

/// Losses and gradients of all stages together.
[[nodiscard]] TrainingResult training_result(const Program& program, const std::vector<StageResult>& results);

/// At most so many steps are trained a second time, one task at a time, to be compared: that takes about as many times
/// as long as the run as there are stages.
inline constexpr std::size_t most_proved_steps = 20;

/// Trains again on `device`, one task at a time, and compares: all steps, warm-up included, up to most_proved_steps.
[[nodiscard]] Proof prove(const Program& program, const RunOptions& options, const std::vector<StageResult>& results,
                          Device& device, double tolerance);

/// What every backend has to refuse: no steps; a transport that it has not; a fault of a task that the schedule has
/// not, or that cannot have it (only F has a stash to allocate, only what is sent can be lost). Throws Error
/// (bad_input).
void check_options(const Backend& backend, const Program& program, const RunOptions& options);

/// What backends without NCCL have to refuse: another way to share communicators than P2p::edge, of which
/// `communicators` says what is with them here; and links that are emulated as what they cannot be.
[[nodiscard]] Problems problems_without_nccl(const Program& program, const RunOptions& options,
                                             std::string_view communicators);

/// Says why on stderr and ends the process at once, with status ExitCode::failed: for a task that never returns. What a
/// Monitor is given as `on_stuck` where there is but one process.
[[noreturn]] void end_process(const std::string& what) noexcept;

/// How long after a stop a stage may take to end before end_process().
inline constexpr Duration stop_grace = std::chrono::seconds{5};

/// Without progress for so long, a run has failed.
[[nodiscard]] Duration progress_limit(const Program& program, const RunOptions& options);

} // namespace ppsim::runtime
