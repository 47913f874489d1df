#include "ppsim/study/comparison.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/study/run_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace ppsim {
namespace {

/// What is harder to build or to train with counts for more: an order that asks for less of the first thing in which
/// two differ asks for less.
auto weight(const Demands& demands) {
  return std::tuple{demands.asynchronous, demands.parameter_copies, demands.overlaps_pairs, demands.splits_backward,
                    demands.folds,        demands.chunks_per_stage};
}

bool takes_part(const Contender& contender) {
  return contender.fits() && !contender.demands.asynchronous;
}

/// `contenders` are sorted.
std::optional<Recommendation> recommend(const std::vector<Contender>& contenders) {
  std::vector<std::size_t> eligible;
  for (std::size_t position = 0; position < contenders.size(); ++position)
    if (takes_part(contenders[position])) eligible.push_back(position);
  if (eligible.empty()) return std::nullopt;
  Recommendation recommendation{eligible.front(), std::nullopt, std::nullopt};
  if (eligible.size() > 1) recommendation.runner_up = eligible[1];
  const auto best_time = static_cast<double>(contenders[recommendation.best].report.step_time.count());
  const auto is_close = [&](std::size_t position) {
    const auto time = static_cast<double>(contenders[position].report.step_time.count());
    return time <= best_time * (1 + Recommendation::simpler_within);
  };
  std::size_t least = recommendation.best;
  for (const std::size_t position : eligible)
    if (is_close(position) && weight(contenders[position].demands) < weight(contenders[least].demands))
      least = position;
  if (least != recommendation.best) recommendation.simpler = least;
  return recommendation;
}

/// "a", "a and b", "a, b and c".
std::string listed(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

/// Differences below this say little, as measured times differ by more from run to run.
constexpr double known_to = 0.01;

/// A share of more than 0.
std::string percent(double share) {
  const double value = 100 * share;
  if (value < 0.01) return "less than 0.01 %";
  return value >= 9.95 ? fmt::format("{:.0f} %", value) : fmt::format("{:.2g} %", value);
}

double part_of(Duration part, Duration whole) {
  return static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

/// What a runtime has to be able to do, each as "to ..." continues it.
std::vector<std::string> duties(const Demands& demands) {
  std::vector<std::string> list;
  if (demands.splits_backward) list.emplace_back("split the backward");
  if (demands.overlaps_pairs) list.emplace_back("run a forward and a backward at the same time");
  if (demands.folds)
    list.push_back(fmt::format("place {} chunks per stage in {}", demands.chunks_per_stage,
                               demands.chunks_per_stage == 2 ? "a V" : "waves"));
  else if (demands.chunks_per_stage > 1)
    list.push_back(fmt::format("run {} chunks per stage", demands.chunks_per_stage));
  if (demands.parameter_copies > 1)
    list.push_back(fmt::format("keep {} copies of the parameters", demands.parameter_copies));
  return list;
}

/// Builds the recommendation from what the comparison found.
class Words {
public:
  explicit Words(const Comparison& comparison) : comparison_{comparison} {}

  [[nodiscard]] std::string text() const {
    if (!comparison_.recommendation) return nothing_to_take() + asynchronous();
    const Recommendation& recommendation = *comparison_.recommendation;
    const Contender& best = at(recommendation.best);
    std::string words =
        fmt::format("take {}: {}{}", best.name, format_duration(best.report.step_time),
                    recommendation.runner_up ? against(best, at(*recommendation.runner_up)) : alone(best));
    const std::vector<std::string> needs = duties(best.demands);
    if (!needs.empty()) words += fmt::format("; its runtime has to {}", listed(needs));
    words += ".";
    if (comparison_.halves_assumed && best.demands.splits_backward)
      words += " The halves of the backward were not given, and are taken as equal (`input-grad` says what one takes).";
    if (recommendation.simpler) words += simpler(best, at(*recommendation.simpler));
    return words + too_large(best) + asynchronous();
  }

private:
  [[nodiscard]] const Contender& at(std::size_t position) const { return comparison_.contenders[position]; }

  /// The first in the order of the contenders that is `wanted`, or null.
  template <class Wanted>
  [[nodiscard]] const Contender* first(Wanted wanted) const {
    const auto found = std::ranges::find_if(comparison_.contenders, wanted);
    return found == comparison_.contenders.end() ? nullptr : &*found;
  }

  [[nodiscard]] std::string memory_of(const Contender& contender) const {
    if (comparison_.knows_memory) return format_bytes(contender.peak_bytes());
    const double count = contender.peak_stage_activations();
    return count == std::floor(count) ? fmt::format("{:.0f}", count) : fmt::format("{:.2f}", count);
  }

  /// ", 6.4 % less time than the next, v-auto (55 ms), for 16 GiB instead of 10 GiB"
  [[nodiscard]] std::string against(const Contender& best, const Contender& next) const {
    const Duration gain = next.report.step_time - best.report.step_time;
    const std::string words = gain == Duration{0} ? fmt::format(", the same as the next, {}", next.name)
                                                  : fmt::format(", {} less time than the next, {} ({})",
                                                                percent(part_of(gain, next.report.step_time)),
                                                                next.name, format_duration(next.report.step_time));
    return words + prices(best, next);
  }

  /// ", for 16 GiB instead of 10 GiB, but with 20 transfers instead of 60": what the one costs beside time, and what it
  /// saves.
  [[nodiscard]] std::string prices(const Contender& one, const Contender& other) const {
    std::vector<std::string> costs;
    std::vector<std::string> savings;
    const auto add = [&](double own, double others, const std::string& words) {
      if (own != others) (own > others ? costs : savings).push_back(words);
    };
    const auto in_words = [](const std::string& own, std::string_view unit, const std::string& others) {
      return fmt::format("{}{} instead of {}", own, unit, others);
    };
    if (const std::string own = memory_of(one), others = memory_of(other); own != others)
      add(memory_amount(one), memory_amount(other),
          in_words(own, comparison_.knows_memory ? "" : " live activations of a stage", others));
    if (one.report.transfer_volume != other.report.transfer_volume)
      add(static_cast<double>(one.report.transfer_volume.count()),
          static_cast<double>(other.report.transfer_volume.count()),
          in_words(format_bytes(one.report.transfer_volume), " sent per step",
                   format_bytes(other.report.transfer_volume)));
    else
      add(static_cast<double>(one.report.transfers), static_cast<double>(other.report.transfers),
          in_words(fmt::format("{}", one.report.transfers), " transfers per step",
                   fmt::format("{}", other.report.transfers)));
    std::string words;
    if (!costs.empty()) words += fmt::format(", for {}", listed(costs));
    if (!savings.empty()) words += fmt::format(", {} {}", costs.empty() ? "with" : "but with", listed(savings));
    return words;
  }

  [[nodiscard]] double memory_amount(const Contender& contender) const {
    return comparison_.knows_memory ? static_cast<double>(contender.peak_bytes().count())
                                    : contender.peak_stage_activations();
  }

  /// Why there is no runner-up.
  [[nodiscard]] std::string alone(const Contender& best) const {
    const std::string memory = comparison_.knows_memory ? fmt::format(" with {}", memory_of(best)) : std::string{};
    const bool others =
        first([](const Contender& other) { return !other.demands.asynchronous && !other.fits(); }) != nullptr;
    if (others) return fmt::format("{}, and no other fits in {}", memory, format_bytes(limit()));
    return memory +
           (comparison_.not_applicable.empty() ? ", with none to compare it with" : ", and no other of them applies");
  }

  /// " interleaved v=2 is 1.8 % slower and needs neither."
  [[nodiscard]] std::string simpler(const Contender& best, const Contender& other) const {
    const Duration loss = other.report.step_time - best.report.step_time;
    std::string words = loss == Duration{0} ? fmt::format(" {} takes as long", other.name)
                                            : fmt::format(" {} is {} slower", other.name,
                                                          percent(part_of(loss, best.report.step_time)));
    const std::vector<std::string> left = duties(other.demands);
    const std::size_t saved = duties(best.demands).size();
    if (!left.empty())
      words += fmt::format(" and has only to {}", listed(left));
    else
      words += saved == 1 ? " and does not need that" : saved == 2 ? " and needs neither" : " and needs none of these";
    const bool is_next = comparison_.recommendation->simpler == comparison_.recommendation->runner_up;
    // What the simpler one costs against the best; of the next one it is said.
    // NOLINTNEXTLINE(readability-suspicious-call-argument)
    words += (is_next ? std::string{} : prices(other, best)) + ".";
    if (loss > Duration{0} && part_of(loss, best.report.step_time) < known_to)
      words += fmt::format(" Costs are hardly known to {}: it is as good a choice.", percent(known_to));
    return words;
  }

  /// What would be faster, if there were more memory.
  [[nodiscard]] std::string too_large(const Contender& best) const {
    const Contender* faster = first([&](const Contender& other) {
      return !other.demands.asynchronous && !other.fits() && other.report.step_time < best.report.step_time;
    });
    if (faster == nullptr) return {};
    return fmt::format(" {} would take {}, but needs {}, {} more than the limit of {}.", faster->name,
                       format_duration(faster->report.step_time), format_bytes(faster->peak_bytes()),
                       format_bytes(faster->peak_bytes() - limit()), format_bytes(limit()));
  }

  /// What would be faster, if that were the same training.
  [[nodiscard]] std::string asynchronous() const {
    const Contender* other = first([](const Contender& contender) { return contender.demands.asynchronous; });
    if (other == nullptr || !other->fits()) return {};
    if (comparison_.recommendation && other->report.step_time >= at(comparison_.recommendation->best).report.step_time)
      return {};
    return fmt::format(" {} ({}) is no substitute: it applies gradients to newer weights than they were taken at.",
                       other->name, format_duration(other->report.step_time));
  }

  /// Nothing fits, or all that does trains something else.
  [[nodiscard]] std::string nothing_to_take() const {
    const Contender* least = nullptr;
    for (const Contender& contender : comparison_.contenders)
      if (!contender.fits() && !contender.demands.asynchronous &&
          (least == nullptr || contender.peak_bytes() < least->peak_bytes()))
        least = &contender;
    if (least == nullptr) least = first([](const Contender& contender) { return !contender.fits(); });
    if (least == nullptr) return "nothing to take: no synchronous schedule is among them.";
    return fmt::format(
        "nothing fits in {}: {} needs least, {}, which is {} too much; smaller microbatches or recomputation "
        "need less.",
        format_bytes(limit()), least->name, format_bytes(least->peak_bytes()),
        format_bytes(least->peak_bytes() - limit()));
  }

  /// Where something does not fit, there is one.
  [[nodiscard]] Bytes limit() const {
    PPSIM_ASSERT(comparison_.memory_limit.has_value());
    return *comparison_.memory_limit;
  }

  const Comparison& comparison_;
};

} // namespace

Demands demands_of(const Schedule& schedule, const RunReport& report) {
  const HeldChunks held{schedule};
  Demands demands{.chunks_per_stage = held.most()};
  std::vector<std::size_t> stages(schedule.shape().chunks());
  std::vector<std::size_t> versions(schedule.shape().chunks());
  for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage)
    for (const std::uint16_t chunk : held.of(make_id<StageId>(stage))) {
      ++stages[chunk];
      versions[chunk] = std::max(versions[chunk], report.stages[stage].weight_versions);
    }
  for (std::size_t chunk = 0; chunk < stages.size(); ++chunk)
    demands.parameter_copies = std::max(demands.parameter_copies, stages[chunk] * versions[chunk]);
  demands.splits_backward =
      std::ranges::any_of(schedule.tasks(), [](const Task& task) { return task.pass == Pass::weight_grad; });
  demands.overlaps_pairs =
      std::ranges::any_of(schedule.tasks(), [](const Task& task) { return task.pairing != Pairing::alone; });
  const std::vector<StageId> placement = placement_of(schedule);
  demands.folds = schedule.shape().stages > 1 && std::ranges::adjacent_find(placement) != placement.end();
  demands.asynchronous = schedule.asynchronous();
  return demands;
}

Bytes Contender::peak_bytes() const {
  Bytes most;
  for (const StageReport& stage : report.stages) most = std::max(most, stage.peak_bytes());
  return most;
}

double Contender::peak_stage_activations() const {
  std::size_t most = 0;
  for (const StageReport& stage : report.stages) most = std::max(most, stage.peak_live_activations);
  return static_cast<double>(most) / static_cast<double>(shape.vpp);
}

void rank(Comparison& comparison) {
  const auto key = [&](const Contender& contender) {
    return std::tuple{contender.report.step_time, contender.peak_bytes(),
                      comparison.knows_memory ? 0.0 : contender.peak_stage_activations(), weight(contender.demands)};
  };
  std::ranges::stable_sort(comparison.contenders,
                           [&](const Contender& a, const Contender& b) { return key(a) < key(b); });
  comparison.recommendation = recommend(comparison.contenders);
}

std::string recommendation_text(const Comparison& comparison) {
  const auto held = std::ranges::count_if(comparison.not_applicable, &NotApplicable::is_held_by_transfers);
  if (held == 0) return Words{comparison}.text();
  return fmt::format("{} {} more {} left out only because of `transfer` {}: `transfer` latency lets {} in.",
                     Words{comparison}.text(), held, held == 1 ? "is" : "are", to_string(comparison.transfer_model),
                     held == 1 ? "it" : "them");
}

} // namespace ppsim
