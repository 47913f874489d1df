// Measured timelines, made of simulated ones with every disturbance of real ones: the accounts add up, the critical
// path ends with the run, and every view can show them.

#include "ppsim/measured/measured.hpp"
#include "ppsim/measured/validation.hpp"
#include "ppsim/study/run_report.hpp"
#include "ppsim/traces/chrome_trace.hpp"
#include "ppsim/traces/json.hpp"
#include "ppsim/traces/run_file.hpp"
#include "ppsim/viz/svg.hpp"
#include "ppsim/viz/text.hpp"
#include "ppsim/viz/validation.hpp"
#include "property/drawn_inputs.hpp"
#include "property/timeline_checks.hpp"
#include "support/measured.hpp"
#include "support/svg.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include <algorithm>
#include <numeric>

#include <nlohmann/json.hpp>
#include <rapidcheck.h>

namespace ppsim::test::measured_property {

namespace {

/// Longer and shorter tasks, pauses before them, transfers of any length.
Timeline draw_run(const TaskGraph& graph) {
  Timeline timeline = played(graph, {.length = [](TaskId) { return draw_time(40); },
                                     .way = [](TaskId) { return draw_time(15); },
                                     .pause = [](TaskId) { return one_in(3) ? draw_time(10) : zero; }});
  const Duration begin = std::ranges::min(timeline.tasks, {}, &Span::start).start - SimTime{}; // a step begins at zero
  const bool noisy = one_in(2);
  for (Span& span : timeline.tasks) span = {span.start - begin, span.end - begin};
  for (Span& span : timeline.transfers) {
    if (span == Span{}) continue;
    span = {span.start - begin, span.end - begin};
    if (noisy)
      span.end = std::max(SimTime{}, span.end + draw_time(30) - Duration{15}); // different clocks, late polling
  }
  return timeline;
}

/// Reductions and optimizer steps some time after the tasks.
void draw_update(const TaskGraph& graph, Timeline& timeline) {
  const Schedule& schedule = graph.schedule();
  for (const StageId stage : schedule.stage_ids()) {
    SimTime now{};
    for (const TaskId id : schedule.task_ids(stage)) now = std::max(now, timeline.tasks[index(id)].end);
    for (const std::uint16_t chunk : chunks_of(schedule, stage)) {
      if (one_in(2)) continue;
      const SimTime begin = now + draw_time(10) - (one_in(3) ? now - SimTime{} : zero); // also before the last task
      timeline.reductions.push_back({.stage = stage,
                                     .chunk = make_id<ChunkId>(chunk),
                                     .tied = one_in(8),
                                     .span = {begin, begin + draw_time(30)},
                                     .released_by = {}});
    }
    const SimTime begin = now + draw_time(20);
    timeline.optimizer.push_back({{begin, begin + draw_time(20)}, {}});
  }
}

struct PredictedRun {
  Outcome prediction;
  MeasuredRun run;
};

PredictedRun draw_measured() {
  const Schedule schedule = draw_order();
  Scenario scenario = draw_scenario(schedule.shape());
  if (one_in(3)) scenario.memory.parameters.assign(schedule.shape().chunks(), Bytes{7});
  Outcome prediction = run(schedule, scenario);
  std::vector<Timeline> steps;
  for (std::size_t step = draw(1, 3); step > 0; --step) {
    steps.push_back(draw_run(prediction.graph));
    if (one_in(3)) draw_update(prediction.graph, steps.back());
  }
  MeasuredRun measured = run_of(schedule, std::move(steps));
  measured.clock_error = draw_time(20);
  measured.unaligned = one_in(8);
  for (MeasuredStage& stage : measured.stages)
    stage = {.static_bytes = Bytes{number(draw(0, 50))},
             .peak_bytes = Bytes{number(draw(0, 50))},
             .buffer_bytes = Bytes{number(draw(0, 50))},
             .busy = draw_time(100),
             .cpu = one_in(2) ? std::optional{draw_time(100)} : std::nullopt};
  if (one_in(2))
    measured.proof = Proof{.same_order = one_in(2),
                           .bit_equal = one_in(2),
                           .gradient_error = 1e-9 * static_cast<double>(draw(0, 1'000'000)),
                           .loss_error = 0.125,
                           .tolerance = 1e-4,
                           .losses = {3.5, 0.1, -1e-30}};
  return {std::move(prediction), std::move(measured)};
}

} // namespace

TEST_CASE("The releases of a simulated task follow from its times alone") {
  rc::prop("under latency and link, for orders without pairs", [] {
    const Schedule schedule = draw_order(false);
    const Outcome outcome =
        run(schedule, draw_scenario(schedule.shape(), one_in(2) ? TransferModel::latency : TransferModel::link));
    Timeline found = outcome.timeline;
    found.released_by.clear();
    found.cause.clear();
    attribute(outcome.graph, found);
    RC_ASSERT(found.released_by == outcome.timeline.released_by);
    RC_ASSERT(found.cause == outcome.timeline.cause);
  });
}

TEST_CASE("In a measured step every nanosecond has one label, and the critical path ends with the step") {
  rc::prop("whatever was disturbed", [] {
    const PredictedRun drawn = draw_measured();
    for (Timeline step : drawn.run.steps) {
      attribute(drawn.prediction.graph, step);
      const RunReport report = run_report(drawn.prediction.graph, step);
      const std::size_t stages = report.stages.size();
      for (std::size_t stage = 0; stage < stages; ++stage) {
        SimTime now{};
        for (const LabelledSpan& span :
             account(drawn.prediction.graph, step, make_id<StageId>(stage), SimTime{report.makespan})) {
          RC_ASSERT(span.span.start == now);
          RC_ASSERT(span.span.end >= now);
          now = span.span.end;
        }
        RC_ASSERT(now == SimTime{report.makespan});
        RC_ASSERT(report.stages[stage].busy + report.stages[stage].idle == report.makespan);
      }
      const auto by_label = report.time_by_label();
      RC_ASSERT(std::accumulate(by_label.begin(), by_label.end(), zero) == number(stages) * report.makespan);
      RC_ASSERT(!report.critical_path.empty());
      RC_ASSERT(span_of(step, report.critical_path.back()).end == SimTime{report.makespan});
      for (const PathStep& element : report.critical_path) RC_ASSERT(span_of(step, element).length() >= zero);
    }
  });
}

TEST_CASE("Every view shows any measured step") {
  rc::prop("well-formed, and saying that it is measured", [] {
    const PredictedRun drawn = draw_measured();
    const TaskGraph& graph = drawn.prediction.graph;
    Timeline step = drawn.run.steps.front();
    attribute(graph, step);
    const RunReport report = run_report(graph, step, describe(drawn.run));
    const std::string svg = viz::svg_gantt(graph, step, report);
    RC_ASSERT(xml_fault(svg).empty());
    RC_ASSERT(svg.find("measured: threads") != std::string::npos);
    RC_ASSERT(viz::text_report(graph, step, report, {.width = 80, .colour = true}).find("measured: threads") !=
              std::string::npos);
    const auto json = nlohmann::json::parse(traces::report_json(graph, step, report, true));
    RC_ASSERT(json["measured"] == report.measured);
    for (const auto& element : json["critical_path"]) RC_ASSERT(element["end_ns"] >= element["start_ns"]);
    const auto trace = nlohmann::json::parse(traces::chrome_trace(graph, step, report));
    RC_ASSERT(trace["otherData"]["measured"] == report.measured);
    for (const auto& event : trace["traceEvents"])
      if (event.contains("dur")) RC_ASSERT(event["dur"].get<double>() >= 0);
    RC_ASSERT(!viz::task_table(graph, step).empty());
  });
}

TEST_CASE("Any run can be compared with its prediction, and every view shows it") {
  rc::prop("well-formed, with deviations that are there", [] {
    const PredictedRun drawn = draw_measured();
    const Outcome& prediction = drawn.prediction;
    const Validation validation =
        validate_run(prediction.graph, prediction.timeline, drawn.run, 0.01 * static_cast<double>(draw(0, 100)));
    for (const Deviation& deviation : validation.deviations) {
      RC_ASSERT(deviation.size() > zero);
      RC_ASSERT((deviation.waited_for != no_task) <= (deviation.because == Lateness::waited));
      RC_ASSERT((deviation.waited_for == no_task) == (deviation.behind == no_task));
    }
    RC_ASSERT(std::ranges::is_sorted(validation.deviations, std::ranges::greater{}, &Deviation::size));
    if (validation.holds) RC_ASSERT(!validation.contended && !validation.unaligned && validation.in_tolerance());
    const std::string svg = viz::svg_validation(prediction.graph, prediction.timeline, drawn.run, validation);
    RC_ASSERT(xml_fault(svg).empty());
    const std::string text =
        viz::validation_text(prediction.graph, drawn.run, validation, {.width = 100, .colour = false});
    RC_ASSERT(text.starts_with(validation.holds ? "valid: " : "no"));
    const auto json = nlohmann::json::parse(traces::validation_json(prediction.graph, drawn.run, validation));
    RC_ASSERT(json["holds"] == validation.holds);
  });
}

TEST_CASE("A run as predicted is valid with a tolerance of zero") {
  rc::prop("for orders without pairs", [] {
    const Schedule schedule = draw_order(false);
    const Outcome outcome = run(schedule, draw_scenario(schedule.shape()));
    const MeasuredRun measured = run_of(schedule, {outcome.timeline});
    const Validation validation = validate_run(outcome.graph, outcome.timeline, measured, 0.0);
    RC_ASSERT(validation.holds);
    RC_ASSERT(validation.deviations.empty());
  });
}

TEST_CASE("Every written run is read back unchanged") {
  rc::prop("byte by byte, and the same order", [] {
    const PredictedRun drawn = draw_measured();
    const std::string text = traces::write_run(drawn.run);
    const MeasuredRun again = traces::read_run(text, "run.json");
    RC_ASSERT(again.schedule == drawn.run.schedule);
    RC_ASSERT(again.schedule.asynchronous() == drawn.run.schedule.asynchronous());
    RC_ASSERT(again.stages == drawn.run.stages);
    RC_ASSERT(again.proof == drawn.run.proof);
    RC_ASSERT(again.facts == drawn.run.facts);
    RC_ASSERT(traces::write_run(again) == text);
  });
}

TEST_CASE("A run file truncated anywhere is refused without a crash") {
  rc::prop("at any byte", [] {
    const std::string text = traces::write_run(draw_measured().run);
    const Refusal refusal =
        refusal_of([&] { static_cast<void>(traces::read_run(text.substr(0, draw(0, text.size() - 3)), "run.json")); });
    RC_ASSERT(refusal.code == ExitCode::bad_input);
  });
}

} // namespace ppsim::test::measured_property
