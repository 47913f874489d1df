#pragma once
// A validation as JSON, schema 1 (keys are added, never changed).

#include "ppsim/measured/validation.hpp"

#include <string>

namespace ppsim::traces {

/// One JSON document: whether the prediction holds and what speaks against it, then every figure predicted and measured
/// with its error, and the tasks that deviate most. Times are whole nanoseconds, sizes bytes, errors ratios.
[[nodiscard]] std::string validation_json(const TaskGraph& graph, const MeasuredRun& run, const Validation& validation);

} // namespace ppsim::traces
