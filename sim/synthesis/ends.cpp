#include "ends.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/parallel.hpp"

#include <algorithm>
#include <utility>

namespace ppsim::synthesis {
namespace {

constexpr std::size_t most_trials = 20;    // of a task
constexpr std::size_t longest_pause = 8;   // microbatches
constexpr std::size_t longest_quiet = 2;   // times the microbatches of a few
constexpr std::int64_t units_of_work = 32; // in the busiest stage's for a microbatch
constexpr std::size_t between_roots = 4;   // microbatches after which all windows follow

/// Whether arcs lead from a task that takes memory to all others of its stage that give more than they take, in that
/// view.
bool leads_to_givers(const Views& views, std::size_t d, std::uint32_t taker) {
  const View& view = views.view[d];
  return std::ranges::all_of(views.on[views.stage(taker)], [&](std::uint32_t giver) {
    if (giver == taker || view.give[giver] <= view.take[giver]) return true;
    return d == 0 ? views.leads_to[taker][views.local[giver]] : views.leads_to[giver][views.local[taker]];
  });
}

/// Whether an order without some of its microbatches fits, because each holds none or more at any time. In both views,
/// so that rules 5 for all microbatches hardly say less than for a few: a checker has all.
bool are_separate(const Views& views) {
  for (const std::size_t d : {0U, 1U})
    for (std::uint32_t s = 0; s < views.local.size(); ++s)
      if (views.view[d].take[s] > 0 && !leads_to_givers(views, d, s)) return false;
  return std::ranges::all_of(views.on, [&](const std::vector<std::uint32_t>& here) {
    std::int64_t left = 0;
    for (const std::uint32_t s : here) left += views.view[0].take[s] - views.view[0].give[s];
    return left == 0;
  });
}

Instance with_microbatches(Instance instance, std::size_t count) {
  instance.microbatches = static_cast<std::uint32_t>(count);
  return instance;
}

/// For orders of which there are some. Adds the steps.
void tighten(Windows& windows, std::int64_t most, bool pairs, std::uint64_t& steps) {
  const std::uint64_t before = windows.steps();
  const bool possible = windows.tighten(most, pairs);
  PPSIM_ASSERT(possible);
  steps += windows.steps() - before;
}

} // namespace

/// By how many tasks of one sequence fit into the memory of a stage: a quarter more than where most do can take part in
/// what delays one, and memory is not short until there are nearly as many as where fewest do.
BothEnds::Reach BothEnds::reach_of(const Views& views) {
  const auto m = static_cast<std::int64_t>(views.m);
  std::int64_t most = 0;
  std::int64_t least = m;
  for (std::size_t s = 0; s < views.local.size(); ++s) {
    const std::int64_t capacity = views.instance.capacity[views.stage(s)];
    const std::int64_t net = views.view[0].take[s] - views.view[0].give[s];
    if (capacity == unlimited || net <= 0) continue;
    most = std::max(most, std::min(m, capacity / net));
    least = std::min(least, capacity / net);
  }
  if (least == m || !are_separate(views)) return {1, views.m};
  return {static_cast<std::size_t>(std::min(m, most + most / 4 + 2)), static_cast<std::size_t>(least * 3 / 4)};
}

BothEnds::BothEnds(const Views& views, std::size_t threads) : BothEnds{views, threads, reach_of(views)} {}

BothEnds::BothEnds(const Views& views, std::size_t threads, Reach reach)
    : views_{views}, threads_{threads}, few_{with_microbatches(views.instance, reach.few)}, few_views_{few_},
      few_root_{few_views_}, longest_{whole_length(views.instance)},
      unit_{std::max<std::int64_t>(1, std::ranges::max(views.work) /
                                          (units_of_work * static_cast<std::int64_t>(views.m)))},
      next_{reach.first} {
  for (Side& side : sides_) side.paces.resize(views.local.size());
  tighten(few_root_, unlimited, false, root_steps_);
}

bool BothEnds::extend(Windows& root, std::uint64_t steps, const std::function<bool()>& goes_on) {
  const std::size_t known = cases_.size();
  const std::uint64_t end = this->steps() + steps;
  while (!are_done() && this->steps() < end && goes_on()) {
    const std::size_t first = next_ < few_views_.m ? 0 : next_ + 1 - few_views_.m;
    const std::uint64_t each = (end - this->steps() + 1) / 2;
    for_each_index(2, threads_,
                   [&](std::size_t d) { try_microbatch(root, d, first, sides_.at(d).steps + each, goes_on); });
    const auto is_tried = [](const Side& side) { return side.tried == side.paces.size(); };
    if (!std::ranges::all_of(sides_, is_tried)) continue;
    learn(root, first);
    if (++next_ % between_roots == 0) tighten(root, unlimited, false, root_steps_);
  }
  tighten(root, unlimited, false, root_steps_);
  return cases_.size() > known;
}

/// Its tasks, in the order in which it runs, until the view has taken so many steps.
void BothEnds::try_microbatch(const Windows& root, std::size_t d, std::size_t first, std::uint64_t steps,
                              const std::function<bool()>& goes_on) {
  Side& side = sides_.at(d);
  const std::vector<std::uint32_t>& path = views_.view[d].path;
  if (!side.few && !begin(root, d, first)) side.tried = path.size();
  for (; side.tried < path.size() && side.steps < steps && goes_on(); ++side.tried) {
    if (std::size_t& left = side.paces[path[side.tried]].left; left > 0)
      --left;
    else
      try_task(d, path[side.tried], first, goes_on);
  }
}

/// The windows of the microbatches from `first` on. Not if that has brought nothing for long.
bool BothEnds::begin(const Windows& root, std::size_t d, std::size_t first) {
  Side& side = sides_.at(d);
  if (++side.quiet > longest_quiet * few_views_.m) return false;
  side.few = few_root_;
  side.few->raise_starts(d, root, -static_cast<std::int64_t>(first));
  tighten(*side.few, longest_, true, side.steps);
  return true;
}

/// Supposes that it starts earlier than in twice the last step, as long as it cannot; then in half.
void BothEnds::try_task(std::size_t d, std::uint32_t sequence, std::size_t first,
                        const std::function<bool()>& goes_on) {
  Side& side = sides_.at(d);
  Pace& pace = side.paces[sequence];
  const std::size_t task = sequence * few_views_.m + next_ - first;
  const std::int64_t known = side.few->head(d, task);
  std::int64_t step = std::max(unit_, pace.gain);
  bool grows = true;
  for (std::size_t trial = 0; trial < most_trials && (trial == 0 || goes_on()); ++trial) {
    const std::int64_t time = side.few->head(d, task) + step;
    const bool is_possible = side.few->allow_before(d, task, time, side.steps);
    if (!is_possible) {
      side.cases.push_back({static_cast<std::uint32_t>(d), sequence, static_cast<std::uint32_t>(next_), time});
      side.few->raise_start(d, task, time);
    } else if (step == unit_) {
      break;
    }
    grows = grows && !is_possible;
    step = grows ? 2 * step : std::max(unit_, step / 2);
  }
  pace.gain = side.few->head(d, task) - known;
  pace.pause = pace.gain > 0 ? 0 : std::min(longest_pause, 2 * pace.pause + 1);
  pace.left = pace.pause;
  if (pace.gain > 0) tighten(*side.few, longest_, true, side.steps);
}

/// What was found with the microbatches from `first` on.
void BothEnds::learn(Windows& root, std::size_t first) {
  for (const std::size_t d : {0U, 1U}) {
    Side& side = sides_.at(d);
    side.tried = 0;
    const std::optional<Windows> few = std::exchange(side.few, std::nullopt);
    if (side.cases.empty()) continue;
    side.quiet = 0;
    cases_.insert(cases_.end(), side.cases.begin(), side.cases.end());
    side.cases.clear();
    root.raise_starts(d, *few, static_cast<std::int64_t>(first));
  }
}

} // namespace ppsim::synthesis
