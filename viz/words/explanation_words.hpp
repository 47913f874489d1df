#pragma once
// Sentences for the findings of an explanation.

#include "ppsim/measured/explanation.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace ppsim::viz {

/// "the order's own bubble": a part of a step.
[[nodiscard]] std::string_view part_name(Reason reason);
/// The finding, and the step time without its cause, in one sentence.
[[nodiscard]] std::string finding_words(const Explanation& explanation, const Finding& finding);
/// The supporting figures, one sentence each.
[[nodiscard]] std::vector<std::string> evidence_words(const Explanation& explanation, const Finding& finding);

} // namespace ppsim::viz
