#pragma once
// Checks of a timeline for property tests. A failing check ends the property (RC_ASSERT).

#include "support/runs.hpp"

#include <cstddef>

namespace ppsim::test {

/// Whether, under `latency`, some transfer starts while another is on the same link.
bool transfers_meet(const Outcome& outcome);
bool none_earlier(const Timeline& timeline, const Timeline& reference);
/// No task of `stage` starts before the one before it has ended, except halves of a pair.
void check_one_at_a_time(const Outcome& outcome, std::size_t stage);
/// The labelled spans of `stage` are contiguous from 0 to the makespan and add up to the report.
void check_account(const Outcome& outcome, std::size_t stage);
/// The critical path has no gap from 0 to the makespan.
void check_critical_path(const Outcome& outcome);

} // namespace ppsim::test
