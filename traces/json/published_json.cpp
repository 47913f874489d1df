#include "ppsim/base/words.hpp"
#include "ppsim/measured/published.hpp"
#include "ppsim/traces/json.hpp"

#include <fmt/format.h>

#include "json_parts.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::traces {
namespace {

/// Null if no run has an error.
Json half_json(const ErrorFigures& figures) {
  if (figures.runs == 0) return nullptr;
  return {{"runs", figures.runs}, {"median_error", number(figures.median)}, {"bias", number(figures.bias)}};
}

Json held_name(const PublishedPrediction& held) {
  return {{"set", held.run.set}, {"run", held.run.name}};
}

Json figures_json(const ErrorFigures& figures, const PublishedPrediction* worst, std::optional<double> worst_error) {
  const bool none = figures.runs == 0;
  return {{"median_error", none ? Json(nullptr) : number(figures.median)},
          {"worst_error", none ? Json(nullptr) : number(worst_error.value_or(0))},
          {"worst_run", none ? Json(nullptr) : held_name(*worst)},
          {"bias", none ? Json(nullptr) : number(figures.bias)}};
}

/// `kind`: "set" or "device".
Json published_group_json(const PublishedErrors& errors, const PublishedGroup& group, std::string_view kind) {
  const PublishedPrediction* const worst = group.step.runs == 0 ? nullptr : &errors.runs[group.step.worst];
  Json json{{std::string{kind}, group.name}};
  if (kind == "device") json["sets"] = group.sets;
  json["runs"] = group.step.runs;
  json["refused"] = group.refused;
  json.update(figures_json(group.step, worst, worst == nullptr ? std::nullopt : std::optional{worst->error()}));
  json["fit"] = half_json(group.fit);
  json["check"] = half_json(group.check);
  json["peak"] = nullptr;
  if (group.peak.runs == 0) return json;
  const PublishedPrediction& worst_peak = errors.runs[group.peak.worst];
  json["peak"] = Json{{"runs", group.peak.runs}};
  json["peak"].update(figures_json(group.peak, &worst_peak, worst_peak.peak_error()));
  return json;
}

Json held_json(const PublishedPrediction& held) {
  const PublishedRun& run = held.run;
  const bool is_known = !held.refused;
  const std::optional<double> peak_error = held.peak_error();
  Json json{{"set", run.set}, {"run", run.name}, {"source", run.source}};
  json["half"] = run.half == Half::none ? Json(nullptr) : Json(to_string(run.half));
  json["device"] = held.device.empty() ? Json(nullptr) : Json(held.device);
  json["predicted_ns"] = is_known ? Json(held.step.count()) : Json(nullptr);
  json["measured_ns"] = run.step.count();
  json["error"] = is_known ? number(held.error()) : Json(nullptr);
  json["predicted_peak_bytes"] = is_known && held.peak > Bytes{0} ? Json(held.peak.count()) : Json(nullptr);
  json["measured_peak_bytes"] = run.peak ? Json(run.peak->count()) : Json(nullptr);
  json["fits"] = is_known ? Json(held.fits) : Json(nullptr);
  json["peak_error"] = peak_error ? number(*peak_error) : Json(nullptr);
  json["refused"] =
      held.refused ? Json(as_flags(fmt::format("{}: {}", held.refused->where, held.refused->what))) : Json(nullptr);
  return json;
}

} // namespace

std::string published_json(const PublishedErrors& errors) {
  const auto groups = [&errors](const std::vector<PublishedGroup>& of, std::string_view kind) {
    return list_of(of, [&](const PublishedGroup& group) { return published_group_json(errors, group, kind); });
  };
  return document({{"schema", 1},
                   {"holds", errors.tolerance ? Json(errors.holds()) : Json(nullptr)},
                   {"tolerance", errors.tolerance ? Json(*errors.tolerance) : Json(nullptr)},
                   {"sets", groups(errors.sets, "set")},
                   {"devices", groups(errors.devices, "device")},
                   {"runs", list_of(errors.runs, held_json)}});
}

} // namespace ppsim::traces
