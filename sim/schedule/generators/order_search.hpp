#pragma once
// Improves a plan by exchanging neighbours on its critical path, as is done for job shops: what is not on the chain of
// tasks that decides the span cannot shorten it.

#include "dispatch.hpp"

namespace ppsim::generator {

/// Exchanges neighbours, starting from `start`, and offers what is better than that to `best`. `tries` bounds how many
/// orders are looked at.
void exchange_neighbours(Dispatch& board, const Plan& start, BestPlan& best, std::size_t tries);

} // namespace ppsim::generator
