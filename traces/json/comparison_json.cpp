#include "ppsim/base/words.hpp"
#include "ppsim/scenario/layout.hpp"
#include "ppsim/study/comparison.hpp"
#include "ppsim/study/run_report.hpp"
#include "ppsim/traces/json.hpp"

#include <fmt/format.h>

#include "json_parts.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::traces {
namespace {

Json overflow_json(const RunReport& report) {
  if (!report.overflow) return nullptr;
  return {{"stage", index(report.overflow->stage)},
          {"at_ns", report.overflow->at.time_since_epoch().count()},
          {"needed_bytes", report.overflow->needed.count()}};
}

Json per_stage_json(const RunReport& report) {
  Json stages = Json::array();
  for (std::size_t stage = 0; stage < report.stages.size(); ++stage)
    stages.push_back({{"stage", stage},
                      {"peak_bytes", report.stages[stage].peak_bytes().count()},
                      {"static_bytes", report.stages[stage].static_bytes.count()},
                      {"peak_live_activations", report.stages[stage].peak_live_activations},
                      {"weight_versions", report.stages[stage].weight_versions}});
  return stages;
}

Json contender_json(const Contender& contender, const Comparison& comparison) {
  const RunReport& report = contender.report;
  Json json{{"name", contender.name},
            {"flags", as_flags(contender.fields)},
            {"stages", contender.shape.stages},
            {"microbatches", contender.shape.microbatches},
            {"vpp", contender.shape.vpp}};
  add_metrics(json, report);
  json["peak_bytes"] = comparison.knows_memory ? Json(contender.report.peak_bytes().count()) : Json(nullptr);
  json["peak_stage_activations"] = contender.peak_stage_activations();
  json["fits"] = comparison.memory_limit ? Json(contender.fits()) : Json(nullptr);
  json["overflow"] = overflow_json(report);
  json["transfers"] = report.transfers;
  json["transfer_volume_bytes"] = report.transfer_volume.count();
  if (report.stalls) json["stalls_ns"] = report.stalls->sum.count();
  json["parameter_copies"] = contender.demands.parameter_copies;
  json["demands"] = demands_json(contender.demands);
  if (!contender.layout.empty()) json["layout"] = to_string(contender.layout);
  json["per_stage"] = per_stage_json(report);
  return json;
}

Json recommendation_json(const Comparison& comparison, const std::string& text) {
  const auto name = [&comparison](std::size_t position) { return Json(comparison.contenders[position].name); };
  const auto name_of = [&name](const std::optional<std::size_t>& position) {
    return position ? name(*position) : Json(nullptr);
  };
  const std::optional<Recommendation>& chosen = comparison.recommendation;
  return {{"best", chosen ? name(chosen->best) : Json(nullptr)},
          {"runner_up", chosen ? name_of(chosen->runner_up) : Json(nullptr)},
          {"simpler", chosen ? name_of(chosen->simpler) : Json(nullptr)},
          {"text", text}};
}

} // namespace

std::string comparison_csv(const Comparison& comparison) {
  std::string text = "name,stages,mb,vpp";
  for (const Metric& metric : metrics()) text += fmt::format(",{}", metric.tag);
  text += ",peak_bytes,fits\n";
  for (const Contender& contender : comparison.contenders) {
    const Shape& shape = contender.shape;
    text += fmt::format("{},{},{},{}", csv_cell(contender.name), shape.stages, shape.microbatches, shape.vpp);
    for (const Metric& metric : metrics()) {
      const std::optional<double> value = metric.value(contender.report);
      if (metric.time != nullptr)
        text += fmt::format(",{}", metric.time(contender.report).count());
      else
        text += value ? fmt::format(",{}", *value) : ",";
    }
    text += comparison.knows_memory ? fmt::format(",{}", contender.report.peak_bytes().count()) : ",";
    text += comparison.memory_limit ? fmt::format(",{}\n", contender.fits()) : ",\n";
  }
  return text;
}

std::string comparison_json(const Comparison& comparison, const std::string& recommendation) {
  Json json{{"schema", 1},
            {"stages", comparison.stages},
            {"microbatches", comparison.microbatches},
            {"transfer_model", to_string(comparison.transfer_model)}};
  if (!comparison.title.empty()) json["title"] = comparison.title;
  if (!comparison.source.empty()) json["source"] = comparison.source;
  json["memory_limit_bytes"] = comparison.memory_limit ? Json(comparison.memory_limit->count()) : Json(nullptr);
  json["ranked_by"] = metric_tag(comparison.ranked_by);
  if (const Jitter* const jitter = sampled_as(comparison)) json["jitter"] = jitter_json(*jitter);
  json["contenders"] =
      list_of(comparison.contenders, [&](const Contender& contender) { return contender_json(contender, comparison); });
  json["not_applicable"] = list_of(comparison.not_applicable, [](const NotApplicable& entry) {
    return Json{{"name", entry.name}, {"reason", as_flags(entry.reason)}};
  });
  json["recommendation"] = recommendation_json(comparison, recommendation);
  return document(json);
}

} // namespace ppsim::traces
