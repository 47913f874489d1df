#include "ppsim/base/words.hpp"
#include "ppsim/plan/settings.hpp"
#include "ppsim/traces/plan.hpp"

#include <fmt/format.h>

#include "json_parts.hpp"

namespace ppsim::traces {
namespace {

Json configuration_json(const Configuration& configuration) {
  Json json = Json::object();
  for (const auto& [name, value] : configuration.options()) json[std::string{name}] = value;
  return json;
}

Json row_json(const PlanRow& row) {
  Json json{{"options", configuration_json(row.configuration)}};
  add_metrics(json, row.report);
  json["peak_bytes"] = row.report.peak_bytes().count();
  json["fits"] = !row.report.overflow;
  json["demands"] = demands_json(row.demands);
  Json terms = Json::object();
  for (const PlanTerm& term : terms_of(row.report)) terms[std::string{term.name}] = term.time.count();
  json["terms_ns"] = std::move(terms);
  json["equals"] = list_of(row.equals, [&](const Degrees& degrees) {
    Configuration equal = row.configuration;
    equal.degrees = degrees;
    return configuration_json(equal);
  });
  return json;
}

Json row_or_null(const std::optional<PlanRow>& row) {
  return row ? row_json(*row) : Json(nullptr);
}

Json change_json(const OtherConstants& change) {
  return {{"what", change.what},
          {"stays", change.stays()},
          {"row_1_step_time_ns", change.winner ? Json(change.winner->report.step_time.count()) : Json(nullptr)},
          {"best", row_or_null(change.best)}};
}

} // namespace

std::string plan_json(const PlanRequest& request, const RankedPlan& plan, const PlanAnswers& answers,
                      std::span<const std::vector<std::string>> arguments, std::span<const std::string> lines) {
  Json json{{"schema", 1},
            {"gpus", request.gpus},
            {"global_batch", request.global_batch},
            {"framework", to_string(request.framework)},
            {"configurations", plan.configurations},
            {"simulated", plan.simulated},
            {"too_large", plan.too_large}};
  json["memory_limit_bytes"] = plan.memory_limit ? Json(plan.memory_limit->count()) : Json(nullptr);
  Json rows = Json::array();
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    Json row{{"arguments", arguments[i]}, {"flags", lines[i]}};
    row.update(row_json(plan.rows[i]));
    if (const std::string settings = settings_for(request.framework, request, plan.rows[i].configuration);
        !settings.empty())
      row["settings"] = settings;
    rows.push_back(std::move(row));
  }
  json["rows"] = std::move(rows);
  json["simpler"] = row_or_null(answers.simpler);
  json["balanced"] = nullptr;
  if (answers.balanced) {
    json["balanced"] = row_json(answers.balanced->row);
    json["balanced"]["row"] = answers.balanced->position + 1;
  }
  json["front"] = list_of(answers.front, [](const PlanFrontPoint& point) {
    Json front = row_json(point.row);
    front["memory_limit_bytes"] = point.limit.count();
    return front;
  });
  json["other_constants"] = list_of(answers.changes, change_json);
  if (plan.closest) json["closest"] = row_json(*plan.closest);
  if (plan.refused > 0) json["refused"] = {{"simulated", plan.refused}, {"reason", as_flags(plan.refusal)}};
  return json.dump(2) + "\n";
}

namespace {

/// "cp=2 dp=16 mbs=2; cp=4 ...".
std::string equals_cell(const PlanRow& row) {
  std::vector<std::string> words;
  words.reserve(row.equals.size());
  for (const Degrees& each : row.equals)
    words.push_back(fmt::format("cp={} dp={} mbs={}", each.context, each.data, each.microbatch_size));
  return joined(words, "; ");
}

} // namespace

std::string plan_csv(const RankedPlan& plan) {
  std::string text =
      "row,ranked_by,step_time_ns,mfu,tokens_per_second_per_device,peak_bytes,tensor_parallel,context_parallel,"
      "expert_parallel,data_parallel,stages,microbatch_size,mb,schedule,vpp,recompute,recompute_layers,"
      "zero_stage,sequence_parallel,layout,split,equals\n";
  constexpr std::array<std::string_view, 3> kinds{"none", "selective", "full"};
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    const PlanRow& row = plan.rows[i];
    const Configuration& configuration = row.configuration;
    const RunReport& report = row.report;
    const Degrees& degrees = configuration.degrees;
    const auto metric = [&report](std::string_view tag) {
      const auto value = find_metric(tag).value(report);
      return value ? fmt::format("{}", *value) : std::string{};
    };
    const Keeping& keeping = configuration.keeping;
    const std::size_t kind = keeping.kind == RecomputeKind::none ? 0 : keeping.kind == RecomputeKind::full ? 2 : 1;
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", i + 1, row.figure,
                        report.step_time.count(), metric("mfu"), metric("tokens_per_second_per_device"),
                        report.peak_bytes().count(), degrees.tensor, degrees.context, degrees.expert, degrees.data,
                        degrees.stages, degrees.microbatch_size, degrees.microbatches, configuration.schedule->name,
                        configuration.chunks, kinds[kind],
                        keeping.block_layers > 0 ? fmt::format("{}", keeping.block_layers) : std::string{},
                        degrees.zero_stage, degrees.sequence_parallel ? "on" : "off", csv_cell(configuration.layout),
                        to_string(configuration.split), csv_cell(equals_cell(row)));
  }
  return text;
}

} // namespace ppsim::traces
