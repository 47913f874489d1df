#pragma once
// StepFigure: the figure of a step by which runs are compared.

#include <cstdint>
#include <string_view>

namespace ppsim {

/// All except the first are over samples of steps whose tasks vary (StepSpread).
enum class StepFigure : std::uint8_t { step_time, mean, p50, p95, p99 };
/// For users: "step time", "mean", "p95".
[[nodiscard]] std::string_view to_string(StepFigure figure);

} // namespace ppsim
