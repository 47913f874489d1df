#pragma once
// What the views of a validation say in the same words.

#include "ppsim/measured/validation.hpp"

#include <string>

namespace ppsim::viz {

/// "1.2 % too short", "exactly": how something is predicted.
[[nodiscard]] std::string error_words(const ComparedTime& compared);
/// "-1.23 %"; "-" where it has no bound.
[[nodiscard]] std::string signed_percent(double ratio);
/// "5 %", "1000 %", "0.125 %": a share as somebody gave it.
[[nodiscard]] std::string given_percent(double share);
/// One sentence: whether the prediction holds and, if not, everything that speaks against it.
/// Where no flush separates steps, "step time" is how often one ends (SPEC section 4): what is compared is one step
/// alone.
[[nodiscard]] std::string verdict(const MeasuredRun& run, const Validation& validation);
/// Why a task deviates: "took 1 ms longer than the 2 ms predicted".
[[nodiscard]] std::string deviation_words(const TaskGraph& graph, const Deviation& deviation);
/// "1F0 on stage 1".
[[nodiscard]] std::string task_and_stage(const TaskGraph& graph, TaskId id);

} // namespace ppsim::viz
