#include "descents.hpp"

#include <cmath>

#include "guided.hpp"
#include "tabu.hpp"

namespace ppsim::synthesis {
namespace {

constexpr std::uint64_t placing = 20; // moves take about as long as placing all tasks
constexpr std::uint64_t short_search = moves_of_descent - placing;
constexpr std::size_t width_doublings = 6; // of how far starts are moved
constexpr int widest = 2;                  // a power of two, in what the busiest stage computes for a microbatch
constexpr std::size_t part_halvings = 5;   // of the step
constexpr std::size_t one_of_all = 3;      // of so many descents moves all starts
constexpr std::int64_t too_long = 10;      // an order longer than the plan by that part of it leads nowhere

/// By the starts of the plan, some of them moved.
Guide guide_near(const Views& views, const Plan& plan, SplitMix64& dice) {
  const std::size_t direction = dice.below(2);
  Guide guide = guide_of(views, plan, direction, dice.share());
  const int width = widest - static_cast<int>(dice.below(width_doublings));
  Moved moved{.most = std::ldexp(dice.share() * static_cast<double>(views.most_microbatch_work()), width)};
  if (dice.below(one_of_all) > 0) {
    const auto halvings = static_cast<int>(dice.below(part_halvings)); // before the share, whatever the compiler
    const double share = std::ldexp(dice.share(), -halvings);
    limit_to_part(moved, plan.makespan, share, dice);
  }
  move_starts(guide, moved, dice);
  return guide;
}

} // namespace

Part descend(const Views& views, Descent& descent, std::uint64_t times, std::int64_t target,
             const std::function<bool(std::int64_t)>& ends) {
  const std::uint64_t tasks = views.instance.tasks();
  const std::int64_t first = descent.plan.makespan;
  Part part;
  for (std::uint64_t i = 0; i < times && descent.plan.makespan > target && !ends(descent.plan.makespan); ++i) {
    const std::optional<Plan> order = make_order(views, guide_near(views, descent.plan, descent.dice));
    const std::uint64_t seed = descent.dice.next();
    part.steps += tasks;
    if (!order || order->makespan - descent.plan.makespan > descent.plan.makespan / too_long) continue;
    Tabu tabu{views, *order, seed};
    tabu.run(short_search, target);
    part.steps += short_search * tasks;
    if (tabu.best() > descent.plan.makespan) continue;
    const bool is_shorter = tabu.best() < descent.plan.makespan;
    descent.plan = tabu.best_plan();
    if (is_shorter) part.noted.push_back({part.steps, descent.plan.makespan, 0});
  }
  if (descent.plan.makespan < first) part.plans.push_back(descent.plan);
  return part;
}

} // namespace ppsim::synthesis
