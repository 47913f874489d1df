#pragma once
// Reasons: why a comparison recommends what it does, and what is beside it. Not in words: those are in viz.

#include "ppsim/study/comparison.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace ppsim {

/// What a runtime has to be able to do, beyond running one chunk per stage forward and backward.
enum class Duty : std::uint8_t { split_backward, overlap_pairs, fold, run_chunks, keep_copies };
[[nodiscard]] std::vector<Duty> duties_of(const Demands& demands);

/// Of what contenders need more or less, beside time.
enum class Quantity : std::uint8_t {
  memory,      ///< Report::peak_bytes()
  activations, ///< peak_stage_activations(), where no size is known
  volume,      ///< of all transfers
  transfers    ///< their number, where their volume is the same
};

/// One contender held against another, by the figure by which they are ranked.
struct Contrast {
  std::size_t other = 0; ///< position in Comparison::contenders
  Duration time{0};      ///< that the slower one takes longer
  double share = 0;      ///< that is, of the time of the other for a runner-up, of the best for a simpler one
  std::vector<Quantity> costs{};
  std::vector<Quantity> savings{};
};

/// Why a contender is recommended without a runner-up.
enum class Alone : std::uint8_t { others_do_not_fit, others_do_not_apply, no_others };

/// Figures are in the contenders. Positions are in Comparison::contenders.
struct Reasons {
  std::optional<Contrast> runner_up;       ///< costs and savings of the best against it
  std::optional<Alone> alone;              ///< where something is recommended, and there is no runner-up
  std::vector<Duty> duties;                ///< of a runtime for the best
  bool halves_assumed = false;             ///< the best splits backwards whose halves were not measured
  std::optional<Contrast> simpler;         ///< its costs and savings against the best; none where it is the runner-up
  bool simpler_is_as_good = false;         ///< it is slower by less than costs are known to
  std::vector<std::size_t> unranked{};     ///< those whose figure is not known
  std::optional<std::size_t> too_large;    ///< the fastest that does not fit, where it is faster than the best
  std::optional<std::size_t> asynchronous; ///< the fastest that changes what is trained, where it is faster
  std::optional<std::size_t> least;        ///< where nothing is recommended: what lacks least memory, if any does
  std::size_t held_by_transfers = 0;       ///< schedules that do not apply only because of the transfer model
  static constexpr double known_to = 0.01; ///< measured times differ by more from run to run
};
/// Of a comparison that is ranked.
[[nodiscard]] Reasons reasons_of(const Comparison& comparison);

} // namespace ppsim
