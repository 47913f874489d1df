#pragma once
// BuiltRun: what a RunSpec adds up to.

#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/run_spec.hpp"

#include <string>
#include <vector>

namespace ppsim {

struct BuiltRun {
  Scenario scenario;
  Schedule schedule;
  std::string schedule_place;           ///< what errors about the order name
  const Generator* generator = nullptr; ///< none for an order that is given
  ScheduleRequest request;
  std::vector<std::string> notes; ///< for people
};

/// Takes out of `scenario` what follows a flush where `schedule` has none, with a note. Throws Error where it was asked
/// for this run.
void fit_update(const RunSpec& spec, const Schedule& schedule, Scenario& scenario, std::vector<std::string>& notes);

/// Makes the schedule, or takes the one that is given, then spreads the costs over its chunks. Throws Error with
/// everything that does not fit.
[[nodiscard]] BuiltRun build_run(const RunSpec& spec);

} // namespace ppsim
