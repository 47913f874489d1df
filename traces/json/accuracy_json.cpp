#include "ppsim/measured/accuracy.hpp"
#include "ppsim/traces/json.hpp"

#include "json_parts.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::traces {
namespace {

Json summary_json(const Accuracy& accuracy, const ErrorSummary& summary) {
  const auto name = [&accuracy](std::size_t at) {
    return Json{{"group", accuracy.runs[at].group}, {"name", accuracy.runs[at].name}};
  };
  Json json{{"runs", summary.runs}, {"no_validation", summary.not_counted}};
  const bool none = summary.runs == 0;
  json["median_error"] = none ? Json(nullptr) : number(summary.median_error);
  json["worst_error"] = none ? Json(nullptr) : number(accuracy.runs[summary.worst].validation.step.error());
  json["worst_run"] = none ? Json(nullptr) : name(summary.worst);
  json["own_times_known"] = summary.own;
  json["median_own_times_error"] = summary.own == 0 ? Json(nullptr) : number(summary.median_own_error);
  json["worst_own_times_error"] = summary.own == 0 ? Json(nullptr) : number(summary.worst_own_error);
  json["median_start_error_p95"] = none ? Json(nullptr) : number(summary.median_start_error);
  json["worst_start_error_p95"] =
      none ? Json(nullptr) : number(accuracy.runs[summary.worst_start].validation.start_error_p95);
  json["worst_start_run"] = none ? Json(nullptr) : name(summary.worst_start);
  json["pairs"] = summary.pairs;
  json["pairs_in_another_order"] = summary.inverted;
  return json;
}

Json run_json(const ValidatedRun& run) {
  const Validation& validation = run.validation;
  return {{"group", run.group},
          {"name", run.name},
          {"schedule", run.schedule},
          {"stages", run.shape.stages},
          {"microbatches", run.shape.microbatches},
          {"vpp", run.shape.vpp},
          {"holds", validation.holds},
          {"predicted_ns", validation.step.predicted.count()},
          {"measured_ns", validation.step.measured.count()},
          {"error", number(validation.step.error())},
          {"own_times_error", validation.own_times ? number(validation.own_times->error()) : Json(nullptr)},
          {"start_error_p95", validation.start_error_p95},
          {"same_peaks", validation.knows_memory ? Json(validation.same_peaks()) : Json(nullptr)},
          {"results_hold", validation.proved ? Json(*validation.proved) : Json(nullptr)},
          {"own_costs", validation.own_costs},
          {"contended", validation.contended},
          {"unaligned", validation.unaligned}};
}

} // namespace

std::string accuracy_json(const Accuracy& accuracy) {
  const auto group_json = [&accuracy](const ErrorSummary& group) {
    Json summary{{"group", group.group}};
    summary.update(summary_json(accuracy, group));
    return summary;
  };
  const auto inversion_json = [&accuracy](const Inversion& inversion) {
    return Json{{"group", accuracy.runs[inversion.first].group},
                {"first", accuracy.runs[inversion.first].name},
                {"second", accuracy.runs[inversion.second].name},
                {"predicted_gap", inversion.predicted_gap},
                {"measured_gap", inversion.measured_gap}};
  };
  return document({{"schema", 1},
                   {"holds", accuracy.holds()},
                   {"tolerance", accuracy.runs.front().validation.tolerance},
                   {"all", summary_json(accuracy, accuracy.all)},
                   {"groups", list_of(accuracy.groups, group_json)},
                   {"inversions", list_of(accuracy.inversions, inversion_json)},
                   {"runs", list_of(accuracy.runs, run_json)}});
}

} // namespace ppsim::traces
