#include "ppsim/base/error.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/graph/timeline.hpp"
#include "ppsim/scenario/layout.hpp"
#include "ppsim/study/run_report.hpp"
#include "ppsim/traces/json.hpp"

#include <fmt/format.h>

#include "json_parts.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::traces {
namespace {

Json times_by_label(const std::array<Duration, label_count>& time, bool idle) {
  Json json = Json::object();
  for (std::size_t label = 0; label < label_count; ++label)
    if (is_idle(label_at(label)) == idle && time[label] > Duration{0})
      json[std::string{to_string(label_at(label))}] = time[label].count();
  return json;
}

Json stage_json(const StageReport& report, std::size_t stage) {
  return {{"stage", stage},
          {"busy_ns", report.busy.count()},
          {"idle_ns", report.idle.count()},
          {"peak_live_activations", report.peak_live_activations},
          {"peak_activation_bytes", report.peak_activation_bytes.count()},
          {"static_bytes", report.static_bytes.count()},
          {"weight_versions", report.weight_versions},
          {"warmup_forwards", report.warmup_forwards},
          {"steady_pairs", report.steady_pairs},
          {"cooldown_backwards", report.cooldown_backwards},
          {"busy_by_pass_ns", times_by_label(report.time, false)},
          {"idle_by_cause_ns", times_by_label(report.time, true)}};
}

Json span_json(const Span& span) {
  return {{"start_ns", span.start.time_since_epoch().count()}, {"end_ns", span.end.time_since_epoch().count()}};
}

/// Adds the work after a stage's tasks, if any.
void add_update(Json& json, const Timeline& timeline, StageId stage) {
  if (timeline.optimizer.empty()) return;
  json["reductions"] = Json::array();
  for (const Reduction& reduction : timeline.reductions) {
    if (reduction.stage != stage) continue;
    Json entry{{"chunk", index(reduction.chunk)}, {"tied_embedding", reduction.tied}};
    entry.update(span_json(reduction.span));
    json["reductions"].push_back(std::move(entry));
  }
  json["optimizer"] = span_json(timeline.optimizer[index(stage)].span);
}

Json memory_json(const TaskGraph& graph, const RunReport& report) {
  const std::optional<Bytes>& limit = graph.scenario().memory.limit;
  if (!limit) return nullptr;
  Json json{{"limit_bytes", limit->count()}, {"fits", !report.overflow.has_value()}};
  if (report.overflow) {
    const Overflow& overflow = *report.overflow;
    json["overflow"] = {
        {"stage", index(overflow.stage)},
        {"at_ns", overflow.at.time_since_epoch().count()},
        {"needed_bytes", overflow.needed.count()},
        {"task", overflow.is_before_tasks() ? Json(nullptr) : Json(to_string(graph.schedule().task(overflow.task)))}};
  }
  return json;
}

Json optional_ns(const std::optional<Duration>& duration) {
  return duration ? Json(duration->count()) : Json(nullptr);
}

Json copies_json(const CopiesReport& copies) {
  return {{"slowest", copies.alike[copies.slowest].first},
          {"step_time_without_ns", optional_ns(copies.without_slowest())},
          {"alike", list_of(copies.alike, [](const CopiesReport::Alike& alike) {
             return Json{{"first", alike.first}, {"count", alike.count}, {"step_time_ns", alike.step_time.count()}};
           })}};
}

/// By stage.
Json slow_json(const std::vector<std::int64_t>& stage_ppm) {
  return list_of(stage_ppm, factor_of);
}

Json slow_links_json(const std::vector<UnusualLink>& links) {
  return list_of(links, [](const UnusualLink& link) {
    return Json{{"stages", {index(link.stage), index(link.other)}}, {"factor", factor_of(link.ppm)}};
  });
}

Json balance_json(const Balance& balance) {
  return {{"start_layout", to_string(balance.start.layout)},
          {"start_given", balance.start.is_given},
          {"start_step_time_ns", balance.start_step_time.count()},
          {"start_fits", balance.start_fits},
          {"fits", balance.fits},
          {"splits_tried", balance.tried},
          {"settled", balance.settled}};
}

Json figure_json(const SensitivityFigure& figure) {
  Json json{{"change", to_string(figure.change)}};
  switch (figure.change) {
  case Change::stage:
    json["stage"] = index(figure.stage);
    break;
  case Change::link:
    json["stages"] = {index(figure.stage), index(figure.other)};
    break;
  case Change::microbatches:
  case Change::chunks:
    json[std::string{to_string(figure.change)}] = figure.count;
    json["flags"] = as_flags(figure.fields);
    break;
  }
  json["step_time_ns"] = figure.step_time.count();
  json["gain"] = figure.gain;
  return json;
}

Json sensitivity_json(const Sensitivity& sensitivity) {
  const auto refused_json = [](const RefusedChange& refused) {
    return Json{{"change", to_string(refused.change)}, {"reason", as_flags(refused.reason)}};
  };
  Json json{{"figures", list_of(sensitivity.figures, figure_json)},
            {"refused", list_of(sensitivity.refused, refused_json)}};
  if (!sensitivity.still.empty())
    json["p95"] = list_of(sensitivity.still, [](const StillStage& still) {
      return Json{{"stage", index(still.stage)}, {"step_time_p95_ns", still.p95.count()}, {"gain", still.gain}};
    });
  return json;
}

Json stalls_json(const TaskGraph& graph, const StallReport& stalls) {
  const auto stall_json = [&graph](const StallReport::One& stall) {
    return Json{{"stage", index(stall.stage)},
                {"task", to_string(graph.schedule().task(stall.task))},
                {"start_ns", stall.wait.start.time_since_epoch().count()},
                {"end_ns", stall.wait.end.time_since_epoch().count()},
                {"words", stall.words}};
  };
  return {{"operations", stalls.operations},
          {"count", stalls.count},
          {"sum_ns", stalls.sum.count()},
          {"makespan_without_ns", optional_ns(stalls.without)},
          {"longest", list_of(stalls.longest, stall_json)}};
}

Json report_head(const TaskGraph& graph, const Timeline& timeline, const RunReport& report) {
  const Scenario& scenario = graph.scenario();
  Json json{{"schema", 1},
            {"schedule", graph.schedule().name()},
            {"stages", scenario.shape.stages},
            {"microbatches", scenario.shape.microbatches},
            {"vpp", scenario.shape.vpp},
            {"transfer_model", to_string(scenario.network.model)}};
  if (!scenario.title.empty()) json["title"] = scenario.title;
  if (!scenario.source.empty()) json["source"] = scenario.source;
  if (!report.measured.empty()) json["measured"] = report.measured;
  if (graph.schedule().forward_only()) json["forward_only"] = true;
  add_metrics(json, report);
  json["closed_form"] = report.closed_form ? Json{{report.closed_form->metric, report.closed_form->value},
                                                  {"formula", report.closed_form->formula}}
                                           : Json(nullptr);
  if (report.bound) json["lower_bound_ns"] = report.bound->makespan.count();
  json["what_if"] = {{"no_communication_ns", optional_ns(report.what_if.no_communication)},
                     {"equal_stages_ns", optional_ns(report.what_if.equal_stages)},
                     {"no_recompute_ns", optional_ns(report.what_if.no_recompute)}};
  json["alternatives"] = list_of(report.alternatives, [](const Alternative& alternative) {
    return Json{{"change", as_flags(alternative.change)},
                {"step_time_ns", alternative.step_time.count()},
                {"bubble_ratio", alternative.bubble_ratio},
                {"fits", alternative.fits}};
  });
  if (report.spread) json["jitter"] = jitter_json(report.spread->of);
  if (!scenario.costs.stage_ppm.empty()) json["slow"] = slow_json(scenario.costs.stage_ppm);
  if (!scenario.network.unusual_links.empty()) json["slow_links"] = slow_links_json(scenario.network.unusual_links);
  if (report.copies) json["copies"] = copies_json(*report.copies);
  json["transfers"] = report.transfers;
  json["transfer_bytes"] = report.transfer_volume.count();
  json["memory"] = memory_json(graph, report);
  if (!scenario.layout.empty()) json["layout"] = to_string(scenario.layout);
  for (const ChunkBlocks& blocks : scenario.layout) json["layers_per_chunk"].push_back(blocks.layers);
  if (report.balance) json["balance"] = balance_json(*report.balance);
  if (report.sensitivity) json["sensitivity"] = sensitivity_json(*report.sensitivity);
  if (report.stalls) json["stalls"] = stalls_json(graph, *report.stalls);
  json["per_stage"] = Json::array();
  for (std::size_t stage = 0; stage < report.stages.size(); ++stage) {
    json["per_stage"].push_back(stage_json(report.stages[stage], stage));
    add_update(json["per_stage"].back(), timeline, make_id<StageId>(stage));
  }
  return json;
}

/// Written without a JSON tree: there may be millions of tasks, and a tree would take gigabytes.
void append_path(std::string& out, const TaskGraph& graph, const Timeline& timeline, const RunReport& report) {
  std::string_view separator = "\n";
  for (const PathStep& step : report.critical_path) {
    const auto put = [&]<class... Args>(fmt::format_string<Args...> format, Args&&... args) {
      out += fmt::format(format, std::forward<Args>(args)...);
    };
    put(R"({}    {{"kind": "{}", "stage": {})", separator, to_string(step.kind),
        index(stage_of(graph, timeline, step)));
    if (step.kind == PathKind::reduction) put(R"(, "chunk": {})", index(timeline.reductions[step.number].chunk));
    if (!step.is_update()) {
      const Task& task = graph.schedule().task(step.task);
      put(R"(, "chunk": {}, "microbatch": {}, "pass": "{}")", task.chunk_index, index(task.microbatch),
          letter(task.pass));
    }
    const Span span = span_of(timeline, step);
    put(R"(, "start_ns": {}, "end_ns": {})", span.start.time_since_epoch().count(),
        span.end.time_since_epoch().count());
    if (step.kind == PathKind::task) put(R"(, "released_by": "{}")", to_string(step.cause));
    out.push_back('}');
    separator = ",\n";
  }
}

void append_tasks(std::string& out, const TaskGraph& graph, const Timeline& timeline) {
  const std::vector<std::uint32_t> steps = unit_steps(graph);
  const Schedule& schedule = graph.schedule();
  const HeldChunks local{schedule};
  for (const StageId stage : schedule.stage_ids()) {
    for (const TaskId id : schedule.task_ids(stage)) {
      const Task& task = schedule.task(id);
      const Span& span = timeline.tasks[index(id)];
      const std::size_t chunk = task.chunk_index;
      out += fmt::format(
          R"({}    {{"stage": {}, "chunk": {}, "microbatch": {}, "pass": "{}", "start_ns": {}, "end_ns": {}, "step": {}, "local_chunk": {}, "is_first_chunk": {}, "is_last_chunk": {}}})",
          index(id) == 0 ? "\n" : ",\n", index(stage), chunk, index(task.microbatch), letter(task.pass),
          span.start.time_since_epoch().count(), span.end.time_since_epoch().count(), steps[index(id)],
          local.local_index(stage, task.chunk()), chunk == 0, chunk + 1 == graph.scenario().shape.chunks());
    }
  }
}

} // namespace

std::string report_json(const TaskGraph& graph, const Timeline& timeline, const RunReport& report, bool tasks) {
  std::string text = without_end(document(report_head(graph, timeline, report)));
  text += ",\n  \"critical_path\": [";
  append_path(text, graph, timeline, report);
  if (tasks) {
    text += "\n  ],\n  \"tasks\": [";
    append_tasks(text, graph, timeline);
  }
  text += "\n  ]\n}\n";
  return text;
}

} // namespace ppsim::traces
