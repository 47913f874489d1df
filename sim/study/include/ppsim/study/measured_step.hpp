#pragma once
// One measured step as input: the one factor on computing that explains it.

#include "ppsim/study/run_spec.hpp"

#include <cstdint>

namespace ppsim {

/// By how much, in millionths, all that a model computes takes longer than its device's table says, so that the run
/// that was measured takes its `measured_step`; communication stays as it is. The run is that of `spec`, but for what
/// was said of the measured one. From a tenth to ten times, to the nearest millionth. Throws Error where no factor
/// explains the step, and as evaluate() does.
[[nodiscard]] std::int64_t fit_measured_step(const RunSpec& spec);

} // namespace ppsim
