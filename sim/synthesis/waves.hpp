#pragma once
// Waves: guides for orders in which microbatches go all their way without waiting, where memory and transfers leave
// stages idle. Which start when is found first, by their differences alone; tasks that nothing waits for fill the rest.

#include "ppsim/base/random.hpp"

#include <utility>

#include "guided.hpp"

namespace ppsim::synthesis {

/// What differs from one guide to the next.
struct Wave {
  std::size_t together = 1; ///< microbatches of a group
  double pace = 1;          ///< time from a group's start to the next one's, in the busiest stage's work for a group
  double early = 0;         ///< durations by which a task that nothing waits for precedes what needs its memory
  double wait = 0;          ///< as of the guide
};

/// One of those that bring short orders, by chance.
[[nodiscard]] Wave draw_wave(SplitMix64& dice);
/// One much like it.
[[nodiscard]] Wave draw_near(Wave wave, SplitMix64& dice);

class Waves {
public:
  /// `root`: what holds of all orders.
  Waves(const Views& views, const Windows& root);

  /// Whether memory is limited, on each such stage for one sequence that takes it.
  [[nodiscard]] bool exist() const { return !places_.empty(); }
  /// By microbatch, when it starts on its way, ns: the earliest at which no task that others wait for meets one of a
  /// microbatch before it on any stage, and memory is free again, if none waits. So many more than there are as fit in
  /// memory.
  [[nodiscard]] std::vector<std::int64_t> starts(const Wave& wave) const;
  [[nodiscard]] Guide guide(const Wave& wave) const;

private:
  /// A stage where memory is limited.
  struct Place {
    std::uint32_t stage = 0;
    std::uint32_t taker = 0;
    std::size_t room = 0;  ///< microbatches
    std::int64_t held = 0; ///< ns from the taker's start until the stage has done all of the microbatch
  };
  void find_way();
  void find_meeting();
  [[nodiscard]] bool is_aside(std::uint32_t sequence) const;
  [[nodiscard]] std::int64_t apart(std::int64_t start, std::span<const std::int64_t> before) const;

  const Views& views_;
  std::vector<Place> places_;
  std::vector<std::int64_t> way_;                              ///< by sequence: its start if nothing waits
  std::vector<std::pair<std::int64_t, std::int64_t>> meeting_; ///< differences of starts between which some would meet
  std::size_t most_room_ = 0;                                  ///< microbatches
};

} // namespace ppsim::synthesis
