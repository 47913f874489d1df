#pragma once
// What the texts of a replay and of a validation say of a run in the same words.

#include "ppsim/measured/validation.hpp"

#include <string>
#include <string_view>

namespace ppsim::viz {

/// "  steps       5, of ...": one line of an answer, what it is about before it; broken at spaces into lines of at most
/// `width` characters.
[[nodiscard]] std::string answer_lines(std::string_view what, std::string_view text, std::size_t width);

/// How far a run can be trusted, a line each: whether its results are right, its memory is as predicted, its stages had
/// their cores and its clocks agree; the last two where they are known.
[[nodiscard]] std::string trust_lines(const MeasuredRun& run, const Validation& validation, std::size_t width);

/// What of the step was measured and is no part of the prediction, a line; empty: all is.
[[nodiscard]] std::string unpredicted_line(const Validation& validation, std::size_t width);

/// "stage 1 held 151 B, and 150 B were predicted", of the first `most` stages where peaks differ, and how many others
/// do; to the byte, as that is how they are compared. Some stage's must.
[[nodiscard]] std::string differing_peaks(const Validation& validation, std::size_t most);

} // namespace ppsim::viz
