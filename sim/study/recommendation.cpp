#include "ppsim/study/recommendation.hpp"

#include <algorithm>

namespace ppsim {
namespace {

double part_of(Duration part, Duration whole) {
  return whole == Duration{0} ? 0 : static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

/// Derives the reasons from the comparison.
class ReasonFinder {
public:
  explicit ReasonFinder(const Comparison& comparison) : comparison_{comparison} {}

  [[nodiscard]] Reasons find() const {
    Reasons reasons;
    for (std::size_t position = 0; position < comparison_.contenders.size(); ++position)
      if (!comparison_.figure_of(at(position))) reasons.unranked.push_back(position);
    reasons.held_by_transfers = static_cast<std::size_t>(
        std::ranges::count_if(comparison_.not_applicable, &NotApplicable::is_held_by_transfers));
    if (!comparison_.recommendation) {
      reasons.least = least();
      reasons.asynchronous = asynchronous();
      return reasons;
    }
    const Recommendation& recommendation = *comparison_.recommendation;
    const Contender& best = at(recommendation.best);
    reasons.runtime_features = runtime_features_of(best.demands);
    reasons.halves_assumed = comparison_.halves_assumed && best.demands.splits_backward;
    if (recommendation.runner_up)
      reasons.runner_up = runner_up(best, *recommendation.runner_up);
    else
      reasons.alone = alone();
    if (recommendation.simpler) {
      reasons.simpler = simpler(best, *recommendation.simpler);
      reasons.simpler_is_as_good = reasons.simpler->time > Duration{0} && reasons.simpler->share < Reasons::known_to;
    }
    reasons.too_large = position_of_first([&](const Contender& other) {
      return !other.demands.asynchronous && !other.fits() && comparison_.figure_of(other) &&
             figure_of(other) < figure_of(best);
    });
    reasons.asynchronous = asynchronous();
    return reasons;
  }

private:
  [[nodiscard]] const Contender& at(std::size_t position) const { return comparison_.contenders[position]; }

  /// The figure of a compared contender, which must be known.
  [[nodiscard]] Duration figure_of(const Contender& contender) const {
    return comparison_.figure_of(contender).value();
  }

  /// In the order of the contenders.
  template <class Wanted>
  [[nodiscard]] std::optional<std::size_t> position_of_first(Wanted wanted) const {
    const auto found = std::ranges::find_if(comparison_.contenders, wanted);
    if (found == comparison_.contenders.end()) return std::nullopt;
    return static_cast<std::size_t>(found - comparison_.contenders.begin());
  }

  [[nodiscard]] Contrast runner_up(const Contender& best, std::size_t position) const {
    const Contender& next = at(position);
    Contrast contrast{.other = position, .time = figure_of(next) - figure_of(best)};
    contrast.share = part_of(contrast.time, figure_of(next));
    weigh(best, next, contrast);
    return contrast;
  }

  [[nodiscard]] Contrast simpler(const Contender& best, std::size_t position) const {
    const Contender& other = at(position);
    Contrast contrast{.other = position, .time = figure_of(other) - figure_of(best)};
    contrast.share = part_of(contrast.time, figure_of(best));
    // The costs of the simpler one against the best; for a runner-up they are already in its contrast.
    if (position != comparison_.recommendation->runner_up)
      weigh(other, best, contrast); // NOLINT(readability-suspicious-call-argument)
    return contrast;
  }

  /// The costs of `one` other than time, and its savings.
  void weigh(const Contender& one, const Contender& other, Contrast& contrast) const {
    const auto add = [&](Quantity quantity, auto own, auto others) {
      if (own != others) (own > others ? contrast.costs : contrast.savings).push_back(quantity);
    };
    if (comparison_.knows_memory)
      add(Quantity::memory, one.report.peak_bytes(), other.report.peak_bytes());
    else
      add(Quantity::activations, one.peak_stage_activations(), other.peak_stage_activations());
    if (one.report.transfer_volume != other.report.transfer_volume)
      add(Quantity::volume, one.report.transfer_volume, other.report.transfer_volume);
    else
      add(Quantity::transfers, one.report.transfers, other.report.transfers);
  }

  [[nodiscard]] Alone alone() const {
    const auto other =
        position_of_first([](const Contender& each) { return !each.demands.asynchronous && !each.fits(); });
    if (other) return Alone::others_do_not_fit;
    return comparison_.not_applicable.empty() ? Alone::no_others : Alone::others_do_not_apply;
  }

  [[nodiscard]] std::optional<std::size_t> asynchronous() const {
    const auto other = position_of_first([](const Contender& each) { return each.demands.asynchronous; });
    if (!other || !at(*other).fits()) return std::nullopt;
    if (comparison_.recommendation &&
        at(*other).report.step_time >= at(comparison_.recommendation->best).report.step_time)
      return std::nullopt;
    return other;
  }

  [[nodiscard]] std::optional<std::size_t> least() const {
    std::optional<std::size_t> least;
    for (std::size_t position = 0; position < comparison_.contenders.size(); ++position)
      if (!at(position).fits() && !at(position).demands.asynchronous &&
          (!least || at(position).report.peak_bytes() < at(*least).report.peak_bytes()))
        least = position;
    return least ? least : position_of_first([](const Contender& each) { return !each.fits(); });
  }

  const Comparison& comparison_;
};

} // namespace

std::vector<RuntimeFeature> runtime_features_of(const Demands& demands) {
  std::vector<RuntimeFeature> runtime_features;
  if (demands.splits_backward) runtime_features.push_back(RuntimeFeature::split_backward);
  if (demands.overlaps_pairs) runtime_features.push_back(RuntimeFeature::overlap_pairs);
  if (demands.folds)
    runtime_features.push_back(RuntimeFeature::fold);
  else if (demands.chunks_per_stage > 1)
    runtime_features.push_back(RuntimeFeature::run_chunks);
  if (demands.parameter_copies > 1) runtime_features.push_back(RuntimeFeature::keep_copies);
  return runtime_features;
}

Reasons reasons_of(const Comparison& comparison) {
  return ReasonFinder{comparison}.find();
}

} // namespace ppsim
