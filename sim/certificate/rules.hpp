#pragma once
// The rules of docs/synthesis.md, by number, that concern one stage. Each raises bounds of `stage`, or finds a
// contradiction.

#include "known.hpp"

namespace ppsim::certificate {

/// Rules 1 (along sequences), 2, 3, 4, 5a and 5b, until nothing changes.
void apply_rules_of_tasks(Known& stage);
/// Rule 5c for every task, once.
void apply_rule_of_two_givers(Known& stage);
/// Rule 6 for every task, once.
void apply_rule_of_two_orders(Known& stage);
/// Rule 7.
void apply_rule_of_idle_time(Known& stage);

} // namespace ppsim::certificate
