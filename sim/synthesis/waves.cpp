#include "waves.hpp"

#include <algorithm>

#include "holding.hpp"

namespace ppsim::synthesis {

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
  wave.early = std::clamp(wave.early + 1.5 * (dice.share() - 0.5), 0.0, 5.0);
  wave.wait = std::clamp(wave.wait + 0.4 * (dice.share() - 0.5), 0.0, 1.0);
  return wave;
}

Waves::Waves(const Views& views, const Windows& root) : views_{views} {
  const std::vector<Holding> holdings = holdings_of(views, root);
  if (holdings.empty()) return;
  find_way();
  find_meeting();
  for (const Holding& each : holdings) {
    Place& place = places_.emplace_back(Place{.stage = each.stage, .taker = each.taker});
    place.room = std::min(views.m, static_cast<std::size_t>(each.room));
    most_room_ = std::max(most_room_, place.room);
    for (const std::uint32_t s : views.on[each.stage])
      place.held = std::max(place.held, way_[s] + views.duration(s) - way_[each.taker]);
  }
}

/// Over arcs alone. A sequence without inputs on a stage without work only says when others begin a step: a
/// microbatch's way does not lead over it.
void Waves::find_way() {
  way_.resize(views_.local.size());
  for (const std::uint32_t s : views_.view[0].path)
    for (const View::Input& in : views_.view[0].inputs[s])
      if (views_.work[views_.stage(in.sequence)] > 0 || !views_.view[0].inputs[in.sequence].empty())
        way_[s] = std::max(way_[s], way_[in.sequence] + views_.duration(in.sequence) + in.lag);
}

void Waves::find_meeting() {
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (std::vector<std::uint32_t> on : views_.on) {
    std::erase_if(on, [&](std::uint32_t s) { return is_aside(s); });
    for (const std::uint32_t one : on)
      for (const std::uint32_t other : on)
        pairs.emplace_back(way_[other] - way_[one] - views_.duration(one),
                           way_[other] - way_[one] + views_.duration(other));
  }
  std::ranges::sort(pairs);
  for (const auto& [from, to] : pairs)
    if (meeting_.empty() || from >= meeting_.back().second)
      meeting_.emplace_back(from, to);
    else
      meeting_.back().second = std::max(meeting_.back().second, to);
}

/// Whether nothing waits for it, and it waits for its own stage only.
bool Waves::is_aside(std::uint32_t sequence) const {
  const View& view = views_.view[0];
  return view.outputs[sequence].empty() && std::ranges::all_of(view.inputs[sequence], [&](const View::Input& in) {
           return views_.stage(in.sequence) == views_.stage(sequence);
         });
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
  const auto step = static_cast<std::int64_t>(wave.pace * static_cast<double>(wave.together) *
                                              static_cast<double>(views_.most_microbatch_work()));
  std::vector<std::int64_t> starts;
  for (std::size_t i = 0; i < views_.m + most_room_; ++i) {
    std::int64_t start = i == 0 ? 0 : starts.back();
    if (i >= wave.together) start = std::max(start, starts[i - wave.together] + step);
    for (const Place& each : places_)
      if (i >= each.room) start = std::max(start, starts[i - each.room] + each.held);
    starts.push_back(apart(start, starts));
  }
  return starts;
}

Guide Waves::guide(const Wave& wave) const {
  const std::vector<std::int64_t> starts = this->starts(wave);
  Guide guide{.urgency = std::vector<std::int64_t>(views_.instance.tasks()), .wait = wave.wait};
  for (std::size_t s = 0; s < way_.size(); ++s)
    for (std::size_t j = 0; j < views_.m; ++j) guide.urgency[s * views_.m + j] = starts[j] + way_[s];
  for (const Place& each : places_)
    for (const std::uint32_t s : views_.on[each.stage]) {
      if (!is_aside(s)) continue;
      const std::int64_t before =
          way_[each.taker] - static_cast<std::int64_t>(wave.early * static_cast<double>(views_.duration(s)));
      for (std::size_t j = 0; j < views_.m; ++j) guide.urgency[s * views_.m + j] = starts[j + each.room] + before;
    }
  return guide;
}

} // namespace ppsim::synthesis
