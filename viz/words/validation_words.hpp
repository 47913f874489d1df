#pragma once
// Sentences shared by the views of a validation and the text of a replay.

#include "ppsim/measured/validation.hpp"

#include <string>

namespace ppsim::viz {

/// One sentence: whether the prediction holds and, if not, all evidence against it. For runs without a flush, "step
/// time" is the interval between the ends of steps (SPEC section 4); the comparison is of a single step.
[[nodiscard]] std::string verdict(const MeasuredRun& run, const Validation& validation);
/// Reason for the deviation of a task: "took 1 ms longer than the 2 ms predicted".
[[nodiscard]] std::string deviation_words(const TaskGraph& graph, const Deviation& deviation);
/// "1F0 on stage 1".
[[nodiscard]] std::string task_and_stage(const TaskGraph& graph, TaskId id);

/// How far a run can be trusted, a line each: whether its results are right, its memory is as predicted, its stages had
/// their cores and its clocks agree; the last two where they are known. How it reads:
///   results     gradients bit-equal with a run that does one task at a time; loss 2.5 in the first
///               step, 1.5 in the last of 2
///   memory      as predicted on every stage, at most 2.25 GiB (stage 0)
///   cores       in tasks, every stage had at least 99 % of a core
///   clocks      aligned within 1.2 us
[[nodiscard]] std::string trust_lines(const MeasuredRun& run, const Validation& validation, std::size_t width);
/// A line about measured parts of the step outside the prediction; empty if there are none.
[[nodiscard]] std::string unpredicted_line(const Validation& validation, std::size_t width);

} // namespace ppsim::viz
