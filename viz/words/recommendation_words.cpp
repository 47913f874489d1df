// The recommendation of a comparison, for example:
//   take zb-v: 51.5 ms, 6.4 % less time than the next, v-auto (55 ms), for 16 GiB instead of 10 GiB; its runtime has to
//   split the backward and place 2 chunks per stage in a V.

#include "ppsim/base/error.hpp"
#include "ppsim/study/recommendation.hpp"
#include "ppsim/viz/comparison.hpp"

#include <fmt/format.h>

#include <cmath>

#include "figures.hpp"

namespace ppsim::viz {

namespace {

/// A share of more than 0.
std::string rough_percent(double share) {
  const double value = 100 * share;
  if (value < 0.01) return "less than 0.01 %";
  return value >= 9.95 ? fmt::format("{:.0f} %", value) : fmt::format("{:.2g} %", value);
}

/// Continues "to ...".
std::string runtime_feature_words(RuntimeFeature duty, const Demands& demands) {
  switch (duty) {
  case RuntimeFeature::split_backward:
    return "split the backward";
  case RuntimeFeature::overlap_pairs:
    return "run a forward and a backward at the same time";
  case RuntimeFeature::fold:
    return fmt::format("place {} chunks per stage in {}", demands.chunks_per_stage,
                       demands.chunks_per_stage == 2 ? "a V" : "waves");
  case RuntimeFeature::run_chunks:
    return fmt::format("run {} chunks per stage", demands.chunks_per_stage);
  case RuntimeFeature::keep_copies:
    break;
  }
  return fmt::format("keep {} copies of the parameters", demands.parameter_copies);
}

std::string runtime_feature_words(const std::vector<RuntimeFeature>& runtime_features, const Demands& demands) {
  std::vector<std::string> list;
  list.reserve(runtime_features.size());
  for (const RuntimeFeature duty : runtime_features) list.push_back(runtime_feature_words(duty, demands));
  return enumerated(list);
}

/// Value of `quantity` for a contender, without unit.
std::string amount(Quantity quantity, const Contender& contender) {
  switch (quantity) {
  case Quantity::memory:
    return format_bytes(contender.report.peak_bytes());
  case Quantity::activations: {
    const double count = contender.peak_stage_activations();
    return count == std::floor(count) ? fmt::format("{:.0f}", count) : fmt::format("{:.2f}", count);
  }
  case Quantity::volume:
    return format_bytes(contender.report.transfer_volume);
  case Quantity::transfers:
    break;
  }
  return fmt::format("{}", contender.report.transfers);
}

std::string_view unit_words(Quantity quantity) {
  switch (quantity) {
  case Quantity::memory:
    return "";
  case Quantity::activations:
    return " live activations of a stage";
  case Quantity::volume:
    return " sent per step";
  case Quantity::transfers:
    break;
  }
  return " transfers per step";
}

/// "16 GiB instead of 10 GiB and 20 transfers per step instead of 60"; what looks the same is left out.
std::string instead_of(const std::vector<Quantity>& quantities, const Contender& one, const Contender& other) {
  std::vector<std::string> list;
  for (const Quantity quantity : quantities) {
    const std::string own = amount(quantity, one);
    const std::string others = amount(quantity, other);
    const bool peak = quantity == Quantity::memory || quantity == Quantity::activations;
    if (!peak || own != others) list.push_back(fmt::format("{}{} instead of {}", own, unit_words(quantity), others));
  }
  return enumerated(list);
}

/// ", for 16 GiB instead of 10 GiB, but with 20 transfers per step instead of 60".
std::string prices(const Contrast& contrast, const Contender& one, const Contender& other) {
  const std::string costs = instead_of(contrast.costs, one, other);
  const std::string savings = instead_of(contrast.savings, one, other);
  std::string words;
  if (!costs.empty()) words += fmt::format(", for {}", costs);
  if (!savings.empty()) words += fmt::format(", {} {}", costs.empty() ? "with" : "but with", savings);
  return words;
}

/// Builds the recommendation from its reasons.
class RecommendationWords {
public:
  explicit RecommendationWords(const Comparison& comparison)
      : comparison_{comparison}, reasons_{reasons_of(comparison)} {}

  [[nodiscard]] std::string text() const {
    return (comparison_.recommendation ? to_take(at(comparison_.recommendation->best)) : nothing_to_take()) +
           asynchronous() + unranked() + held_by_transfers();
  }

private:
  /// Before a time other than a step time.
  [[nodiscard]] std::string figure() const {
    return comparison_.ranked_by == StepFigure::step_time ? "" : fmt::format("{} ", to_string(comparison_.ranked_by));
  }

  /// Text of a ranked contender.
  [[nodiscard]] std::string time_of(const Contender& contender) const {
    return format_duration(comparison_.figure_of(contender).value());
  }

  [[nodiscard]] const Contender& at(std::size_t position) const { return comparison_.contenders[position]; }

  [[nodiscard]] std::string to_take(const Contender& best) const {
    std::string words = fmt::format("take {}: {}{}{}", best.name, figure(), time_of(best),
                                    reasons_.runner_up ? against(best, *reasons_.runner_up) : alone(best));
    if (!reasons_.runtime_features.empty())
      words += fmt::format("; its runtime must {}", runtime_feature_words(reasons_.runtime_features, best.demands));
    words += ".";
    if (reasons_.halves_assumed)
      words += " The halves of the backward were not given and are taken as equal (--input-grad gives one of them).";
    if (reasons_.simpler) words += simpler(best, *reasons_.simpler);
    if (reasons_.too_large) words += too_large(at(*reasons_.too_large));
    return words;
  }

