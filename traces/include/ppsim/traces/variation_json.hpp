#pragma once
// A variation as JSON, schema 1 (keys are added, never changed).

#include "ppsim/study/variation.hpp"

#include <string>

namespace ppsim::traces {

/// One JSON document: the varied option with its unit, every sample of every schedule, the stretches of the best and
/// all crossings. Times are whole nanoseconds, sizes bytes; values of the axis are whole numbers of its unit.
[[nodiscard]] std::string variation_json(const Variation& variation);

} // namespace ppsim::traces
