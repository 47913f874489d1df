#include "ppsim/study/sensitivity.hpp"

#include "ppsim/base/parallel.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ppsim {
namespace {

constexpr std::int64_t faster_stage_ppm = 990'000;
constexpr std::int64_t faster_link_ppm = 500'000;

/// The pairs of stages between which some transfer takes time, the lower stage first, ascending.
std::vector<std::pair<StageId, StageId>> links_of(const TaskGraph& graph) {
  std::vector<std::pair<StageId, StageId>> links;
  const Schedule& schedule = graph.schedule();
  for (const StageId stage : schedule.stage_ids()) {
    std::vector<StageId> peers; // a stage sends to few others
    for (const TaskId id : schedule.task_ids(stage)) {
      if (graph.transfer_time(id) == Duration{0}) continue;
      const auto receiver = graph.receiver(id);
      const StageId peer = schedule.stage_of(receiver.value());
      if (std::ranges::find(peers, peer) == peers.end()) peers.push_back(peer);
    }
    for (const StageId peer : peers) links.emplace_back(std::min(stage, peer), std::max(stage, peer));
  }
  std::ranges::sort(links);
  links.erase(std::ranges::unique(links).begin(), links.end());
  return links;
}

std::vector<SensitivityFigure> changes_of(const TaskGraph& graph) {
  std::vector<SensitivityFigure> changes;
  for (const StageId stage : graph.schedule().stage_ids()) changes.push_back({.change = Change::stage, .stage = stage});
  for (const auto& [stage, other] : links_of(graph))
    changes.push_back({.change = Change::link, .stage = stage, .other = other});
  return changes;
}

Scenario changed(Scenario scenario, const SensitivityFigure& change) {
  if (change.change == Change::link) {
    scenario.network.unusual_link = UnusualLink{change.stage, change.other, faster_link_ppm};
    return scenario;
  }
  scenario.costs.stage_ppm.assign(scenario.shape.stages, unchanged_ppm);
  scenario.costs.stage_ppm[index(change.stage)] = faster_stage_ppm;
  return scenario;
}

} // namespace

std::string_view to_string(Change change) {
  switch (change) {
  case Change::stage:
    return "stage";
  case Change::link:
    return "link";
  case Change::microbatches:
    return "microbatches";
  case Change::chunks:
    return "vpp";
  }
  return "?";
}

std::size_t sensitivity_tasks(const TaskGraph& graph, std::size_t tasks_per_run) {
  return changes_of(graph).size() * tasks_per_run;
}

std::vector<SensitivityFigure> stages_and_links(const TaskGraph& graph, Duration step_time,
                                                const std::function<Duration(const Scenario&)>& step_time_of,
                                                std::size_t threads) {
  std::vector<SensitivityFigure> figures = changes_of(graph);
  for_each_index(figures.size(), threads, [&](std::size_t i) {
    figures[i].step_time = step_time_of(changed(graph.scenario(), figures[i]));
    figures[i].gain = gain_over(step_time, 1, figures[i].step_time, 1);
  });
  return figures;
}

double gain_over(Duration base_time, std::size_t base_microbatches, Duration time, std::size_t microbatches) {
  if (base_time == Duration{0}) return 0;
  const double share = static_cast<double>(time.count()) / static_cast<double>(base_time.count());
  return 1 - share * static_cast<double>(base_microbatches) / static_cast<double>(microbatches);
}

void rank(Sensitivity& sensitivity) {
  std::ranges::stable_sort(sensitivity.figures, [](const SensitivityFigure& a, const SensitivityFigure& b) {
    return std::tuple{b.gain, a.change, a.stage, a.other} < std::tuple{a.gain, b.change, b.stage, b.other};
  });
}

} // namespace ppsim
