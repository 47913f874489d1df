#pragma once
// Waves: guides for orders in which microbatches go all their way without waiting, where memory and transfers leave
// stages idle. Which start when is found first, by their differences alone; tasks that nothing waits for fill the rest.

#include "ppsim/base/random.hpp"

#include <utility>

#include "guided.hpp"
#include "holding.hpp"

namespace ppsim::synthesis {

/// What differs from one guide to the next.
struct Wave {
  std::size_t together = 1; ///< of so many successive microbatches,
  double pace = 1;  ///< each first starts that many times the busiest stage's work for them after the last first
  double early = 0; ///< durations by which what frees memory precedes what needs it
  double wait = 0;  ///< as of the guide
};

/// One of those that bring short orders, by chance.
[[nodiscard]] Wave draw_wave(SplitMix64& dice);
/// One much like it.
[[nodiscard]] Wave draw_near(Wave wave, SplitMix64& dice);

class Waves {
public:
  /// `root`: what holds of all orders.
  Waves(const Views& views, const Windows& root);

  /// Whether there is a stage of which Holding tells for how long.
  [[nodiscard]] bool exist() const { return !holdings_.empty(); }
  /// By microbatch, when it starts on its way, ns: the earliest at which no task that others wait for meets one of a
  /// microbatch before it on any stage, and memory is free again, if none waits. So many more than there are as fit in
  /// memory.
  [[nodiscard]] std::vector<std::int64_t> starts(const Wave& wave) const;
  [[nodiscard]] Guide guide(const Wave& wave) const;

private:
  [[nodiscard]] std::size_t room(const Holding& holding) const; // microbatches
  [[nodiscard]] std::int64_t apart(std::int64_t start, std::span<const std::int64_t> before) const;

  const Views& views_;
  std::vector<std::int64_t> path_; ///< by sequence: its first start
  std::vector<Holding> holdings_;
  std::vector<std::pair<std::int64_t, std::int64_t>> meeting_; ///< differences of starts between which some would meet
  std::int64_t work_ = 0;                                      ///< ns of a microbatch, on the busiest stage
  std::size_t most_room_ = 0;                                  ///< microbatches
};

} // namespace ppsim::synthesis
