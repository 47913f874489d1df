#pragma once
// A comparison as JSON, schema 1 (docs: keys are added, never changed).

#include "ppsim/study/comparison.hpp"

#include <string>

namespace ppsim::traces {

/// One JSON document: every contender with all metrics by their tags, memory by stage, transfers and demands; what does
/// not apply and why; the recommendation by name, with `recommendation` (in words) as its text. Times are whole
/// nanoseconds, sizes bytes.
[[nodiscard]] std::string comparison_json(const Comparison& comparison, const std::string& recommendation);

} // namespace ppsim::traces
