#include "descents.hpp"

#include <cmath>

#include "guided.hpp"
#include "tabu.hpp"

namespace ppsim::synthesis {
namespace {

constexpr int widest = 2;             // exponent of two: how far starts are moved, in what the busiest stage computes
constexpr std::size_t widths = 6;     // for a microbatch; each half of the one before
constexpr std::size_t part_sizes = 5; // from the whole step on, each half of the one before
constexpr std::size_t one_of_all = 3; // one try of so many moves all starts
constexpr std::int64_t too_long = 10; // an order longer than the plan by that part of it leads nowhere

/// By the starts of the plan, moved.
Guide guide_near(const Views& views, const Plan& plan, SplitMix64& dice) {
  const std::size_t direction = dice.below(2);
  Guide guide = guide_of(views, plan, direction, dice.share());
  const int width = widest - static_cast<int>(dice.below(widths));
  Moved moved{.most = std::ldexp(dice.share() * static_cast<double>(views.most_microbatch_work()), width)};
  if (dice.below(one_of_all) > 0) {
    const auto halvings = static_cast<int>(dice.below(part_sizes)); // before the share, whatever the compiler
    const double share = std::ldexp(dice.share(), -halvings);
    limit_to_part(moved, plan.makespan, share, dice);
  }
  move_starts(guide, moved, dice);
  return guide;
}

} // namespace

Part descend(const Views& views, Descent& descent, std::uint64_t tries, std::int64_t target,
             const std::function<bool(std::int64_t)>& ends) {
  const std::uint64_t tasks = views.instance.tasks();
  const std::int64_t first = descent.plan.makespan;
  Part part{.once = true};
  for (std::uint64_t i = 0; i < tries && descent.plan.makespan > target && !ends(descent.plan.makespan); ++i) {
    const std::optional<Plan> order = make_order(views, guide_near(views, descent.plan, descent.dice));
    const std::uint64_t seed = descent.dice.next();
    part.steps += tasks;
    if (!order || order->makespan - descent.plan.makespan > descent.plan.makespan / too_long) continue;
    Tabu tabu{views, *order, seed};
    tabu.run(moves_of_try, target);
    part.steps += tabu.moves() * tasks;
    if (tabu.best() > descent.plan.makespan) continue;
    if (tabu.best() < descent.plan.makespan) part.noted.push_back({part.steps, tabu.best(), 0});
    descent.plan = tabu.best_plan();
  }
  if (descent.plan.makespan < first) part.plans.push_back(descent.plan);
  return part;
}

} // namespace ppsim::synthesis
