#include "ppsim/study/synthesize.hpp"
#include "ppsim/traces/json.hpp"

#include "json_parts.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::traces {
namespace {

std::string_view proven_by(const SynthesizedOrder& order) {
  if (order.by_microbatch) return "relaxation";
  return order.found.cases.empty() ? "windows" : "cases";
}

Json order_json(const SynthesizedOrder& order) {
  const std::string_view length = order.objective == Objective::step_time ? "step_time_ns" : "makespan_ns";
  Json json{{"placement", order.placement.name},
            {"vpp", order.placement.vpp},
            {"objective", to_string(order.objective)},
            {"makespan_ns", order.makespan.count()},
            {"lower_bound_ns", order.bound.count()},
            {"gap", order.gap()},
            {"proven_by", proven_by(order)},
            {"bound_of", to_string(order.bound_of)},
            {"effort", order.found.effort}};
  json[length] = order.length.count();
  if (order.simulated) json["simulated_ns"] = order.deadlocks() ? Json{} : Json(order.simulated->count());
  json["best_named"] = order.best_named
                           ? Json{{"schedule", order.best_named->name},
                                  {order.simulated ? "simulated_ns" : length, order.best_named->length.count()}}
                           : Json{};
  json["progress"] = list_of(order.found.history, [length](const synthesis::Milestone& at) {
    return Json{{"steps", at.steps}, {length, at.makespan}, {"lower_bound_ns", at.bound}};
  });
  return json;
}

} // namespace

std::string synthesis_json(const Synthesis& synthesis, std::uint64_t seed, const TaskGraph& graph,
                           const Timeline& timeline, const RunReport& report) {
  Json json{{"schema", 1}, {"seed", seed}};
  json.update(order_json(synthesis.orders.front()));
  json["placements"] = list_of(synthesis.orders, order_json);
  json["report"] = Json::parse(report_json(graph, timeline, report, false));
  return json.dump(2) + "\n";
}

std::string front_json(std::span<const FrontPoint> front, const Axis& axis, std::uint64_t seed) {
  const auto point_json = [](const FrontPoint& point) {
    Json json{{"value", point.value}, {"placements", list_of(point.synthesis.orders, order_json)}};
    if (!point.refusal.empty()) json["refusal"] = point.refusal;
    return json;
  };
  const Json json{{"schema", 1}, {"vary", axis.option}, {"seed", seed}, {"front", list_of(front, point_json)}};
  return json.dump(2) + "\n";
}

} // namespace ppsim::traces
