#include "levels.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "holding.hpp"

namespace ppsim::synthesis {
namespace {

/// Stages of each level, besides the one where room is least. At 32 and 64 stages more brought hardly more than all do,
/// others (evenly spread, near the first stage) less in as many steps.
constexpr std::array<std::size_t, 2> near_turn{4, 8};
constexpr std::int64_t no_way = -1;

/// By sequence: the longest way from the end of `from` to its start over sequences that are not kept.
std::vector<std::int64_t> ways_of(const Views& views, std::uint32_t from, const std::vector<bool>& kept) {
  std::vector<std::int64_t> ways(views.local.size(), no_way);
  for (const std::uint32_t s : views.view[0].path) {
    if (s != from && (kept[s] || ways[s] == no_way)) continue;
    const std::int64_t end = s == from ? 0 : ways[s] + views.duration(s);
    for (const View::Input& output : views.view[0].outputs[s])
      ways[output.sequence] = std::max(ways[output.sequence], end + output.lag);
  }
  return ways;
}

/// What is known of each start on a few stages in one becomes known in the other.
void share(Windows& whole, Windows& few, std::span<const std::uint32_t> sequences, std::size_t m) {
  for (const std::size_t d : {0U, 1U})
    for (std::size_t s = 0; s < sequences.size(); ++s)
      for (std::size_t j = 0; j < m; ++j) {
        const std::size_t there = sequences[s] * m + j;
        const std::size_t here = s * m + j;
        if (const std::int64_t start = whole.head(d, there); start > few.head(d, here)) few.raise_start(d, here, start);
        if (const std::int64_t start = few.head(d, here); start > whole.head(d, there))
          whole.raise_start(d, there, start);
      }
}

} // namespace

FewStages keep_stages(const Views& views, std::span<const std::uint32_t> stages) {
  FewStages result;
  result.instance.microbatches = views.instance.microbatches;
  std::vector<bool> kept(views.local.size());
  for (const std::uint32_t stage : stages) {
    for (const std::uint32_t s : views.on[stage]) {
      kept[s] = true;
      result.sequences.push_back(s);
      result.instance.sequences.push_back(views.instance.sequences[s]);
      result.instance.sequences.back().stage = static_cast<std::uint32_t>(result.instance.capacity.size());
    }
    result.instance.capacity.push_back(views.instance.capacity[stage]);
  }
  for (std::uint32_t from = 0; from < result.sequences.size(); ++from) {
    const std::vector<std::int64_t> ways = ways_of(views, result.sequences[from], kept);
    std::int64_t& tail = result.instance.sequences[from].tail;
    for (std::size_t s = 0; s < ways.size(); ++s)
      if (!kept[s] && ways[s] != no_way)
        tail = std::max(tail, ways[s] + views.duration(s) + views.instance.sequences[s].tail);
    for (std::uint32_t to = 0; to < result.sequences.size(); ++to)
      if (const std::int64_t lag = ways[result.sequences[to]]; lag != no_way)
        result.instance.arcs.push_back({from, to, lag});
  }
  return result;
}

std::vector<std::vector<std::uint32_t>> stages_of_levels(const Views& views, const Windows& root) {
  if (reach_of(views).few == 1) return {}; // microbatches of some stages could be left out, but not of all
  std::vector<Holding> holdings = holdings_of(views, root);
  if (holdings.empty()) return {};
  std::ranges::iter_swap(holdings.begin(), std::ranges::max_element(holdings, {}, [](const Holding& each) {
                           return static_cast<double>(each.away) / static_cast<double>(each.room);
                         }));
  std::ranges::stable_sort(holdings.begin() + 1, holdings.end(), {}, &Holding::away);
  std::vector<std::vector<std::uint32_t>> levels;
  for (const std::size_t turning : near_turn) {
    if (holdings.size() <= 2 * (turning + 1)) break; // all of them take few steps, too
    std::vector<std::uint32_t>& stages = levels.emplace_back();
    for (std::size_t i = 0; i <= turning; ++i) stages.push_back(holdings[i].stage);
    std::ranges::sort(stages);
  }
  return levels;
}

Levels::Level::Level(FewStages of, std::size_t threads, std::int64_t longest)
    : few{std::move(of)}, views{few.instance}, root{views}, ends{views, threads, longest} {}

Levels::Levels(const Views& views, const Windows& root, std::size_t threads)
    : views_{views}, threads_{threads}, stages_{stages_of_levels(views, root)} {
  begin_next();
}

void Levels::begin_next() {
  const std::int64_t longest = whole_length(views_.instance);
  if (begun_ == stages_.size()) {
    level_.reset();
    whole_.emplace(views_, threads_, longest);
    return;
  }
  level_ = std::make_unique<Level>(keep_stages(views_, stages_[begun_]), threads_, longest);
  apply_rules(level_->root, unlimited, false, steps_);
  ++begun_;
}

bool Levels::extend(Windows& root, std::uint64_t steps, const std::function<bool()>& goes_on) {
  const std::uint64_t end = this->steps() + steps;
  bool found = false;
  while (level_ && this->steps() < end && goes_on()) {
    found = extend_level(root, end - this->steps(), goes_on) || found;
    if (!level_->ends.are_done()) continue;
    steps_ += level_->ends.steps();
    begin_next();
  }
  if (whole_ && this->steps() < end) found = extend_whole(root, end - this->steps(), goes_on) || found;
  return found;
}

bool Levels::extend_whole(Windows& root, std::uint64_t steps, const std::function<bool()>& goes_on) {
  const std::vector<Case>& cases = whole_->cases();
  const auto known = static_cast<std::ptrdiff_t>(cases.size());
  const bool found = whole_->extend(root, steps, goes_on);
  cases_.insert(cases_.end(), cases.begin() + known, cases.end());
  return found;
}

bool Levels::extend_level(Windows& root, std::uint64_t steps, const std::function<bool()>& goes_on) {
  Level& level = *level_;
  const std::size_t known = level.ends.cases().size();
  share(root, level.root, level.few.sequences, views_.m);
  if (!level.ends.extend(level.root, steps, goes_on)) return false;
  for (std::size_t i = known; i < level.ends.cases().size(); ++i) {
    cases_.push_back(level.ends.cases()[i]);
    cases_.back().sequence = level.few.sequences[cases_.back().sequence];
  }
  share(root, level.root, level.few.sequences, views_.m);
  apply_rules(root, unlimited, false, steps_);
  return true;
}

} // namespace ppsim::synthesis
