#pragma once
// StepFigure: by which figure of a step runs are held against each other.

#include <cstdint>
#include <string_view>

namespace ppsim {

/// All but the first are over the samples of steps whose tasks vary (StepSpread).
enum class StepFigure : std::uint8_t { step_time, mean, p50, p95, p99 };
/// For people: "step time", "mean", "p95".
[[nodiscard]] std::string_view to_string(StepFigure figure);

} // namespace ppsim
