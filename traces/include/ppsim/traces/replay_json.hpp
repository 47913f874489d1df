#pragma once
// A replay as JSON, schema 1 (keys are added, never changed).

#include "ppsim/measured/validation.hpp"
#include "ppsim/study/run_report.hpp"

#include <string>

namespace ppsim::traces {

/// One JSON document: report_json() of the measured step `timeline`, and with it `replay`: how and where the run was
/// made, how long its steps took, and whether results and memory are as they have to be. `validation` is of this run.
/// With `tasks`, every task with its times is in it. Times are whole nanoseconds, sizes bytes.
[[nodiscard]] std::string replay_json(const TaskGraph& graph, const Timeline& timeline, const RunReport& report,
                                      const MeasuredRun& run, const Validation& validation, const ReplayFacts& facts,
                                      bool tasks);

} // namespace ppsim::traces
