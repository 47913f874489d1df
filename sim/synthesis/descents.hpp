#pragma once
// Descents: an order is changed by chance and improved, over and over, and the result kept if it is no longer: iterated
// local search (Lourenço, Martin and Stützle 2003).

#include "ppsim/base/random.hpp"

#include "round.hpp"

namespace ppsim::synthesis {

struct Descent {
  Plan plan;
  SplitMix64 dice;
};

/// What each of them takes, in moves of a tabu search.
constexpr std::uint64_t moves_of_descent = 220;

/// So many of them. Each moves the starts of the plan by chance, all or those in a part of the step, places the tasks
/// in that order, and is a short tabu search from there. Ends early at a makespan of at most `target`, or if `ends` of
/// the best makespan. Its part has the plan if that is shorter than before.
[[nodiscard]] Part descend(const Views& views, Descent& descent, std::uint64_t times, std::int64_t target,
                           const std::function<bool(std::int64_t)>& ends);

} // namespace ppsim::synthesis
