#pragma once
// Shared parts of JSON documents.

#include "ppsim/base/error.hpp"
#include "ppsim/measured/measured.hpp"
#include "ppsim/measured/variable_work.hpp"
#include "ppsim/study/comparison.hpp"
#include "ppsim/study/run_report.hpp"

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace ppsim::traces {

using Json = nlohmann::ordered_json;

/// All known metrics, by tag.
inline void add_metrics(Json& json, const RunReport& report) {
  for (const Metric& metric : metrics())
    if (metric.time != nullptr)
      json[std::string{metric.tag}] = metric.time(report).count();
    else if (const auto value = metric.value(report))
      json[std::string{metric.tag}] = *value;
  if (report.step_time_kind == StepTime::Kind::steady_state) json["step_time_from"] = "steady_state";
}

inline Json demands_json(const Demands& demands) {
  return {{"chunks_per_stage", demands.chunks_per_stage},
          {"splits_backward", demands.splits_backward},
          {"overlaps_pairs", demands.overlaps_pairs},
          {"folds", demands.folds},
          {"asynchronous", demands.asynchronous}};
}

/// The results of `make` for `items`.
template <class Items, class Make>
Json list_of(const Items& items, Make make) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(make(item));
  return list;
}

inline Json in_nanoseconds(const std::vector<Duration>& times) {
  return list_of(times, [](Duration time) { return time.count(); });
}

/// JSON cannot express a NaN, which a loss may be.
inline Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

inline Json measured_jitter_json(const MeasuredJitter& measured) {
  return {{"run", measured.source},
          {"steps", measured.steps},
          {"apart", measured.apart},
          {"step_deviation", number(measured.of_step)},
          {"stage_deviation", number(measured.of_stage)},
          {"microbatch_deviation", number(measured.of_microbatch)},
          {"task_deviation", number(measured.of_task)}};
}

inline Json jitter_json(const Jitter& jitter) {
  Json json;
  if (jitter.measured)
    json["from"] = measured_jitter_json(*jitter.measured);
  else
    json["share"] = factor_of(jitter.ppm);
  json["samples"] = jitter.samples;
  json["seed"] = jitter.seed;
  json["copies"] = jitter.copies;
  return json;
}

inline Json compared_json(const ComparedTime& compared) {
  return {{"predicted_ns", compared.predicted.count()},
          {"measured_ns", compared.measured.count()},
          {"error", number(compared.error())}};
}

inline Json variable_work_json(const VariableWork& work) {
  return {{"first_step", work.first},
          {"learned_steps", work.learned},
          {"predicted_steps", work.steps},
          {"samples", work.samples},
          {"seed", work.seed},
          {"together", work.together},
          {"apart", work.apart},
          {"mean", compared_json(work.mean)},
          {"p50", compared_json(work.p50)},
          {"p95", compared_json(work.p95)},
          {"p99", compared_json(work.p99)},
          {"mean_error", number(work.mean_error)},
          {"constant_ns", work.constant.count()},
          {"constant_mean_error", number(work.constant_mean_error)},
          {"added_ns", work.added().count()},
          {"in_replicas_ns", work.in_replicas.count()},
          {"waits_ns", work.waits.count()},
          {"constant_waits_ns", work.constant_waits.count()}};
}

/// A proof; null if there is none.
inline Json proof_json(const std::optional<Proof>& proof) {
  if (!proof) return nullptr;
  return Json{{"same_order", proof->same_order},
              {"bit_equal", proof->bit_equal},
              {"gradient_error", number(proof->gradient_error)},
              {"loss_error", number(proof->loss_error)},
              {"tolerance", number(proof->tolerance)},
              {"losses", list_of(proof->losses, number)}};
}

/// Also whether it holds.
inline Json judged_proof_json(const std::optional<Proof>& proof) {
  if (!proof) return nullptr;
  Json json{{"holds", proof->holds()}};
  json.update(proof_json(proof));
  return json;
}

/// The text of a document, ending with a newline. Invalid UTF-8 (in a title, for example) is replaced rather than
/// refused.
inline std::string document(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// A document without its end, to be continued after its last value.
inline std::string without_end(std::string document) {
  constexpr std::string_view end = "\n}\n";
  PPSIM_ASSERT(document.ends_with(end));
  document.resize(document.size() - end.size());
  return document;
}

} // namespace ppsim::traces
