#pragma once
// Session: builds a MeasuredRun from the records of stages. All backends use it.

#include "ppsim/runtime/backend.hpp"
#include "ppsim/runtime/reference.hpp"

#include <memory>
#include <string>
#include <vector>

namespace ppsim::runtime {

/// Offset of a stage's clock against the leader's, at two moments; linear between them.
struct ClockOffset {
  std::int64_t at_begin = 0, begin = 0; ///< leader's time, and the offset then, in ns
  std::int64_t at_end = 0, end = 0;
  std::int64_t error = 0; ///< bound, in ns
};

/// One stage's part of a MeasuredRun.
struct StageResult {
  StageId stage{};
  std::vector<StageRecord> steps;                                ///< the timed ones
  ClockOffset clock;                                             ///< all zero if stages share a clock
  std::vector<double> losses;                                    ///< sums, by step, warm-up included
  std::vector<std::pair<ChunkId, std::vector<float>>> gradients; ///< as in TrainingResult
};

/// Trains on one stage: the warm-up steps (the first with poisoned buffers), then the timed ones. Each stage's thread
/// or process calls it.
[[nodiscard]] StageResult train(PipelineStage& stage, const Program& program, const RunOptions& options);

/// The same for all stages of a program on one thread. It issues their tasks in Program::issue_order and runs the parts
/// after the tasks together. Results are by stage.
[[nodiscard]] std::vector<StageResult> train_together(const std::vector<std::unique_ptr<PipelineStage>>& stages,
                                                      const Program& program, const RunOptions& options);

/// Combines the stages' results (in any order): one timeline per step, in the leader's time, shifted so that its first
/// task starts at zero. The caller adds facts and proof.
[[nodiscard]] MeasuredRun assemble(const Program& program, const RunOptions& options,
                                   const std::vector<StageResult>& results);

/// Losses and gradients of all stages.
[[nodiscard]] TrainingResult training_result(const Program& program, const std::vector<StageResult>& results);

/// The most steps that are trained again, one task at a time, for the comparison. A step takes about p times as long
/// there.
inline constexpr std::size_t most_proved_steps = 20;

/// Trains again on `device`, one task at a time, and compares all steps (warm-up included), at most most_proved_steps.
[[nodiscard]] Proof prove(const Program& program, const RunOptions& options, const std::vector<StageResult>& results,
                          Device& device, double tolerance);

/// Checks that every backend needs. Throws Error (bad_input) for: no steps; a transport that the backend does not have;
/// a fault of a task that is not in the schedule or that cannot have it (only F allocates a stash, only a sent output
/// can be lost).
void check_options(const Backend& backend, const Program& program, const RunOptions& options);

/// Problems of backends without NCCL: a P2p mode other than P2p::edge (`communicators` describes this backend's in the
/// message), and transfer models that they cannot emulate.
[[nodiscard]] Problems problems_without_nccl(const Program& program, const RunOptions& options,
                                             std::string_view communicators);

/// Prints the reason to stderr and ends the process at once with ExitCode::failed: for a task that never returns. The
/// `on_stuck` of a Monitor if there is only one process.
[[noreturn]] void end_process(const std::string& what) noexcept;

/// How long a stage may take to end after a stop, before end_process().
inline constexpr Duration stop_grace = std::chrono::seconds{5};

/// A run without progress for this long has failed.
[[nodiscard]] Duration progress_limit(const Program& program, const RunOptions& options);

} // namespace ppsim::runtime
