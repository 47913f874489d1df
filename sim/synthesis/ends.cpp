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
constexpr std::size_t learning_share = 4;  // every so many microbatches all windows follow

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

/// How many tasks of one sequence fit into the memory of a stage that has a limit.
struct Fit {
  std::int64_t most = 0;
  std::int64_t least = unlimited;
};
Fit fit_of(const Views& views) {
  Fit fit;
  for (std::size_t s = 0; s < views.local.size(); ++s) {
    const std::int64_t capacity = views.instance.capacity[views.stage(s)];
    const std::int64_t net = views.view[0].take[s] - views.view[0].give[s];
    if (capacity == unlimited || net <= 0) continue;
    fit.most = std::max(fit.most, capacity / net);
    fit.least = std::min(fit.least, capacity / net);
  }
  return fit;
}

/// With those that can take part in what delays one: a quarter more than fit into a stage.
Instance with_few(const Views& views) {
  const auto most = static_cast<std::size_t>(std::min(fit_of(views).most, static_cast<std::int64_t>(views.m)));
  Instance few = views.instance;
  few.microbatches = static_cast<std::uint32_t>(std::min(views.m, most + most / 4 + 2));
  return few;
}

} // namespace

BothEnds::BothEnds(const Views& views, std::size_t threads)
    : views_{views}, threads_{threads}, few_{with_few(views)}, few_views_{few_}, few_root_{few_views_},
      longest_{whole_length(views.instance)},
      unit_{std::max<std::int64_t>(1, std::ranges::max(views.work) /
                                          (units_of_work * static_cast<std::int64_t>(views.m)))} {
  for (Side& side : sides_) side.paces.resize(views.local.size());
  const bool helps = are_separate(views) && few_root_.tighten(unlimited, false);
  root_steps_ = few_root_.steps();
  next_ = views.m;
  if (const std::int64_t fits = fit_of(views).least; helps && fits < static_cast<std::int64_t>(views.m))
    next_ = static_cast<std::size_t>(fits * 3 / 4); // before, memory is not short
}

bool BothEnds::extend(Windows& root, std::uint64_t steps, const std::function<bool()>& goes_on) {
  const std::size_t known = cases_.size();
  const std::uint64_t end = this->steps() + steps;
  const auto tighten_root = [&] {
    const std::uint64_t before = root.steps();
    root.tighten(unlimited, false);
    root_steps_ += root.steps() - before;
  };
  while (!are_done() && this->steps() < end && goes_on()) {
    const std::size_t first = next_ < few_views_.m ? 0 : next_ + 1 - few_views_.m;
    const std::uint64_t each = (end - this->steps() + 1) / 2;
    for_each_index(2, threads_,
                   [&](std::size_t d) { try_microbatch(root, d, first, sides_.at(d).steps + each, goes_on); });
    const auto is_tried = [](const Side& side) { return side.tried == side.paces.size(); };
    if (!std::ranges::all_of(sides_, is_tried)) continue;
    learn(root, first);
    if (++next_ % learning_share == 0) tighten_root();
  }
  tighten_root();
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
  for (std::size_t s = 0; s < views_.local.size(); ++s)
    for (std::size_t i = 0; i < few_views_.m; ++i) {
      const std::int64_t start = root.head(d, s * views_.m + first + i);
      const std::size_t task = s * few_views_.m + i;
      if (start > side.few->head(d, task)) side.few->raise_start(d, task, start);
    }
  tighten(side);
  return true;
}

void BothEnds::tighten(Side& side) const {
  const std::uint64_t before = side.few->steps();
  const bool possible = side.few->tighten(longest_);
  PPSIM_ASSERT(possible); // for there are orders
  side.steps += side.few->steps() - before;
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
    const bool is_possible = starts_before(side, d, task, time);
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
  if (pace.gain > 0) tighten(side);
}

/// Whether it can.
bool BothEnds::starts_before(Side& side, std::size_t d, std::size_t task, std::int64_t time) const {
  Windows supposed = *side.few;
  supposed.suppose_before(d, task, time);
  const bool possible = supposed.tighten(longest_);
  side.steps += supposed.steps() - side.few->steps();
  return possible;
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
    for (std::size_t s = 0; s < views_.local.size(); ++s)
      for (std::size_t i = 0; i < few_views_.m; ++i) {
        const std::int64_t start = few->head(d, s * few_views_.m + i);
        const std::size_t task = s * views_.m + first + i;
        if (start > root.head(d, task)) root.raise_start(d, task, start);
      }
  }
}

} // namespace ppsim::synthesis
