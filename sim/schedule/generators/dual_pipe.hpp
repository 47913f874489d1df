#pragma once
// Shared by DualPipe and DualPipeV: the order of a stage's passes of two streams of microbatches (DeepSeek-V3, arXiv
// 2412.19437, section 3.2.1; github.com/deepseek-ai/DualPipe).

#include "ppsim/schedule/generators.hpp"

#include <array>
#include <optional>

namespace ppsim::generator {

/// Microbatches that a stage runs with one of its two chunks.
struct Stream {
  std::size_t chunk = 0;
  std::size_t first_microbatch = 0;
};

/// The position of a stage on the way to the turn, where its two streams meet.
struct TurnDistance {
  std::size_t rank = 0;  ///< 0 at the open end, ranks - 1 at the turn
  std::size_t ranks = 1; ///< stages from the open end to the turn
};

/// Adds all tasks of one stage, with the warm-up marked. Each stream has `microbatches`, at least 2 * ranks; the
/// forward of streams[0] reaches the stage first.
void add_dual_pipe_stage(ScheduleBuilder& builder, const TurnDistance& turn, const std::array<Stream, 2>& streams,
                         std::size_t microbatches);

/// The bubble stated by DeepSeek, (ranks-1)(F&B + B - 3W), in the unit of `costs`. None unless it is exact: for F = I =
/// W, free transfers and pairs that take F + B.
[[nodiscard]] std::optional<double> dual_pipe_bubble(std::size_t ranks, const UniformCosts& costs);

} // namespace ppsim::generator
