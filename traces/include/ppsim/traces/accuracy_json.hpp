#pragma once
// How good many predictions are, as JSON, schema 1 (keys are added, never changed).

#include "ppsim/measured/accuracy.hpp"

#include <string>

namespace ppsim::traces {

/// One JSON document: the errors in all, by group and run by run, and the pairs of schedules that did not measure in
/// the order that was predicted. Times are whole nanoseconds, errors ratios.
[[nodiscard]] std::string accuracy_json(const Accuracy& accuracy);

} // namespace ppsim::traces
