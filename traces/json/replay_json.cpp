#include "ppsim/measured/validation.hpp"
#include "ppsim/study/run_report.hpp"
#include "ppsim/traces/json.hpp"

#include <utility>

#include "json_parts.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::traces {
namespace {

Json memory_json(const MeasuredRun& run, const Validation& validation) {
  Json list = Json::array();
  for (std::size_t stage = 0; stage < run.stages.size(); ++stage) {
    Json memory{{"stage", stage}};
    if (validation.knows_memory) memory["predicted_peak_bytes"] = validation.stages[stage].predicted_peak.count();
    memory["measured_peak_bytes"] = run.stages[stage].peak_bytes.count();
    memory["buffer_bytes"] = run.stages[stage].buffer_bytes.count();
    list.push_back(std::move(memory));
  }
  return list;
}

} // namespace

std::string replay_json(const TaskGraph& graph, const Timeline& timeline, const RunReport& report,
                        const MeasuredRun& run, const Validation& validation, const ReplayFacts& facts, bool tasks) {
  Json replay{{"backend", run.facts.backend},
              {"compute", run.facts.compute},
              {"transport", run.facts.transport},
              {"machine", run.facts.machine},
              {"timed", run.facts.timed},
              {"warmup", facts.warmup},
              {"steps_ns", in_nanoseconds(validation.steps)},
              {"step_ns", validation.step.measured.count()},
              {"contended", validation.contended},
              {"predicted_step_ns", facts.predicts ? Json(validation.step.predicted.count()) : Json(nullptr)},
              {"proof", judged_proof_json(run.proof)},
              {"memory_as_predicted", validation.knows_memory ? Json(validation.same_peaks()) : Json(nullptr)},
              {"memory", memory_json(run, validation)}};
  if (!facts.drawn_steps.empty()) replay["drawn_steps_ns"] = in_nanoseconds(facts.drawn_steps);
  // The report may be long, so its text is continued with a document without its brace, instead of parsing it.
  return without_end(report_json(graph, timeline, report, tasks)) + "," + document({{"replay", replay}}).substr(1);
}

} // namespace ppsim::traces
