// Explanations of runs with every disturbance: parts add up to the step, every nanosecond of every device has a label,
// and every view can show them.

#include "ppsim/measured/explanation.hpp"
#include "ppsim/traces/json.hpp"
#include "ppsim/viz/explanation.hpp"
#include "property/drawn_inputs.hpp"
#include "support/measured.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include <algorithm>
#include <numeric>

#include <nlohmann/json.hpp>
#include <rapidcheck.h>

namespace ppsim::test::explanation_property {

namespace {

/// Longer and shorter tasks, pauses before them, transfers of any length; different clocks, if `noisy`.
Timeline draw_step(const TaskGraph& graph, bool noisy) {
  Timeline timeline = played(graph, {.length = [](TaskId) { return draw_time(40); },
                                     .way = [](TaskId) { return draw_time(15); },
                                     .pause = [](TaskId) { return one_in(3) ? draw_time(10) : zero; }});
  const Duration begin = std::ranges::min(timeline.tasks, {}, &Span::start).start - SimTime{};
  for (Span& span : timeline.tasks) span = {span.start - begin, span.end - begin};
  for (Span& span : timeline.transfers) {
    if (span == Span{}) continue;
    span = {span.start - begin, span.end - begin};
    if (noisy) span.end = std::max(SimTime{}, span.end + draw_time(30) - Duration{15});
  }
  return timeline;
}

/// Reductions, and optimizer steps, after the tasks of their stage or of all.
void draw_update(const Schedule& schedule, Timeline& timeline) {
  const SimTime all = std::ranges::max(timeline.tasks, {}, &Span::end).end;
  const bool together = one_in(2);
  const bool steps = one_in(2);
  for (const StageId stage : schedule.stage_ids()) {
    SimTime now{};
    for (const TaskId id : schedule.task_ids(stage)) now = std::max(now, timeline.tasks[index(id)].end);
    if (together) now = all;
    const SimTime begin = now + draw_time(10);
    timeline.reductions.push_back(
        {.stage = stage, .chunk = make_id<ChunkId>(0), .span = {begin, begin + draw_time(20)}, .released_by = {}});
    if (steps) timeline.optimizer.push_back({.span = {begin, begin + draw_time(20)}, .released_by = {}});
  }
}

std::vector<MeasuredRun> draw_replicas(const TaskGraph& graph, bool noisy) {
  const std::size_t steps = draw(1, 5);
  const bool updates = one_in(2);
  std::vector<MeasuredRun> replicas;
  for (std::size_t replica = draw(1, 3); replica > 0; --replica) {
    std::vector<Timeline> timelines;
    for (std::size_t step = 0; step < steps; ++step) {
      timelines.push_back(draw_step(graph, noisy));
      if (updates) draw_update(graph.schedule(), timelines.back());
    }
    MeasuredRun& run = replicas.emplace_back(run_of(graph.schedule(), std::move(timelines)));
    if (!noisy) continue;
    run.clock_error = Duration{100};
    run.unaligned = true;
  }
  return replicas;
}

Duration told(const StageExplanation& stage) {
  return std::accumulate(stage.time.begin(), stage.time.end(), stage.waits_for_replicas);
}

} // namespace

TEST_CASE("In any run, parts add up to the step, and every nanosecond of every device has a label") {
  rc::prop("", [] {
    const Schedule schedule = draw_order();
    RC_PRE(schedule.size() > 0);
    const TaskGraph graph = lower(schedule, uniform_scenario(schedule.shape(), Duration{1}, Duration{1}));
    const bool noisy = one_in(3);
    const std::vector<MeasuredRun> replicas = draw_replicas(graph, noisy);
    const Explanation found = explain(replicas);
    Duration sum{0};
    for (const StepPart& part : found.parts) sum += part.time;
    RC_ASSERT(found.parts.size() == reasons_of_a_step);
    RC_ASSERT(sum == found.step.mean);
    for (const ReplicaExplanation& replica : found.replicas)
      for (const StageExplanation& stage : replica.stages) {
        if (!noisy) RC_ASSERT(std::chrono::abs(told(stage) - found.step.mean) <= Duration{label_count});
        for (const Duration time : stage.time) RC_ASSERT(time >= zero);
        RC_ASSERT(stage.waits_for_replicas >= zero);
      }
    // Only tasks that begin as soon as possible can begin earlier.
    if (!noisy) RC_ASSERT(found.parts[static_cast<std::size_t>(Reason::late_starts)].time >= zero);
    for (const Finding& finding : found.findings) RC_ASSERT(finding.share > least_share);
    RC_ASSERT(!viz::explanation_text(replicas, found, {.width = 80, .colour = true}).empty());
    RC_ASSERT(nlohmann::json::parse(traces::explanation_json(replicas, found))["steps"] == found.steps);
  });
}

TEST_CASE("A simulated run is reproduced exactly, and nothing began late") {
  rc::prop("", [] {
    const Schedule schedule = draw_order();
    RC_PRE(schedule.size() > 0);
    Scenario scenario = draw_scenario(schedule.shape());
    scenario.network.slices = 1;
    scenario.update = {};
    const Outcome outcome = run(schedule, scenario);
    const Duration begin = std::ranges::min(outcome.timeline.tasks, {}, &Span::start).start - SimTime{};
    RC_PRE(begin == zero);
    const MeasuredRun measured = run_of(schedule, {outcome.timeline});
    const Explanation found = explain(std::span{&measured, 1});
    RC_ASSERT(found.own_error == 0);
    RC_ASSERT(found.parts[static_cast<std::size_t>(Reason::late_starts)].time == zero);
    RC_ASSERT(found.step.mean == outcome.report.makespan);
  });
}

} // namespace ppsim::test::explanation_property
