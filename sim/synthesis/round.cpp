#include "round.hpp"

#include <algorithm>

#include "tabu.hpp"

namespace ppsim::synthesis {
namespace {

constexpr std::uint64_t at_a_time = 500;      // moves
constexpr std::uint64_t most_moves = 200'000; // more of them on a hundred tasks find the same orders again

} // namespace

std::uint64_t least_work(const Views& views) {
  return at_a_time * views.instance.tasks();
}

Part improve(const Views& views, const TabuStart& start, std::uint64_t work, std::int64_t target,
             const std::function<bool(std::int64_t)>& ends, std::span<const std::int64_t> durations) {
  const std::uint64_t tasks = views.instance.tasks();
  const std::uint64_t moves = std::clamp(work / tasks, at_a_time, most_moves);
  Part part;
  Tabu tabu{views, *start.plan, start.seed, durations};
  tabu.walk(start.walk);
  for (std::uint64_t made = 0; made < moves && tabu.best() > target; made += at_a_time) {
    tabu.run(at_a_time, target);
    if (tabu.best() < start.plan->makespan) part.noted.push_back({tabu.moves() * tasks, tabu.best(), 0});
    if (ends(tabu.best())) break;
  }
  part.steps = tabu.moves() * tasks;
  if (tabu.best() < start.plan->makespan) part.plans.push_back(tabu.best_plan());
  return part;
}

} // namespace ppsim::synthesis
