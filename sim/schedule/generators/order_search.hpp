#pragma once
// Improves a plan by exchanging neighbours on its critical path, as for job shops: tasks outside the chain that decides
// the span cannot shorten it.

#include "dispatch.hpp"

namespace ppsim::generator {

/// Exchanges neighbours, starting from `start`, and offers improvements to `best`. `tries` limits the number of orders.
void exchange_neighbours(Dispatch& board, const Plan& start, BestPlan& best, std::size_t tries);

} // namespace ppsim::generator
