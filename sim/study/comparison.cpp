#include "ppsim/study/comparison.hpp"

#include "ppsim/study/run_report.hpp"

#include <algorithm>
#include <tuple>

namespace ppsim {
namespace {

/// The weight of demands: compared lexicographically, with what is harder to build or to train with first.
auto weight(const Demands& demands) {
  return std::tuple{demands.asynchronous, demands.parameter_copies, demands.overlaps_pairs, demands.splits_backward,
                    demands.folds,        demands.chunks_per_stage};
}

/// Needs sorted contenders.
std::optional<Recommendation> recommend(const Comparison& comparison) {
  const std::vector<Contender>& contenders = comparison.contenders;
  const auto takes_part = [&](const Contender& contender) {
    return contender.fits() && !contender.demands.asynchronous && comparison.figure_of(contender);
  };
  std::vector<std::size_t> eligible;
  for (std::size_t position = 0; position < contenders.size(); ++position)
    if (takes_part(contenders[position])) eligible.push_back(position);
  if (eligible.empty()) return std::nullopt;
  Recommendation recommendation{eligible.front(), std::nullopt, std::nullopt};
  if (eligible.size() > 1) recommendation.runner_up = eligible[1];
  const auto time_of = [&](std::size_t position) {
    return static_cast<double>(comparison.figure_of(contenders[position])->count());
  };
  const auto is_close = [&](std::size_t position) {
    return time_of(position) <= time_of(recommendation.best) * (1 + Recommendation::simpler_within);
  };
  std::size_t least = recommendation.best;
  for (const std::size_t position : eligible)
    if (is_close(position) && weight(contenders[position].demands) < weight(contenders[least].demands))
      least = position;
  if (least != recommendation.best) recommendation.simpler = least;
  return recommendation;
}

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

double Contender::peak_stage_activations() const {
  std::size_t most = 0;
  for (const StageReport& stage : report.stages) most = std::max(most, stage.peak_live_activations);
  return static_cast<double>(most) / static_cast<double>(shape.vpp);
}

void rank(Comparison& comparison) {
  const auto key = [&](const Contender& contender) {
    const std::optional<Duration> figure = comparison.figure_of(contender);
    return std::tuple{!figure, figure.value_or(contender.report.step_time), contender.report.peak_bytes(),
                      comparison.knows_memory ? 0.0 : contender.peak_stage_activations(), weight(contender.demands)};
  };
  std::ranges::stable_sort(comparison.contenders,
                           [&](const Contender& a, const Contender& b) { return key(a) < key(b); });
  comparison.recommendation = recommend(comparison);
}

const Jitter* sampled_as(const Comparison& comparison) {
  for (const Contender& contender : comparison.contenders)
    if (contender.report.spread) return &contender.report.spread->of;
  return nullptr;
}

} // namespace ppsim
