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

/// Rows as they are written.
class Rows {
public:
  Rows(const PlanRequest& request, const RunWordsOf& words_of) : request_{request}, words_of_{words_of} {}

  [[nodiscard]] Json of(const PlanRow& row) const {
    Json json = run_by(row.configuration);
    if (std::string settings = settings_for(request_.framework, request_, row.configuration); !settings.empty())
      json["settings"] = std::move(settings);
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
      return run_by(equal);
    });
    return json;
  }
  [[nodiscard]] Json of(const std::optional<PlanRow>& row) const { return row ? of(*row) : Json(nullptr); }
  [[nodiscard]] Json of(const std::optional<BalancedRow>& balanced) const {
    if (!balanced) return nullptr;
    Json json = of(balanced->row);
    json["row"] = balanced->position + 1;
    return json;
  }
  [[nodiscard]] Json of(const PlanFrontPoint& point) const {
    Json json = of(point.row);
    json["memory_limit_bytes"] = point.limit.count();
    return json;
  }
  [[nodiscard]] Json of(const OtherConstants& change) const {
    return {{"what", change.what},
            {"stays", change.stays()},
            {"row_1_step_time_ns", change.winner ? Json(change.winner->report.step_time.count()) : Json(nullptr)},
            {"best", of(change.best)}};
  }

private:
  [[nodiscard]] Json run_by(const Configuration& configuration) const {
    RunWords words = words_of_(configuration);
    return {{"arguments", std::move(words.arguments)},
            {"flags", std::move(words.line)},
            {"options", configuration_json(configuration)}};
  }

  const PlanRequest& request_;
  const RunWordsOf& words_of_;
};

} // namespace

std::string plan_json(const PlanRequest& request, const RankedPlan& plan, const PlanAnalysis& analysis,
                      const RunWordsOf& words_of) {
  const Rows rows{request, words_of};
  const auto of = [&](const auto& each) { return rows.of(each); };
  Json json{{"schema", 1},
            {"gpus", request.gpus},
            {"global_batch", request.global_batch},
            {"framework", to_string(request.framework)},
            {"configurations", plan.configurations},
            {"simulated", plan.simulated},
            {"too_large", plan.too_large}};
  json["memory_limit_bytes"] = plan.memory_limit ? Json(plan.memory_limit->count()) : Json(nullptr);
  json["rows"] = list_of(plan.rows, of);
  json["simpler"] = rows.of(analysis.simpler);
  json["balanced"] = rows.of(analysis.balanced);
  json["front"] = list_of(analysis.front, of);
  json["other_constants"] = list_of(analysis.changes, of);
  if (plan.closest) json["closest"] = rows.of(plan.closest);
  if (plan.refused > 0) json["refused"] = {{"simulated", plan.refused}, {"reason", as_flags(plan.refusal)}};
  return json.dump(2) + "\n";
}

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
                        to_string(configuration.split), csv_cell(equals_words(row)));
  }
  return text;
}

} // namespace ppsim::traces
