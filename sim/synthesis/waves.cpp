#include "waves.hpp"

#include <algorithm>

namespace ppsim::synthesis {
namespace {

/// Whether nothing waits for it, and it waits for its own stage only.
bool is_aside(const Views& views, std::uint32_t sequence) {
  return views.view[0].outputs[sequence].empty() &&
         std::ranges::all_of(views.view[0].inputs[sequence],
                             [&](const View::Input& in) { return views.stage(in.sequence) == views.stage(sequence); });
}

} // namespace

Wave draw_wave(SplitMix64& dice) {
  Wave wave;
  wave.together = 1 + dice.below(4);
  wave.pace = 0.95 + 0.3 / static_cast<double>(wave.together) * dice.share();
  wave.early = 1 + 3 * dice.share();
  wave.wait = 0.4 + 0.6 * dice.share();
  return wave;
}

Wave draw_near(Wave wave, SplitMix64& dice) {
  wave.pace += 0.06 * (dice.share() - 0.5);
  wave.early += 1.5 * (dice.share() - 0.5);
  wave.wait = std::clamp(wave.wait + 0.4 * (dice.share() - 0.5), 0.0, 1.0);
  return wave;
}

Waves::Waves(const Views& views, const Windows& root)
    : views_{views}, path_(views.local.size()), holdings_{holdings_of(views, root)} {
  for (std::size_t s = 0; s < path_.size(); ++s) path_[s] = root.head(0, s * views_.m);
  for (const Holding& each : holdings_) most_room_ = std::max(most_room_, room(each));
  for (const std::int64_t work : views.work) work_ = std::max(work_, work / static_cast<std::int64_t>(views.m));
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (const std::vector<std::uint32_t>& on : views.on)
    for (const std::uint32_t one : on)
      for (const std::uint32_t other : on)
        if (!is_aside(views, one) && !is_aside(views, other))
          pairs.emplace_back(path_[other] - path_[one] - views.duration(one),
                             path_[other] - path_[one] + views.duration(other));
  std::ranges::sort(pairs);
  for (const auto& [from, to] : pairs)
    if (meeting_.empty() || from >= meeting_.back().second)
      meeting_.emplace_back(from, to);
    else
      meeting_.back().second = std::max(meeting_.back().second, to);
}

std::size_t Waves::room(const Holding& holding) const {
  return std::min(views_.m, static_cast<std::size_t>(holding.room));
}

std::int64_t Waves::apart(std::int64_t start, std::span<const std::int64_t> before) const {
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t i = before.size(); i-- > 0 && start - before[i] < meeting_.back().second;) {
      const auto after =
          std::ranges::upper_bound(meeting_, start - before[i], {}, [](const auto& each) { return each.first; });
      if (after == meeting_.begin()) continue;
      const auto [from, to] = *std::prev(after);
      if (start - before[i] == from || start - before[i] >= to) continue;
      start = before[i] + to;
      moved = true;
    }
  }
  return start;
}

std::vector<std::int64_t> Waves::starts(const Wave& wave) const {
  const auto step =
      static_cast<std::int64_t>(wave.pace * static_cast<double>(wave.together) * static_cast<double>(work_));
  std::vector<std::int64_t> starts;
  for (std::size_t i = 0; i < views_.m + most_room_; ++i) {
    std::int64_t start = i == 0 ? 0 : starts.back();
    if (i >= wave.together) start = std::max(start, starts[i - wave.together] + step);
    for (const Holding& each : holdings_)
      if (i >= room(each)) start = std::max(start, starts[i - room(each)] + each.held);
    starts.push_back(apart(start, starts));
  }
  return starts;
}

Guide Waves::guide(const Wave& wave) const {
  const std::vector<std::int64_t> starts = this->starts(wave);
  Guide guide{.urgency = std::vector<std::int64_t>(views_.instance.tasks()), .wait = wave.wait};
  for (std::size_t s = 0; s < path_.size(); ++s)
    for (std::size_t j = 0; j < views_.m; ++j) guide.urgency[s * views_.m + j] = starts[j] + path_[s];
  for (const Holding& each : holdings_)
    for (const std::uint32_t s : views_.on[each.stage]) {
      if (!is_aside(views_, s)) continue;
      const std::int64_t before =
          path_[each.taker] - static_cast<std::int64_t>(wave.early * static_cast<double>(views_.duration(s)));
      for (std::size_t j = 0; j < views_.m; ++j) guide.urgency[s * views_.m + j] = starts[j + room(each)] + before;
    }
  return guide;
}

} // namespace ppsim::synthesis
