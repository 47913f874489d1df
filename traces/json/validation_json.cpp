#include "ppsim/measured/validation.hpp"
#include "ppsim/traces/json.hpp"

#include "json_parts.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::traces {
namespace {

/// An infinite error, of a figure that was measured as zero, becomes null.
Json stage_json(const Validation& validation, std::size_t stage) {
  const StageError& error = validation.stages[stage];
  Json json{{"stage", stage},
            {"busy", compared_json(error.busy)},
            {"idle", compared_json(error.idle)},
            {"end", compared_json(error.end)}};
  if (validation.knows_memory)
    json["peak"] = {{"predicted_bytes", error.predicted_peak.count()},
                    {"measured_bytes", error.measured_peak.count()},
                    {"equal", error.same_peak()}};
  return json;
}

Json optional_number(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json pass_json(const PassError& error) {
  return {{"pass", std::string{letter(error.pass)}},
          {"tasks", error.tasks},
          {"median", compared_json(error.median)},
          {"median_task_error", optional_number(error.median_error)},
          {"p95_task_error", optional_number(error.p95_error)}};
}

Json task_json(const TaskGraph& graph, TaskId id) {
  if (id == no_task) return nullptr;
  return {{"task", to_string(graph.schedule().task(id))}, {"stage", index(graph.schedule().stage_of(id))}};
}

std::string_view name_of(Delay delay) {
  switch (delay) {
  case Delay::none:
    break;
  case Delay::length:
    return "length";
  case Delay::transfer:
    return "transfer";
  case Delay::start:
    return "start";
  }
  return "none";
}

Json deviation_json(const TaskGraph& graph, const Deviation& deviation) {
  Json json = task_json(graph, deviation.task);
  json["because"] = deviation.because == Lateness::slow ? "slow" : "waited";
  json["predicted_ns"] = deviation.predicted.count();
  json["start_ns"] = deviation.start.count();
  json["length_ns"] = deviation.length.count();
  json["wait_ns"] = deviation.wait.count();
  if (deviation.because != Lateness::waited) return json;
  json["waited_for"] = task_json(graph, deviation.waited_for);
  json["behind"] = task_json(graph, deviation.behind);
  if (deviation.behind == no_task) return json;
  json["behind"]["delay"] = name_of(deviation.delay);
  json["behind"]["delay_ns"] = deviation.delayed.count();
  return json;
}

} // namespace

std::string validation_json(const TaskGraph& graph, const MeasuredRun& run, const Validation& validation) {
  const Shape& shape = graph.schedule().shape();
  Json json{{"schema", 1},
            {"holds", validation.holds},
            {"in_tolerance", validation.in_tolerance()},
            {"same_peaks", validation.knows_memory ? Json(validation.same_peaks()) : Json(nullptr)},
            {"proof", judged_proof_json(run.proof)},
            {"contended", validation.contended},
            {"unaligned", validation.unaligned},
            {"schedule", run.schedule.name()},
            {"stages", shape.stages},
            {"microbatches", shape.microbatches},
            {"vpp", shape.vpp},
            {"measured", describe(run)},
            {"timed", run.facts.timed},
            {"tolerance", validation.tolerance},
            {"step", compared_json(validation.step)},
            {"median_step", validation.step_used},
            {"steps_ns", in_nanoseconds(validation.steps)},
            {"bubble_ratio", {{"predicted", validation.bubble_predicted}, {"measured", validation.bubble_measured}}},
            {"start_error_p95", validation.start_error_p95}};
  json["unpredicted_exchange_ns"] =
      validation.unpredicted_exchange ? Json(validation.unpredicted_exchange->count()) : Json(nullptr);
  json["unpredicted_optimizer_ns"] =
      validation.unpredicted_optimizer ? Json(validation.unpredicted_optimizer->count()) : Json(nullptr);
  json["own_costs"] = validation.own_costs;
  json["core_share"] = optional_number(core_share(run));
  json["clock_error_ns"] = run.clock_error ? Json(run.clock_error->count()) : Json(nullptr);
  json["per_stage"] = Json::array();
  for (std::size_t stage = 0; stage < validation.stages.size(); ++stage)
    json["per_stage"].push_back(stage_json(validation, stage));
  json["per_pass"] = list_of(validation.passes, pass_json);
  json["deviations"] =
      list_of(validation.deviations, [&](const Deviation& deviation) { return deviation_json(graph, deviation); });
  for (const auto& [key, step] : {std::pair{"own_times", validation.own_times}, std::pair{"alone", validation.alone}})
    if (step) json[key] = {{"predicted_ns", step->predicted.count()}, {"error", number(step->error())}};
  if (validation.variable) json["variable_work"] = variable_work_json(*validation.variable);
  return document(json);
}

} // namespace ppsim::traces
