#pragma once
// BuiltRun: what a RunSpec adds up to, ready to be lowered.

#include "ppsim/schedule/schedule.hpp"
#include "ppsim/study/run_spec.hpp"

#include <string>
#include <vector>

namespace ppsim {

struct BuiltRun {
  Scenario scenario;              ///< which validate() has passed
  Schedule schedule;              ///< of an order that is given, without an origin
  std::string schedule_place;     ///< what errors about the order name
  std::vector<std::string> notes; ///< for people
};

/// Takes out of `scenario` what follows a flush where `schedule` has none, with a note. Throws Error where it was asked
/// for this run.
void fit_update(const RunSpec& spec, const Schedule& schedule, Scenario& scenario, std::vector<std::string>& notes);

/// Notes for people on what is allowed but probably not what was meant.
[[nodiscard]] std::vector<std::string> cautions(const RunSpec& spec, const BuiltRun& run);

/// Makes the schedule, or takes the one that is given, then spreads the costs over its chunks. Throws Error with
/// everything that does not fit. `known`, where there is one, takes the place of a schedule that would be made by the
/// same request.
[[nodiscard]] BuiltRun build_run(const RunSpec& spec, const Schedule* known = nullptr);

} // namespace ppsim
