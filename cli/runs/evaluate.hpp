#pragma once
// Evaluation: one run from what a user said to its report. Every command that simulates begins here.

#include "ppsim/graph/timeline.hpp"
#include "ppsim/study/run_report.hpp"

#include <optional>
#include <string>
#include <vector>

#include "inputs.hpp"

namespace ppsim::cli {

/// A run from inputs to report.
struct Evaluation {
  const Generator* generator = nullptr; ///< none for a schedule file
  ScheduleRequest request;
  TaskGraph graph;
  Timeline timeline;
  RunReport report;
  bool has_step_time = true;      ///< false where the steady state would cost too much to find; the makespan stands in
  std::vector<std::string> notes; ///< for people, on stderr
};

/// The interval between steps where they follow each other without a flush, if finding it does not cost too much;
/// elsewhere nothing: the step time is the makespan. `generator` may be null for an order that is not asynchronous.
[[nodiscard]] std::optional<Duration> long_run_step_time(const Generator* generator, const ScheduleRequest& request,
                                                         const TaskGraph& graph);

/// Resolves, balances where that is asked for, lowers, simulates and analyses. Of the figures that others set in a
/// Report the step time and the closed form are there, the what-if figures and alternatives are not. Throws Error as
/// resolve(), lower() and simulate() do.
[[nodiscard]] Evaluation evaluate(const Inputs& inputs);

} // namespace ppsim::cli