  /// ", 6.4 % less time than the next, v-auto (55 ms), for 16 GiB instead of 10 GiB"
  [[nodiscard]] std::string against(const Contender& best, const Contrast& contrast) const {
    const Contender& next = at(contrast.other);
    const std::string words = contrast.time == Duration{0}
                                  ? fmt::format(", the same as the next, {}", next.name)
                                  : fmt::format(", {} less time than the next, {} ({})", rough_percent(contrast.share),
                                                next.name, time_of(next));
    return words + prices(contrast, best, next);
  }

  /// Reason why there is no runner-up.
  [[nodiscard]] std::string alone(const Contender& best) const {
    const std::string memory =
        comparison_.knows_memory ? fmt::format(" with {}", format_bytes(best.report.peak_bytes())) : std::string{};
    switch (reasons_.alone.value_or(Alone::no_others)) {
    case Alone::others_do_not_fit:
      return fmt::format("{}, and no other fits in {}", memory, format_bytes(limit()));
    case Alone::others_do_not_apply:
      return memory + ", and no other of them applies";
    case Alone::no_others:
      break;
    }
    return memory + ", with none to compare it with";
  }

  /// " interleaved v=2 is 1.8 % slower and needs neither."
  [[nodiscard]] std::string simpler(const Contender& best, const Contrast& contrast) const {
    const Contender& other = at(contrast.other);
    std::string words = contrast.time == Duration{0}
                            ? fmt::format(" {} takes as long", other.name)
                            : fmt::format(" {} is {} slower", other.name, rough_percent(contrast.share));
    const std::vector<RuntimeFeature> left = runtime_features_of(other.demands);
    const std::size_t saved = reasons_.runtime_features.size();
    if (!left.empty())
      words += fmt::format(" and only has to {}", runtime_feature_words(left, other.demands));
    else
      words += saved == 1 ? " and does not need that" : saved == 2 ? " and needs neither" : " and needs none of these";
    words += prices(contrast, other, best) + "."; // NOLINT(readability-suspicious-call-argument): the simpler one's
    if (reasons_.simpler_is_as_good)
      words += fmt::format(" Costs are rarely known to within {}: it is as good a choice.",
                           rough_percent(Reasons::known_to));
    return words;
  }

  /// Contenders that would be faster with more memory.
  [[nodiscard]] std::string too_large(const Contender& faster) const {
    return fmt::format(" {} would take {}{}, but needs {}, {} more than the limit of {}.", faster.name, figure(),
                       time_of(faster), format_bytes(faster.report.peak_bytes()),
                       format_bytes(faster.report.peak_bytes() - limit()), format_bytes(limit()));
  }

  /// Contenders that are faster but train differently.
  [[nodiscard]] std::string asynchronous() const {
    if (!reasons_.asynchronous) return {};
    const Contender& other = at(*reasons_.asynchronous);
    return fmt::format(
        " {} ({}{}) is not a substitute: it applies gradients to newer weights than those they were computed with.",
        other.name, figure().empty() ? "" : "step time ", format_duration(other.report.step_time));
  }

  /// Facts that the ranking ignores.
  [[nodiscard]] std::string unranked() const {
    if (reasons_.unranked.empty()) return {};
    std::vector<std::string> names;
    names.reserve(reasons_.unranked.size());
    for (const std::size_t position : reasons_.unranked) names.push_back(at(position).name);
    return fmt::format(" No {} of {} is known, so {} after the others.", to_string(comparison_.ranked_by),
                       enumerated(names), names.size() == 1 ? "it comes" : "they come");
  }

  /// No contender fits, or all that fit train differently.
  [[nodiscard]] std::string nothing_to_take() const {
    if (!reasons_.least) return "nothing to recommend: no synchronous schedule is among them.";
    const Contender& least = at(*reasons_.least);
    const bool before_tasks = least.report.overflow && least.report.overflow->is_before_tasks();
    return fmt::format(
        "nothing fits in {}: {} needs least, {}, which is {} too much; {}.", format_bytes(limit()), least.name,
        format_bytes(least.report.peak_bytes()), format_bytes(least.report.peak_bytes() - limit()),
        before_tasks ? fmt::format("stage {} holds {} before its first task, which no schedule lowers: use more stages",
                                   index(least.report.overflow->stage), format_bytes(least.report.overflow->needed))
                     : "use smaller microbatches or recomputation");
  }

  [[nodiscard]] std::string held_by_transfers() const {
    const std::size_t held = reasons_.held_by_transfers;
    if (held == 0) return {};
    return fmt::format(" {} more {} left out only because of --transfer {}: --transfer latency admits {}.", held,
                       held == 1 ? "is" : "are", to_string(comparison_.transfer_model), held == 1 ? "it" : "them");
  }

  /// If one does not fit, this exists.
  [[nodiscard]] Bytes limit() const {
    PPSIM_ASSERT(comparison_.memory_limit.has_value());
    return *comparison_.memory_limit;
  }

  const Comparison& comparison_;
  Reasons reasons_;
};

} // namespace

std::string recommendation_text(const Comparison& comparison) {
  return RecommendationWords{comparison}.text();
}

} // namespace ppsim::viz
