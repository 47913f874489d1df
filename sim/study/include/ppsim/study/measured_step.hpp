#pragma once
// Fits one factor on compute to one measured step.

#include "ppsim/study/run_spec.hpp"

#include <cstdint>

namespace ppsim {

/// The factor, in millionths, on the model's compute times with which the measured run takes `measured_step`;
/// communication stays unchanged. The measured run is that of `spec`, except for the fields set in MeasuredStep. From a
/// tenth to ten times, to the nearest millionth. Throws Error if no factor explains the step, and as evaluate().
[[nodiscard]] std::int64_t fit_measured_step(const RunSpec& spec);

} // namespace ppsim
