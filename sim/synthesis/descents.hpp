#pragma once
// Descents: an order is changed by chance and improved, over and over, and the result kept if it is no longer: iterated
// local search (Lourenço, Martin and Stützle 2003).

#include "ppsim/base/random.hpp"

#include "round.hpp"

namespace ppsim::synthesis {

/// The best order so far, and the dice of the next tries.
struct Descent {
  Plan plan;
  SplitMix64 dice;
};

/// Of the tabu search in a try, which take most of its time.
constexpr std::uint64_t moves_of_try = 200;

/// Tries, one after another. Each moves starts of the plan by chance, all or those in a part of the step, places the
/// tasks in that order, and makes a short tabu search from there; a plan that is no longer takes the place of the one
/// before. Ends early at a makespan of at most `target`, or if `ends` of the best makespan. The result has the plan if
/// that is shorter than at first.
[[nodiscard]] Part descend(const Views& views, Descent& descent, std::uint64_t tries, std::int64_t target,
                           const std::function<bool(std::int64_t)>& ends);

} // namespace ppsim::synthesis
