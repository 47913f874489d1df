#include "ppsim/study/copies.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/engine/step_timer.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace ppsim {
namespace {

/// Copies with equal stages.
struct AlikeCopies {
  std::size_t first = 0, count = 0;
  std::vector<std::int64_t> stage_ppm;
};

std::vector<AlikeCopies> alike_copies(const RunSpec& spec, std::size_t stages) {
  std::set<std::size_t> named;
  for (const SlowStage& slow : spec.slow.value_or(std::vector<SlowStage>{}))
    if (slow.copy) named.insert(*slow.copy);
  const auto all = static_cast<std::size_t>(spec.training.data_parallel);
  std::vector<AlikeCopies> alike;
  const auto add = [&](std::size_t first, std::size_t count, std::vector<std::int64_t> stage_ppm) {
    stage_ppm.resize(stages, unchanged_ppm); // empty means unchanged
    const auto found = std::ranges::find(alike, stage_ppm, &AlikeCopies::stage_ppm);
    AlikeCopies& group = found == alike.end() ? alike.emplace_back(first, 0, std::move(stage_ppm)) : *found;
    group.first = std::min(group.first, first);
    group.count += count;
  };
  for (const std::size_t copy : named) add(copy, 1, stage_factors(spec, stages, copy));
  std::size_t other = 0; // the first unnamed copy
  while (named.contains(other)) ++other;
  if (named.size() < all) add(other, all - named.size(), stage_factors(spec, stages));
  std::ranges::sort(alike, {}, &AlikeCopies::first);
  return alike;
}

} // namespace

std::vector<std::int64_t> stage_factors(const UnevenSpec& spec, std::size_t stages, std::optional<std::size_t> copy) {
  std::vector<std::int64_t> stage_ppm;
  const auto apply = [&](const SlowStage& slow) {
    if (!slow.stage) return stage_ppm.assign(stages, slow.ppm);
    if (*slow.stage >= stages) return;
    stage_ppm.resize(stages, unchanged_ppm);
    stage_ppm[*slow.stage] = slow.ppm;
  };
  const std::vector<SlowStage> said = spec.slow.value_or(std::vector<SlowStage>{});
  for (const SlowStage& slow : said)
    if (!slow.copy) apply(slow);
  for (const SlowStage& slow : said)
    if (slow.copy && slow.copy == copy) apply(slow);
  return stage_ppm;
}

std::optional<SlowestCopy> slowest_copy(const RunSpec& spec) {
  const std::size_t stages = spec.stages.value_or(0);
  const auto copies = static_cast<std::size_t>(spec.training.data_parallel);
  const auto is_there = [&](const SlowStage& slow) {
    return slow.stage.value_or(0) < stages && slow.copy.value_or(0) < copies;
  };
  if (!std::ranges::all_of(*spec.slow, is_there)) return std::nullopt;
  const std::vector<AlikeCopies> alike = alike_copies(spec, stages);
  const auto is_as_slow = [](const AlikeCopies& a, const AlikeCopies& b) {
    return std::ranges::equal(a.stage_ppm, b.stage_ppm, std::ranges::greater_equal{});
  };
  const auto slowest = std::ranges::find_if(alike, [&](const AlikeCopies& copy) {
    return std::ranges::all_of(alike, [&](const AlikeCopies& other) { return is_as_slow(copy, other); });
  });
  if (slowest == alike.end())
    throw Error{ExitCode::bad_input,
                Problem{spec.place_of("slow"),
                        "no copy is the slowest on every stage, but the search is for the order of one copy",
                        "search for the order of each copy: leave the others out"}};
  SlowestCopy found{slowest->first, spec};
  std::vector<SlowStage> slow;
  for (std::size_t stage = 0; stage < stages; ++stage)
    slow.push_back({.copy = {}, .stage = stage, .ppm = slowest->stage_ppm[stage]});
  found.spec.slow = std::move(slow);
  if (spec.model_shape) return found;
  found.spec.training.data_parallel = 1; // without a model it has no effect on one copy
  found.spec.where.erase("data-parallel");
  return found;
}

std::vector<LoweredCopies> lower_copies(const RunSpec& spec, const TaskGraph& graph) {
  std::vector<LoweredCopies> copies;
  if (!spec.names_copies()) return copies;
  for (AlikeCopies& alike : alike_copies(spec, graph.scenario().shape.stages)) {
    Scenario scenario = graph.scenario();
    scenario.costs.stage_ppm = std::move(alike.stage_ppm);
    validate(scenario);
    copies.push_back({alike.first, alike.count, graph.with_costs(std::move(scenario))});
  }
  return copies;
}

std::vector<SampledCopies> sampled_copies(const TaskGraph& graph, std::size_t count,
                                          const std::vector<LoweredCopies>& copies) {
  if (copies.empty()) return {{&graph, count}};
  std::vector<SampledCopies> sampled;
  sampled.reserve(copies.size());
  for (const LoweredCopies& each : copies) sampled.push_back({&each.graph, each.count});
  return sampled;
}

CopiesReport compare_copies(const std::vector<LoweredCopies>& copies) {
  PPSIM_ASSERT(!copies.empty());
  const StepTimer timer{copies.front().graph}; // all have one order
  CopiesReport report;
  for (const LoweredCopies& each : copies) {
    report.alike.push_back({each.first, each.count, find_step_time(each.graph, timer.makespan(each.graph)).step_time});
    if (report.alike.back().step_time > report.alike[report.slowest].step_time)
      report.slowest = report.alike.size() - 1;
  }
  return report;
}

} // namespace ppsim
