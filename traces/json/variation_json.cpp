#include "ppsim/study/run_report.hpp"
#include "ppsim/study/variation.hpp"
#include "ppsim/traces/json.hpp"

#include "json_parts.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::traces {
namespace {

std::string_view unit_name(Axis::Unit unit) {
  switch (unit) {
  case Axis::Unit::time:
    return "ns";
  case Axis::Unit::bytes:
    return "bytes";
  case Axis::Unit::rate:
    return "bytes_per_second";
  case Axis::Unit::factor:
    return "millionths";
  case Axis::Unit::count:
    break;
  }
  return "count";
}

Json line_json(const VariationLine& line, StepFigure figure) {
  const auto sample_json = [figure](const std::optional<Sample>& sample) {
    return sample ? Json{{metric_tag(figure), sample->step_time.count()},
                         {"microbatches", sample->microbatches},
                         {"peak_bytes", sample->peak_bytes.count()},
                         {"fits", sample->fits}}
                  : Json(nullptr);
  };
  return {{"name", line.name}, {"asynchronous", line.asynchronous}, {"samples", list_of(line.samples, sample_json)}};
}

Json stretch_json(const Variation& variation, const BestStretch& stretch) {
  Json json{{"from", stretch.from}, {"to", stretch.to}, {"name", nullptr}};
  if (stretch.line)
    json["name"] = variation.lines[*stretch.line].name;
  else
    json["none_because"] = stretch.none_because == NoneBecause::none_applies ? "none applies" : "none fits";
  return json;
}

} // namespace

std::string variation_json(const Variation& variation) {
  const Axis& axis = variation.axis;
  Json json{{"schema", 1}};
  if (!variation.title.empty()) json["title"] = variation.title;
  if (!variation.source.empty()) json["source"] = variation.source;
  json["vary"] = {{"option", axis.option},
                  {"unit", unit_name(axis.unit)},
                  {"from", axis.from},
                  {"to", axis.to},
                  {"from_flag", axis.flag_value(axis.from)},
                  {"to_flag", axis.flag_value(axis.to)},
                  {"logarithmic", axis.logarithmic()},
                  {"precision", axis.values.empty() ? Json(variation.precision) : Json(nullptr)}};
  if (variation.stages > 0) json["stages"] = variation.stages;
  if (variation.microbatches > 0) json["microbatches"] = variation.microbatches;
  json["per_microbatch"] = variation.per_microbatch;
  if (variation.figure != StepFigure::step_time) json["ranked_by"] = metric_tag(variation.figure);
  json["points"] = variation.points;
  json["lines"] =
      list_of(variation.lines, [&](const VariationLine& line) { return line_json(line, variation.figure); });
  json["best"] = list_of(variation.best, [&](const BestStretch& stretch) { return stretch_json(variation, stretch); });
  json["crossings"] = list_of(variation.crossings, [&](const Crossing& crossing) {
    return Json{{"no_slower_until", crossing.until},
                {"slower_from", crossing.from},
                {"name", variation.lines[crossing.first].name},
                {"than", variation.lines[crossing.second].name}};
  });
  return document(json);
}

} // namespace ppsim::traces
