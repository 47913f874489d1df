#include "windows.hpp"

#include "ppsim/base/detail/wide.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace ppsim::synthesis {
namespace {

constexpr std::size_t tasks_per_step = 128;                   // that end_of() goes through in the time of a step
constexpr std::int64_t never_begun = std::int64_t{-1} << 62U; // end of a set without tasks

std::int64_t divide_up(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

/// Makes each count at least that of `other`.
void join(std::span<std::uint16_t> counts, std::span<const std::uint16_t> other) {
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = std::max(counts[i], other[i]);
}

/// Sorts what consists of sorted runs of that length.
void merge_runs(std::vector<std::array<std::int64_t, 3>>& events, std::ptrdiff_t length) {
  for (; length < std::ssize(events); length *= 2)
    for (auto from = events.begin(); events.end() - from > length;) {
      const auto to = from + std::min(2 * length, events.end() - from);
      std::inplace_merge(from, from + length, to);
      from = to;
    }
}

} // namespace

Windows::Windows(const Views& views)
    : views_{&views}, stamp_(views.on.size(), 1), seen_pairs_(2 * views.on.size()), idled_(views.on.size()),
      changes_{views.local.size(), views.m}, position_(views.width * views.m), other_(views.width) {
  const std::size_t count = views.local.size();
  for (auto& visited : visited_) visited.resize(count);
  for (auto& shared : shared_) shared.resize(views.on.size());
  for (auto& news : news_) news.resize(views.width);
  for (const std::size_t d : {0U, 1U}) {
    head_[d].resize(count * views.m);
    before_[d].resize(count * views.m * views.width);
    for (std::size_t s = 0; s < count; ++s) {
      for (std::size_t j = 0; j < views.m; ++j) {
        head_[d][s * views.m + j] = views.view[d].release[s] + static_cast<std::int64_t>(j) * views.duration(s);
        row(d, s * views.m + j)[views.local[s]] = static_cast<std::uint16_t>(j);
      }
    }
  }
  for (const std::vector<std::uint32_t>& here : views.on)
    for (const std::uint32_t from : here)
      for (const std::uint32_t to : here)
        if (views.leads_to[from][views.local[to]]) order_all(from, to);
}

/// Task j of `first` runs before task j of `second`.
void Windows::order_all(std::size_t first, std::size_t second) {
  for (std::size_t j = 0; j < views_->m; ++j) {
    row(0, second * views_->m + j)[views_->local[first]] = static_cast<std::uint16_t>(j + 1);
    row(1, first * views_->m + j)[views_->local[second]] = static_cast<std::uint16_t>(j + 1);
  }
}

std::int64_t Windows::latest(std::size_t d, std::size_t task) const {
  return most_ - views_->duration(task / views_->m) - head_[1 - d][views_->turned(task)];
}

std::int64_t Windows::bound() const {
  std::int64_t most = 0;
  for (std::size_t task = 0; task < head_[0].size(); ++task)
    most = std::max(most, head_[0][task] + views_->duration(task / views_->m) + head_[1][views_->turned(task)]);
  return most;
}

void Windows::note_change(std::size_t d, std::size_t task) {
  const std::size_t s = task / views_->m;
  changes_.note(d, s, static_cast<std::uint16_t>(task % views_->m));
  changed_ = true;
  stamp_[views_->stage(s)] = ++clock_;
}

/// Sorts the tasks of the stage by their heads as they are. Heads rise within a sequence, so that lists are merged.
void Windows::snapshot(std::size_t d, std::size_t stage) {
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::uint32_t>& here = views_->on[stage];
  sorted_.resize(here.size() * views_->m);
  latest_end_.resize(sorted_.size());
  fronts_.clear();
  for (const std::uint32_t s : here) fronts_.push_back({head_[d][s * views_->m], views_->duration(s), 0});
  std::int64_t end = never_begun;
  for (std::uint32_t at = 0; at < sorted_.size(); ++at) {
    std::size_t local = 0;
    for (std::size_t other = 1; other < fronts_.size(); ++other)
      if (fronts_[other].head < fronts_[local].head) local = other;
    Front& first = fronts_[local];
    sorted_[at] = {first.head, first.duration, static_cast<std::uint16_t>(local), first.index};
    position_[local * views_->m + first.index] = at;
    latest_end_[at] = end = std::max(end, first.head) + first.duration;
    first.head = ++first.index < views_->m ? head_[d][here[local] * views_->m + first.index] : none;
  }
}

/// When the first `counts` tasks of each sequence can all have ended at the earliest, by the snapshot; `known` where
/// that is later. Backwards from the last of them, until all before it cannot end later than that.
std::int64_t Windows::end_of(std::span<const std::uint16_t> counts, std::int64_t known) const {
  std::size_t first = sorted_.size(); // that is not among them
  std::size_t at = 0;
  for (std::size_t local = 0; local < counts.size(); ++local) {
    const std::uint32_t* const positions = &position_[local * views_->m];
    if (counts[local] < views_->m) first = std::min<std::size_t>(first, positions[counts[local]]);
    if (counts[local] > 0) at = std::max<std::size_t>(at, positions[counts[local] - 1U] + 1U);
  }
  std::int64_t end = known;
  for (std::int64_t work = 0; at > 0 && latest_end_[at - 1] + work > end;) {
    if (at <= first) return latest_end_[at - 1] + work;
    const Entry& entry = sorted_[--at];
    if (entry.index >= counts[entry.local]) continue;
    work += entry.duration;
    end = std::max(end, entry.head + work);
  }
  return end;
}

/// Before a task that takes memory, so many must have run that give some that it fits. False: it never does.
bool Windows::fit_memory(std::size_t d, std::size_t task, std::span<std::uint16_t> counts) const {
  const View& view = views_->view[d];
  const std::size_t own = task / views_->m;
  const std::size_t stage = views_->stage(own);
  if (view.take[own] == 0 || views_->instance.capacity[stage] == unlimited) return true;
  std::int64_t need = view.take[own] - view.room[stage];
  std::int64_t available = 0;
  for (const std::uint32_t s : views_->on[stage]) {
    const std::int64_t net = view.take[s] - view.give[s];
    if (net >= 0 || s == own)
      need += net * counts[views_->local[s]];
    else
      available -= net * at_most(d, task, views_->local[s]);
  }
  if (available < need) return false;
  for (const std::uint32_t s : views_->on[stage]) {
    const std::int64_t gives = view.give[s] - view.take[s];
    if (gives <= 0 || s == own) continue;
    const std::int64_t others = available - gives * at_most(d, task, views_->local[s]);
    if (need <= others) continue;
    std::uint16_t& known = counts[views_->local[s]];
    known = std::max(known, static_cast<std::uint16_t>(divide_up(need - others, gives)));
  }
  return true;
}

/// What runs before what runs before it; and nothing runs both before and after it.
bool Windows::close_row(std::size_t d, std::size_t task, std::span<std::uint16_t> counts) const {
  const std::vector<std::uint32_t>& here = views_->on[views_->stage(task / views_->m)];
  const std::size_t own = views_->local[task / views_->m];
  for (std::size_t local = 0; local < here.size(); ++local)
    if (local != own && counts[local] > 0)
      join(counts.first(here.size()), row(d, here[local] * views_->m + counts[local] - 1U).first(here.size()));
  if (counts[own] > task % views_->m) return false; // it would run before itself
  for (std::size_t local = 0; local < here.size(); ++local)
    if (local != own && counts[local] > at_most(d, task, local)) return false;
  return true;
}

/// Whether nothing has changed on the stages that matter since the last visit.
bool Windows::is_seen(std::size_t d, std::uint32_t s) const {
  const auto is_older = [&](std::size_t stage) { return stamp_[stage] < visited_[d][s]; };
  return is_older(views_->stage(s)) && std::ranges::all_of(views_->view[d].inputs[s], [&](const View::Input& input) {
           return is_older(views_->stage(input.sequence));
         });
}

bool Windows::visit(std::size_t d, std::uint32_t s) {
  if (is_seen(d, s)) return true;
  visited_[d][s] = ++clock_;
  steps_ += views_->m;
  const View& view = views_->view[d];
  const std::size_t stage = views_->stage(s);
  for (const std::uint32_t v : views_->on[stage])
    news_[d][views_->local[v]] = static_cast<std::uint16_t>(changes_.first(d, v));
  std::size_t first = views_->m; // all tasks from there on
  for (const View::Input& input : view.inputs[s]) first = std::min(first, changes_.first(d, input.sequence));
  const bool is_limited = view.take[s] > 0 && views_->instance.capacity[stage] != unlimited;
  const std::size_t limited = is_limited ? views_->m - changes_.first(1 - d, s) : 0; // tasks of which less may be given
  const std::size_t width = views_->on[stage].size();
  has_snapshot_ = false;
  for (std::size_t j = 0; j < views_->m; ++j) {
    const std::size_t task = s * views_->m + j;
    const bool is_new = j >= std::min(first, changes_.first(d, s)) || has_news(d, row(d, task).first(width), s);
    if ((is_new || (j < limited && needs_memory(d, task))) && !visit_task(d, task)) return false;
  }
  return true;
}

/// Whether that it fits says more than is known, or that it never does.
bool Windows::needs_memory(std::size_t d, std::size_t task) {
  const std::span<const std::uint16_t> known = row(d, task);
  std::ranges::copy(known, other_.begin());
  return !fit_memory(d, task, other_) || !std::ranges::equal(known, other_);
}

bool Windows::visit_task(std::size_t d, std::size_t task) {
  const std::size_t s = task / views_->m;
  const std::size_t j = task % views_->m;
  if (!has_snapshot_) {
    snapshot(d, views_->stage(s));
    has_snapshot_ = true;
  }
  const std::span<std::uint16_t> known = row(d, task).first(views_->on[views_->stage(s)].size());
  const std::span<std::uint16_t> counts{other_.data(), known.size()};
  std::ranges::copy(known, counts.begin());
  std::int64_t start = head_[d][task];
  if (j > 0) {
    start = std::max(start, head_[d][task - 1] + views_->duration(s));
    join(counts, row(d, task - 1).first(known.size()));
    counts[views_->local[s]] = static_cast<std::uint16_t>(j);
  }
  for (const View::Input& input : views_->view[d].inputs[s])
    start = std::max(start, head_[d][input.sequence * views_->m + j] + views_->duration(input.sequence) + input.lag);
  if (!fit_memory(d, task, counts) || !close_row(d, task, counts)) return false;
  start = end_of(counts, start);
  if (start > latest(d, task)) return false;
  if (start == head_[d][task] && std::ranges::equal(known, counts)) return true;
  head_[d][task] = start;
  std::ranges::copy(counts, known.begin());
  note_change(d, task);
  return true;
}

/// What is known of the order in view `from` becomes known in the other.
void Windows::share(std::size_t from) {
  for (std::size_t stage = 0; stage < views_->on.size(); ++stage) {
    if (shared_[from][stage] >= stamp_[stage]) continue;
    for (const std::uint32_t x : views_->on[stage])
      for (const std::uint32_t y : views_->on[stage])
        if (x != y) share_pair(from, x, y);
    shared_[from][stage] = stamp_[stage];
  }
}

/// Task i of y runs before all tasks of x from the first on whose count of y exceeds i.
void Windows::share_pair(std::size_t from, std::size_t x, std::size_t y) {
  const std::size_t first = changes_.first(from, x);
  std::size_t done = first == 0 ? 0 : row(from, x * views_->m + first - 1)[views_->local[y]];
  for (std::size_t j = first; j < views_->m; ++j) {
    const std::size_t known = row(from, x * views_->m + j)[views_->local[y]];
    for (; done < known; ++done) {
      const std::size_t task = views_->turned(y * views_->m + done);
      std::uint16_t& there = row(1 - from, task)[views_->local[x]];
      const auto behind = static_cast<std::uint16_t>(views_->m - j);
      if (there >= behind) continue;
      there = behind;
      note_change(1 - from, task);
    }
  }
}

/// The task starts at `start` at the earliest, and those of its sequence after it later: snapshot() counts on that.
void Windows::raise_sequence(std::size_t d, std::size_t task, std::int64_t start) {
  const std::size_t end = task - task % views_->m + views_->m;
  for (std::size_t at = task; at < end && head_[d][at] < start; ++at, start += views_->duration(task / views_->m))
    head_[d][at] = start;
}

/// The two sequences of those whose number before the task is not known that can give the most, and what they must
/// give; nothing where there are fewer.
std::optional<Windows::Share> Windows::share_of(std::size_t d, std::size_t task) const {
  const View& view = views_->view[d];
  const std::size_t own = task / views_->m;
  const std::span<const std::uint16_t> counts = row(d, task);
  Share share{.need = view.take[own] - view.room[views_->stage(own)], .givers = {}};
  std::vector<Giver> open;
  for (const std::uint32_t s : views_->on[views_->stage(own)]) {
    const std::int64_t net = view.take[s] - view.give[s];
    const std::uint16_t known = counts[views_->local[s]];
    const std::uint16_t most = s == own ? known : at_most(d, task, views_->local[s]);
    share.need += net * (net < 0 ? most : known);
    if (net < 0 && known < most) open.push_back({s, views_->local[s], -net, known, most});
  }
  if (open.size() < 2) return std::nullopt;
  std::ranges::stable_sort(open, std::greater{},
                           [](const Giver& giver) { return giver.gives * (giver.most - giver.least); });
  for (const std::size_t i : {0U, 1U}) {
    share.givers[i] = open[i];
    share.need += open[i].gives * open[i].most; // the others at their most
  }
  return share;
}

/// What runs before the task if so many tasks of the two do.
void Windows::set_with(std::size_t d, std::size_t task, const Share& share, const std::array<std::int64_t, 2>& numbers,
                       std::span<std::uint16_t> set) const {
  std::ranges::copy(row(d, task).first(set.size()), set.begin());
  for (const std::size_t i : {0U, 1U}) {
    if (numbers[i] == 0) continue;
    const auto number = static_cast<std::uint16_t>(numbers[i]);
    join(set, row(d, share.givers[i].sequence * views_->m + number - 1U).first(set.size()));
    set[share.givers[i].local] = std::max(set[share.givers[i].local], number);
  }
}

/// The numbers of tasks of the two before the task that give just enough, by rising numbers of the first.
void Windows::find_ways(const Share& share) {
  const auto& [first, second] = share.givers;
  ways_.clear();
  for (std::int64_t number = first.least; number <= first.most; ++number) {
    const std::int64_t rest = std::max<std::int64_t>(0, divide_up(share.need - number * first.gives, second.gives));
    const std::int64_t other = std::max<std::int64_t>(rest, second.least);
    if (other > second.most || (!ways_.empty() && other == ways_.back()[1]))
      continue; // as many need no more of the first
    ways_.push_back({number, other});
    if (other == second.least) return;
  }
}

/// A task that takes memory, and two sequences that give it: each way in which they can share what is needed.
bool Windows::split_releases(std::size_t d, std::size_t task) {
  const std::optional<Share> share = share_of(d, task);
  if (!share) return true;
  find_ways(*share);
  if (ways_.size() > 1) std::swap(ways_[1], ways_.back()); // if the extremes can be, there is often nothing to learn
  constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  std::vector<std::uint16_t> set(views_->on[views_->stage(task / views_->m)].size());
  std::vector<std::uint16_t> all(set.size(), std::numeric_limits<std::uint16_t>::max());
  std::int64_t start = never;
  ++steps_;
  for (const std::array<std::int64_t, 2>& way : ways_) {
    set_with(d, task, *share, way, set);
    steps_ += sorted_.size() / tasks_per_step;
    const std::int64_t end = end_of(set, start > head_[d][task] ? head_[d][task] : latest(d, task));
    if (end > latest(d, task)) continue;
    start = std::min(start, end);
    std::ranges::transform(all, set, all.begin(), std::ranges::min);
    if (!is_news(d, task, start, all)) return true;
  }
  if (start == never) return false;
  learn(d, task, start, all);
  return true;
}

/// Whether it is not known that the task starts at `start` or later, and at least so many of the others run before it.
bool Windows::is_news(std::size_t d, std::size_t task, std::int64_t start,
                      std::span<const std::uint16_t> others) const {
  if (start > head_[d][task]) return true;
  const std::span<const std::uint16_t> counts = row(d, task);
  for (std::size_t i = 0; i < others.size(); ++i)
    if (i != views_->local[task / views_->m] && others[i] > counts[i]) return true;
  return false;
}

void Windows::learn(std::size_t d, std::size_t task, std::int64_t start, std::span<const std::uint16_t> others) {
  const std::span<std::uint16_t> counts = row(d, task).first(others.size());
  for (std::size_t i = 0; i < others.size(); ++i)
    if (i != views_->local[task / views_->m]) counts[i] = std::max(counts[i], others[i]);
  raise_sequence(d, task, start);
  note_change(d, task);
}

/// x is a task of one sequence, y the first of another that is not known to run before it: if it cannot run after it
/// either, it runs before it.
bool Windows::try_pair(std::size_t d, std::uint32_t x, std::uint32_t y) {
  const std::size_t width = views_->on[views_->stage(x)].size();
  const std::size_t own = views_->local[x];
  const std::size_t other = views_->local[y];
  std::size_t first = news_[d][own]; // all tasks from there on
  steps_ += views_->m;
  has_snapshot_ = false;
  for (std::size_t j = 0; j < views_->m; ++j) {
    const std::size_t task = x * views_->m + j;
    const std::span<std::uint16_t> counts = row(d, task).first(width);
    if (j > 0) {
      join(counts, row(d, task - 1).first(width));
      counts[own] = static_cast<std::uint16_t>(j);
    }
    for (; counts[other] < at_most(d, task, other); first = std::min(first, j)) {
      const std::size_t behind = y * views_->m + counts[other];
      const std::span<const std::uint16_t> its = row(d, behind).first(width);
      if (its[own] > j) break; // it runs after x
      const bool is_new = j >= first || counts[other] >= news_[d][other] ||
                          counts[other] + news_[1 - d][other] < views_->m || has_news(d, counts, x) ||
                          has_news(d, its, y);
      if (!is_new || !ends_too_late(d, task, behind)) break;
      join(counts, its);
      ++counts[other];
      if (counts[own] > j) return false;
      note_change(d, task);
    }
  }
  return true;
}

/// Whether `behind` starts later than it can if `task` and what is before both run before it.
bool Windows::ends_too_late(std::size_t d, std::size_t task, std::size_t behind) {
  const std::size_t width = views_->on[views_->stage(task / views_->m)].size();
  const std::span<const std::uint16_t> counts = row(d, task).first(width);
  const std::span<const std::uint16_t> its = row(d, behind).first(width);
  const std::size_t own = views_->local[task / views_->m];
  const std::span<std::uint16_t> all{other_.data(), width};
  std::ranges::transform(counts, its, all.begin(), std::ranges::max);
  all[own] = std::max(all[own], static_cast<std::uint16_t>(task % views_->m + 1));
  return end_of(all, latest(d, behind)) > latest(d, behind);
}

/// Whether a task of another sequence before it has changed.
bool Windows::has_news(std::size_t d, std::span<const std::uint16_t> counts, std::uint32_t s) const {
  for (std::size_t local = 0; local < counts.size(); ++local)
    if (local != views_->local[s] && counts[local] > news_[d][local]) return true;
  return false;
}

bool Windows::has_news_to_split(std::size_t d, std::size_t task) const {
  const std::size_t j = task % views_->m;
  const std::size_t own = views_->local[task / views_->m];
  if (j >= news_[d][own] || j + news_[1 - d][own] < views_->m) return true;
  const std::size_t width = views_->on[views_->stage(task / views_->m)].size();
  for (std::size_t local = 0; local < width; ++local)
    if (local != own && at_most(d, task, local) > news_[d][local]) return true;
  return false;
}

bool Windows::try_splits(std::size_t d, std::size_t stage) {
  const View& view = views_->view[d];
  const auto gives = [&](std::uint32_t s) { return view.give[s] > view.take[s]; }; // a split takes two that do
  if (views_->instance.capacity[stage] == unlimited || std::ranges::count_if(views_->on[stage], gives) < 2) return true;
  for (const std::uint32_t s : views_->on[stage]) {
    if (view.take[s] == 0) continue;
    for (std::size_t j = 0; j < views_->m && steps_ < last_step_; ++j)
      if (has_news_to_split(d, s * views_->m + j) && !split_releases(d, s * views_->m + j)) return false;
  }
  return true;
}

bool Windows::try_pairs(std::size_t d, std::size_t stage) {
  for (const std::uint32_t x : views_->on[stage])
    for (const std::uint32_t y : views_->on[stage])
      if (x != y && !try_pair(d, x, y)) return false;
  return true;
}

void Windows::take_news(std::size_t d, std::size_t stage) {
  for (const std::uint32_t s : views_->on[stage])
    for (const std::size_t of : {0U, 1U}) news_[of][views_->local[s]] = changes_.take_untried(d, of, s);
}

bool Windows::try_orders(std::size_t d) {
  for (std::size_t stage = 0; stage < views_->on.size() && steps_ < last_step_; ++stage) {
    if (focus_.value_or(stage) != stage || seen_pairs_[2 * stage + d] >= stamp_[stage]) continue;
    const std::uint64_t before = stamp_[stage];
    take_news(d, stage);
    snapshot(d, stage);
    if (!try_splits(d, stage) || !try_pairs(d, stage)) return false;
    seen_pairs_[2 * stage + d] = before;
  }
  return true;
}

void Windows::raise_start(std::size_t d, std::size_t task, std::int64_t time) {
  raise_sequence(d, task, time);
  note_change(d, task);
}

void Windows::raise_starts(std::size_t d, const Windows& others, std::int64_t shift) {
  const auto here = static_cast<std::int64_t>(views_->m);
  const auto there = static_cast<std::int64_t>(others.views_->m);
  for (std::int64_t s = 0; s < static_cast<std::int64_t>(views_->local.size()); ++s)
    for (std::int64_t j = std::max<std::int64_t>(0, shift); j < std::min(here, there + shift); ++j) {
      const std::int64_t start = others.head(d, static_cast<std::size_t>(s * there + j - shift));
      if (const auto task = static_cast<std::size_t>(s * here + j); start > head_[d][task]) raise_start(d, task, start);
    }
}

bool Windows::allow_before(std::size_t d, std::size_t task, std::int64_t time, std::uint64_t& steps,
                           std::optional<std::size_t> focus) const {
  Windows supposed = *this;
  supposed.focus_ = focus;
  supposed.suppose_before(d, task, time);
  const bool possible = supposed.tighten(most_);
  steps += supposed.steps() - steps_;
  return possible;
}

void Windows::suppose_before(std::size_t d, std::size_t task, std::int64_t time) {
  raise_start(1 - d, views_->turned(task), most_ - views_->duration(task / views_->m) - time + 1);
}

bool Windows::spread() {
  do {
    changed_ = false;
    changes_.begin_sweep();
    for (const std::size_t d : {0U, 1U}) {
      for (const std::uint32_t s : views_->view[d].path)
        if (!visit(d, s)) return false;
      share(d);
    }
  } while (changed_ && steps_ < last_step_);
  return true;
}

void Windows::forget_visits() {
  for (auto& visited : visited_) std::ranges::fill(visited, 0);
  std::ranges::fill(seen_pairs_, 0);
  std::ranges::fill(idled_, 0);
  changes_.renew_all();
}

bool Windows::tighten(std::int64_t most, bool pairs, std::uint64_t steps) {
  last_step_ = steps_ + std::min(steps, no_limit - steps_);
  if (most != most_) forget_visits(); // else only what has changed since
  most_ = most;
  while (true) {
    if (!spread()) return false;
    if (!pairs || steps_ >= last_step_) return true;
    changed_ = false;
    for (const std::size_t d : {0U, 1U}) {
      if (!try_orders(d)) return false;
      share(d);
    }
    if (!changed_) break;
  }
  for (std::size_t stage = 0; stage < views_->on.size(); ++stage) {
    if (idled_[stage] >= stamp_[stage]) continue;
    if (!leaves_time(stage)) return false;
    idled_[stage] = stamp_[stage];
  }
  return true;
}

/// How much work of those that take memory fits into `room`, where a task may be cut.
std::int64_t Windows::most_work(std::span<const Kind> kinds, std::span<const std::size_t> takers, std::int64_t room) {
  std::int64_t work = 0;
  for (const std::size_t i : takers) {
    const Kind& kind = kinds[i];
    const std::int64_t fit = room / kind.net;
    if (fit < kind.count)
      return work + fit * kind.duration +
             static_cast<std::int64_t>(static_cast<Int128>(room % kind.net) * kind.duration / kind.net);
    work += kind.count * kind.duration;
    room -= kind.count * kind.net;
  }
  return work;
}

/// By rising time: how long the stage has idled until then, at least.
std::vector<Windows::Idle> Windows::idle(std::size_t d, std::size_t stage) const {
  const View& view = views_->view[d];
  std::vector<Kind> kinds;
  std::vector<std::array<std::int64_t, 3>> events; // time; sequence; 0 it may begin, 1 it may have ended
  for (const std::uint32_t s : views_->on[stage]) {
    const auto kind = static_cast<std::int64_t>(kinds.size());
    for (const std::int64_t ended : {0, 1})
      for (std::size_t j = 0; j < views_->m; ++j)
        events.push_back({head_[d][s * views_->m + j] + ended * views_->duration(s), kind, ended});
    kinds.push_back({views_->duration(s), view.take[s] - view.give[s], 0});
  }
  merge_runs(events, static_cast<std::ptrdiff_t>(views_->m)); // heads rise within a sequence
  std::vector<std::size_t> takers;                            // by duration for what they take, the most first
  for (std::size_t i = 0; i < kinds.size(); ++i)
    if (kinds[i].net > 0) takers.push_back(i);
  std::ranges::stable_sort(takers, [&](std::size_t a, std::size_t b) {
    return static_cast<Int128>(kinds[a].duration) * kinds[b].net >
           static_cast<Int128>(kinds[b].duration) * kinds[a].net;
  });
  const bool limited = views_->instance.capacity[stage] != unlimited;
  std::int64_t room = view.room[stage];
  std::int64_t others = 0; // work of those that take nothing
  std::vector<Idle> result;
  for (const auto& [time, kind, ended] : events) {
    const std::int64_t work = others + most_work(kinds, takers, limited ? std::max<std::int64_t>(room, 0) : unlimited);
    const std::int64_t idled = time - work;
    if (idled > (result.empty() ? 0 : result.back().idled)) result.push_back({time, idled});
    Kind& changes = kinds[static_cast<std::size_t>(kind)];
    if (ended != 0)
      room -= std::min<std::int64_t>(0, changes.net);
    else if (++changes.count; changes.net <= 0)
      others += changes.duration;
  }
  return result;
}

/// Whether what must idle before a time and after it leaves the stage time for its work, at any time.
bool Windows::leaves_time(std::size_t stage) {
  const std::vector<Idle> before = idle(0, stage);
  const std::vector<Idle> behind = idle(1, stage);
  const std::int64_t spare = most_ - views_->work[stage];
  if (spare < 0) return false;
  for (const Idle& each : before)
    if (each.idled > spare) return false;
  std::size_t at = before.size();
  for (const Idle& each : behind) {
    if (each.idled > spare) return false;
    while (at > 0 && before[at - 1].time > most_ - each.time) --at;
    if (at > 0 && before[at - 1].idled + each.idled > spare) return false;
  }
  steps_ += views_->m;
  return true;
}

} // namespace ppsim::synthesis
