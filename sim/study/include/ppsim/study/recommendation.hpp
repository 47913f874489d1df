#pragma once
// Reasons: why a comparison recommends a schedule, and the alternatives. The words are in viz.

#include "ppsim/study/comparison.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace ppsim {

/// A runtime feature beyond running one chunk per stage forward and backward.
enum class RuntimeFeature : std::uint8_t { split_backward, overlap_pairs, fold, run_chunks, keep_copies };
[[nodiscard]] std::vector<RuntimeFeature> runtime_features_of(const Demands& demands);

/// Quantities other than time that differ between contenders.
enum class Quantity : std::uint8_t {
  memory,      ///< Report::peak_bytes()
  activations, ///< peak_stage_activations(), if sizes are unknown
  volume,      ///< of all transfers
  transfers    ///< their number, if their volume is equal
};

/// A comparison of two contenders by the ranking figure.
struct Contrast {
  std::size_t other = 0; ///< position in Comparison::contenders
  Duration time{0};      ///< difference in time
  double share = 0;      ///< `time` as a share: for a runner-up of its own time, for a simpler one of the best's
  std::vector<Quantity> costs{};
  std::vector<Quantity> savings{};
};

/// Why a recommended contender has no runner-up.
enum class Alone : std::uint8_t { others_do_not_fit, others_do_not_apply, no_others };

/// Figures are in the contenders; positions are in Comparison::contenders.
struct Reasons {
  std::optional<Contrast> runner_up;            ///< costs and savings of the best against it
  std::optional<Alone> alone;                   ///< set if something is recommended without a runner-up
  std::vector<RuntimeFeature> runtime_features; ///< required of a runtime by the best
  bool halves_assumed = false;                  ///< the best splits backwards whose halves were not measured
  std::optional<Contrast> simpler;              ///< its costs and savings against the best; none if it is the runner-up
  bool simpler_is_as_good = false;              ///< the difference is below the accuracy of costs
  std::vector<std::size_t> unranked{};          ///< contenders without a known figure
  std::optional<std::size_t> too_large;         ///< the fastest that does not fit, if it is faster than the best
  std::optional<std::size_t> asynchronous;      ///< the fastest that changes the training, if it is faster
  std::optional<std::size_t> least;        ///< if nothing is recommended: the contender with the least excess, if any
  std::size_t held_by_transfers = 0;       ///< number of schedules that do not apply only because of the transfer model
  static constexpr double known_to = 0.01; ///< accuracy of costs: measured times differ by more between runs
};
/// The reasons for a ranked comparison.
[[nodiscard]] Reasons reasons_of(const Comparison& comparison);

} // namespace ppsim
