#pragma once
// Evaluation: one run from its spec to its report.

#include "ppsim/graph/timeline.hpp"
#include "ppsim/study/run_report.hpp"
#include "ppsim/study/run_spec.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ppsim {

/// A run from spec to report.
struct Evaluation {
  const Generator* generator = nullptr; ///< none for an order that is given
  ScheduleRequest request;
  TaskGraph graph;
  Timeline timeline;
  RunReport report;
  bool has_step_time = true;      ///< false where the steady state would cost too much to find; the makespan stands in
  std::vector<std::string> notes; ///< for people
};

/// The interval between steps where they follow each other without a flush, if finding it does not cost too much;
/// elsewhere nothing: the step time is the makespan. `generator` may be null for an order that is not asynchronous.
[[nodiscard]] std::optional<Duration> long_run_step_time(const Generator* generator, const ScheduleRequest& request,
                                                         const TaskGraph& graph);

/// Builds the run, balances where that is asked for, lowers, simulates and analyses. The step time and the closed form
/// are there; what-if figures and alternatives are not. Throws Error as build_run(), lower() and simulate() do.
[[nodiscard]] Evaluation evaluate(const RunSpec& spec);

/// The same with what other runs say: what if, alternatives, and on demand the sensitivity.
[[nodiscard]] Evaluation evaluate_fully(const RunSpec& spec, bool with_sensitivity);

} // namespace ppsim
