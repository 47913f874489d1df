#pragma once
// What JSON documents have in common.

#include "ppsim/sim/report.hpp"

#include <string>

#include <nlohmann/json.hpp>

namespace ppsim::traces {

using Json = nlohmann::ordered_json;

/// All metrics under their tags.
inline void add_metrics(Json& json, const Report& report) {
  for (const Metric& metric : metrics())
    json[std::string{metric.tag}] =
        metric.time != nullptr ? Json(metric.time(report).count()) : Json(metric.ratio(report));
  if (report.steady_state) json["step_time_from"] = "steady_state";
}

/// As text that ends with a newline. Text that is no UTF-8 (a title, say) is shown with replacement characters rather
/// than refused.
inline std::string document(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace ppsim::traces
