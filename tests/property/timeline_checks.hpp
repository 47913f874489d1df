#pragma once
// What the properties of the core look at in a timeline. A check that fails ends the property (RC_ASSERT).

#include "support/runs.hpp"

#include <cstddef>

namespace ppsim::test {

/// Whether, under `latency`, some transfer would start while another is on the same link.
bool transfers_meet(const Outcome& outcome);
bool none_earlier(const Timeline& timeline, const Timeline& reference);
/// No task of `stage` starts before the one before it has ended, halves of a pair aside.
void check_one_at_a_time(const Outcome& outcome, std::size_t stage);
/// The labelled spans of `stage` lie end to end from 0 to the makespan and add up to what the report says.
void check_account(const Outcome& outcome, std::size_t stage);
/// The critical path leads without a gap from 0 to the makespan.
void check_critical_path(const Outcome& outcome);

} // namespace ppsim::test
