#include "ends.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/parallel.hpp"

#include <algorithm>
#include <utility>

namespace ppsim::synthesis {
namespace {

constexpr std::size_t most_trials = 20;     // of a task
constexpr std::size_t longest_pause = 16;   // microbatches
constexpr std::size_t longest_quiet = 2;    // times the microbatches of a few
constexpr std::int64_t units_of_few = 1024; // in the busiest stage's work for a few microbatches
constexpr std::int64_t evenness = 50;       // of what is later by so many times as much as it differs
constexpr std::size_t between_roots = 4;    // microbatches after which all windows follow

} // namespace

void apply_rules(Windows& windows, std::int64_t most, bool pairs, std::uint64_t& steps) {
  const std::uint64_t before = windows.steps();
  const bool possible = windows.tighten(most, pairs);
  PPSIM_ASSERT(possible);
  steps += windows.steps() - before;
}

BothEnds::BothEnds(const Views& views, std::size_t threads, std::int64_t longest)
    : BothEnds{views, threads, longest, reach_of(views)} {}

BothEnds::BothEnds(const Views& views, std::size_t threads, std::int64_t longest, Reach reach)
    : views_{views}, threads_{threads}, near_{views, reach.few}, longest_{longest},
      unit_{std::max<std::int64_t>(1, std::ranges::max(near_.views().work) / units_of_few)}, first_{reach.first},
      root_steps_{near_.root().steps()} {
  // tasks that take memory are delayed first; the others come later, a few at a time
  for (const std::size_t d : {0U, 1U}) {
    sides_.at(d).d = d;
    sides_.at(d).next = reach.first;
    sides_.at(d).paces.resize(views.local.size());
    for (std::size_t s = 0; s < views.local.size(); ++s)
      if (views.view[d].take[s] <= views.view[d].give[s])
        sides_.at(d).paces[s] = {.pause = longest_pause, .left = 1 + s % longest_pause};
    sides_.at(d).findings.resize(views.m);
  }
}

bool BothEnds::may_reach_repeats(std::uint64_t steps) const {
  const Side& side = sides_[0].next > sides_[1].next ? sides_[0] : sides_[1];
  const std::size_t repeats = std::min(views_.m, 2 * near_.views().m);
  if (!cases_.empty() || side.next >= repeats) return false;
  return side.steps * (repeats - side.next) <= steps * (side.next - first_);
}

/// How many of so many steps each view takes: more if it gets farther in as many.
std::array<std::uint64_t, 2> BothEnds::shares_of(std::uint64_t steps) const {
  if (is_done(sides_[0]) || is_done(sides_[1])) return {is_done(sides_[0]) ? 0 : steps, is_done(sides_[1]) ? 0 : steps};
  if (sides_[0].next == sides_[1].next) return {steps - steps / 2, steps / 2};
  const std::uint64_t less = steps / 4;
  return sides_[0].next > sides_[1].next ? std::array{steps - less, less} : std::array{less, steps - less};
}

bool BothEnds::extend(Windows& root, std::uint64_t steps, const std::function<bool()>& goes_on) {
  const std::size_t known = cases_.size();
  const std::array<std::uint64_t, 2> shares = shares_of(steps);
  const std::array<std::size_t, 2> from{sides_[0].next, sides_[1].next};
  for (Side& side : sides_)
    if (!is_done(side)) side.root = root;
  for_each_index(2, threads_, [&](std::size_t d) { extend(sides_.at(d), shares.at(d), goes_on); });
  for (const std::size_t d : {0U, 1U}) {
    Side& side = sides_.at(d);
    for (std::size_t n = from[d]; n < side.next; ++n)
      cases_.insert(cases_.end(), side.findings[n].cases.begin(), side.findings[n].cases.end());
    if (side.root) root.raise_starts(d, *side.root, 0);
    side.root.reset();
  }
  if (cases_.size() == known) return false;
  apply_rules(root, unlimited, false, root_steps_);
  return true;
}

void BothEnds::extend(Side& side, std::uint64_t steps, const std::function<bool()>& goes_on) const {
  const std::vector<std::uint32_t>& path = views_.view[side.d].path;
  const std::uint64_t end = side.steps + steps;
  while (!is_done(side) && side.steps < end && goes_on()) {
    if (side.tried == 0 && !side.few) begin(side);
    if (side.few) {
      for (; side.tried < path.size() && side.steps < end && goes_on(); ++side.tried) {
        if (std::size_t& left = side.paces[path[side.tried]].left; left > 0)
          --left;
        else
          try_task(side, path[side.tried], goes_on);
      }
      if (side.tried < path.size()) break;
    }
    learn(side);
  }
}

/// Windows near its next microbatch, unless that has brought nothing for long, or nothing but what was found before.
void BothEnds::begin(Side& side) const {
  if (++side.quiet > std::max(longest_quiet * near_.views().m, longest_pause + 1)) return; // each task was tried
  Finding& here = side.findings[side.next];
  for (std::size_t s = 0; s < views_.local.size(); ++s)
    here.before.push_back(side.root->head(side.d, s * views_.m + side.next));
  const Shift shift = shift_of(side);
  side.steady = shift.spread <= shift.least / evenness ? side.steady + 1 : 0;
  if (shift.period > 0) expect(side, shift);
  if (side.steady > longest_pause) return repeat(side, shift);
  side.few = near_.root();
  side.few->raise_starts(side.d, *side.root, -static_cast<std::int64_t>(near_.first(side.next)));
  apply_rules(*side.few, longest_, true, side.steps);
}

/// From a microbatch with as many near it, the most even one.
BothEnds::Shift BothEnds::shift_of(const Side& side) const {
  Shift best;
  const std::size_t few = near_.views().m;
  for (std::size_t period = 1; period <= few && period + few <= side.next + 1; ++period) {
    const Finding& there = side.findings[side.next - period];
    if (there.after.empty()) continue;
    std::int64_t least = unlimited;
    std::int64_t most = 0;
    for (std::size_t s = 0; s < views_.local.size() && most - least < best.spread; ++s)
      for (std::size_t j = near_.first(side.next); j <= side.next; ++j) {
        const std::size_t task = s * views_.m + j;
        const std::int64_t before = j == side.next ? there.before[s] : side.root->head(side.d, task - period);
        least = std::min(least, side.root->head(side.d, task) - before);
        most = std::max(most, side.root->head(side.d, task) - before);
      }
    if (most - least < best.spread) best = {period, least, most - least};
  }
  return best;
}

/// What was known so many microbatches before holds here, later by the least that anything is to which the rules were
/// applied there: there are as many microbatches, of the same tasks.
void BothEnds::expect(Side& side, const Shift& shift) {
  Finding& here = side.findings[side.next];
  const Finding& there = side.findings[side.next - shift.period];
  for (std::size_t s = 0; s < there.after.size(); ++s)
    here.after.push_back(std::max(there.after[s] + shift.least, here.before[s]));
}

/// The cases that show it.
void BothEnds::repeat(Side& side, const Shift& shift) const {
  Finding& here = side.findings[side.next];
  for (Case each : side.findings[side.next - shift.period].cases) {
    each.time += shift.least;
    each.index = static_cast<std::uint32_t>(side.next);
    each.among = near_.among(side.next);
    if (each.time > here.before[each.sequence]) here.cases.push_back(each);
  }
}

/// Supposes that it starts earlier than is expected, and than with the gain of the last microbatch; and later times.
void BothEnds::try_task(Side& side, std::uint32_t sequence, const std::function<bool()>& goes_on) const {
  Finding& here = side.findings[side.next];
  Pace& pace = side.paces[sequence];
  const std::size_t task = near_.task(sequence, side.next);
  const Windows before = *side.few;
  const std::int64_t known = before.head(side.d, task);
  const std::size_t cases = here.cases.size();
  const std::int64_t expected = here.after.empty() ? 0 : here.after[sequence] - known;
  delay(side, task, std::max({unit_, pace.gain, expected}), goes_on);
  const std::int64_t start = side.few->head(side.d, task);
  // a certificate needs only the last one, if that does without the others
  if (here.cases.size() > cases + 1 && !before.allow_before(side.d, task, start, side.steps))
    here.cases.erase(here.cases.begin() + static_cast<std::ptrdiff_t>(cases), here.cases.end() - 1);
  pace.gain = start - known;
  pace.pause = pace.gain > 0 ? 0 : std::min(longest_pause, 4 * pace.pause + 1);
  pace.left = pace.pause;
  if (pace.gain > 0) apply_rules(*side.few, longest_, true, side.steps);
}

/// By that step, if it cannot start earlier; then by ever longer ones, as long as it cannot; then by halves.
void BothEnds::delay(Side& side, std::size_t task, std::int64_t step, const std::function<bool()>& goes_on) const {
  const auto sequence = static_cast<std::uint32_t>(task / near_.views().m);
  bool grows = true;
  for (std::size_t trial = 0; trial < most_trials && (trial == 0 || goes_on()); ++trial) {
    const std::int64_t time = side.few->head(side.d, task) + step;
    const bool is_possible = side.few->allow_before(side.d, task, time, side.steps);
    if (!is_possible) {
      side.findings[side.next].cases.push_back({static_cast<std::uint32_t>(side.d), sequence,
                                                static_cast<std::uint32_t>(side.next), time, near_.among(side.next)});
      side.few->raise_start(side.d, task, time);
    } else if (step == unit_) {
      break;
    }
    grows = grows && !is_possible;
    if (grows)
      step = trial == 0 ? unit_ : 2 * step;
    else
      step = std::max(unit_, step / 2);
  }
}

/// What was found for its microbatch; then the next one is in hand.
void BothEnds::learn(Side& side) const {
  Finding& here = side.findings[side.next];
  const std::size_t first = near_.first(side.next);
  if (side.few) {
    here.after.clear();
    for (std::size_t s = 0; s < views_.local.size(); ++s)
      here.after.push_back(side.few->head(side.d, near_.task(s, side.next)));
  }
  if (!here.cases.empty()) {
    side.quiet = 0;
    if (side.few)
      side.root->raise_starts(side.d, *side.few, static_cast<std::int64_t>(first));
    else
      for (std::size_t s = 0; s < here.after.size(); ++s)
        if (here.after[s] > here.before[s]) side.root->raise_start(side.d, s * views_.m + side.next, here.after[s]);
  }
  side.few.reset();
  side.tried = 0;
  if (++side.next % between_roots == 0) apply_rules(*side.root, unlimited, false, side.steps);
}

} // namespace ppsim::synthesis
