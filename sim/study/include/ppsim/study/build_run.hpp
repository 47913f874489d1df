#pragma once
// BuiltRun: the scenario and schedule of a RunSpec, ready to be lowered.

#include "ppsim/schedule/schedule.hpp"
#include "ppsim/study/run_spec.hpp"

#include <string>
#include <vector>

namespace ppsim {

struct BuiltRun {
  Scenario scenario;              ///< has passed validate()
  Schedule schedule;              ///< without an origin if the order is given
  std::string schedule_place;     ///< the origin that errors about the order name
  std::vector<std::string> notes; ///< for users
};

/// Removes the work after a flush from `scenario` if `schedule` has no flush, with a note. Throws Error if that work
/// was set for this run.
void fit_update(const RunSpec& spec, const Schedule& schedule, Scenario& scenario, std::vector<std::string>& notes);

/// Notes for users about settings that are allowed but probably unintended.
[[nodiscard]] std::vector<std::string> cautions(const RunSpec& spec, const BuiltRun& run);

/// As make_schedule(). Of what a generator that searches makes with rivals, it is the schedule whose step is shortest
/// with the scenario's transfers, the first if all deadlock.
[[nodiscard]] Schedule make_for_transfers(const Generator& generator, const ScheduleRequest& request,
                                          const Scenario& scenario);

/// Makes the schedule, or uses the given one, then distributes the costs over its chunks. Throws Error with every
/// conflict. `known`, if not null, replaces a schedule that an equal request would make.
[[nodiscard]] BuiltRun build_run(const RunSpec& spec, const Schedule* known = nullptr);

} // namespace ppsim
