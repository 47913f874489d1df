#include "ppsim/measured/explanation.hpp"
#include "ppsim/traces/json.hpp"

#include "json_parts.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::traces {
namespace {

Json step_json(const StepTimes& times) {
  return {{"p5_ns", times.p5.count()},
          {"median_ns", times.median.count()},
          {"p95_ns", times.p95.count()},
          {"mean_ns", times.mean.count()},
          {"first_quarter_ns", times.first.count()},
          {"last_quarter_ns", times.last.count()}};
}

Json time_json(const std::array<Duration, label_count>& time) {
  Json json = Json::object();
  for (std::size_t label = 0; label < label_count; ++label)
    json[std::string{to_string(label_at(label))}] = time[label].count();
  return json;
}

Json suspect_json(const Suspect& suspect) {
  const auto pass_json = [](const PassComparison& pass) {
    return Json{{"pass", std::string{letter(pass.pass)}},
                {"mean_ns", pass.own.count()},
                {"others_mean_ns", pass.others.count()}};
  };
  Json json{{"replica", suspect.replica},
            {"stage", index(suspect.stage)},
            {"busy_ns", suspect.own.count()},
            {"others_busy_ns", suspect.others.count()},
            {"passes", list_of(suspect.passes, pass_json)}};
  if (suspect.before > Duration{0})
    json["tasks"] = {{"before_ns", suspect.before.count()}, {"after_ns", suspect.after.count()}};
  return json;
}

Json finding_json(const Finding& finding) {
  Json json{{"reason", to_string(finding.reason)}, {"before_ns", finding.before.count()},
            {"after_ns", finding.after.count()},   {"gain_ns", finding.gain().count()},
            {"share", number(finding.share)},      {"suspects", list_of(finding.suspects, suspect_json)}};
  if (finding.reason == Reason::heavy_stage) json["may_be_slow"] = finding.may_be_slow;
  if (finding.reason == Reason::transfers) json["transfer_ns"] = finding.own.count();
  if (finding.reason == Reason::slow_link)
    json["link"] = {{"replica", finding.replica},         {"stages", {index(finding.stage), index(finding.other)}},
                    {"transfer_ns", finding.own.count()}, {"others_transfer_ns", finding.others.count()},
                    {"slow_links", finding.links},        {"everywhere", finding.everywhere}};
  return json;
}

Json stage_json(const StageExplanation& stage, std::size_t number_of_stage) {
  const auto pass_json = [](const PassStatistics& pass) {
    return Json{{"pass", std::string{letter(pass.pass)}},
                {"tasks", pass.tasks},
                {"mean_ns", pass.mean.count()},
                {"spread_ns", pass.spread.count()}};
  };
  return {{"stage", number_of_stage},
          {"busy_ns", stage.busy.count()},
          {"time_ns", time_json(stage.time)},
          {"waits_for_replicas_ns", stage.waits_for_replicas.count()},
          {"passes", list_of(stage.passes, pass_json)}};
}

Json replica_json(const ReplicaExplanation& replica) {
  Json json{{"step", step_json(replica.step)},
            {"tasks_ns", replica.tasks.count()},
            {"simulated_tasks_ns", replica.simulated.count()},
            {"slowest_in", replica.slowest_in},
            {"median_step",
             {{"step", replica.median_step},
              {"bubble_ratio", number(replica.median_bubble)},
              {"time_ns", time_json(replica.median_time)}}},
            {"per_stage", Json::array()}};
  for (std::size_t stage = 0; stage < replica.stages.size(); ++stage)
    json["per_stage"].push_back(stage_json(replica.stages[stage], stage));
  return json;
}

} // namespace

std::string explanation_json(std::span<const MeasuredRun> replicas, const Explanation& explanation) {
  const Shape& shape = explanation.shape;
  const auto part_json = [](const StepPart& part) {
    return Json{{"reason", to_string(part.reason)}, {"time_ns", part.time.count()}};
  };
  Json json{{"schema", 1},
            {"schedule", replicas.front().schedule.name()},
            {"stages", shape.stages},
            {"microbatches", shape.microbatches},
            {"vpp", shape.vpp},
            {"measured", describe(replicas.front())},
            {"contended", explanation.contended},
            {"unaligned", explanation.unaligned},
            {"clock_error_ns", explanation.clock_error ? Json(explanation.clock_error->count()) : Json(nullptr)},
            {"steps", explanation.steps},
            {"step", step_json(explanation.step)},
            {"tasks", step_json(explanation.tasks)},
            {"bubble_ratio", number(explanation.bubble)},
            {"schedule_bubble", number(explanation.schedule_bubble)},
            {"simulated_step_ns", explanation.simulated.count()},
            {"model_error", number(explanation.model_error)},
            {"own_error", number(explanation.own_error)},
            {"findings", list_of(explanation.findings, finding_json)},
            {"parts", list_of(explanation.parts, part_json)},
            {"time_ns", time_json(explanation.time)},
            {"waits_for_replicas_ns", explanation.waits_for_replicas.count()},
            {"per_replica", list_of(explanation.replicas, replica_json)}};
  for (const HeldOut& held : explanation.held_out)
    json["held_out"].push_back({{"calibrated_steps", held.calibrated},
                                {"transfer_model", to_string(held.transfer)},
                                {"mean_error", number(held.mean_error)},
                                {"step_mean_error", number(held.step_mean_error)},
                                {"own_error", number(held.own_error)},
                                {"after_tasks", number(held.after_tasks)},
                                {"errors", held.errors}});
  if (explanation.variable) json["variable_work"] = variable_work_json(*explanation.variable);
  return document(json);
}

} // namespace ppsim::traces
