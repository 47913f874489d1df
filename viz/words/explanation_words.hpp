#pragma once
// What an explanation says of its findings.

#include "ppsim/measured/explanation.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace ppsim::viz {

/// "the order's own bubble": a part of a step.
[[nodiscard]] std::string_view part_name(Reason reason);
/// What was found, and what a step would take without it, in one sentence.
[[nodiscard]] std::string finding_words(const Explanation& explanation, const Finding& finding);
/// The figures that support it, a sentence each.
[[nodiscard]] std::vector<std::string> evidence_words(const Explanation& explanation, const Finding& finding);

} // namespace ppsim::viz
