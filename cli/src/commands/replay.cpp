// ppsim replay: a schedule run for real, shown like a simulated one.

#include "ppsim/viz/replay.hpp"

#include "ppsim/traces/chrome_trace.hpp"
#include "ppsim/traces/report_json.hpp"
#include "ppsim/traces/run_file.hpp"
#include "ppsim/viz/svg.hpp"
#include "ppsim/viz/text.hpp"

#include <fmt/format.h>

#include <array>

#include "../commands.hpp"
#include "../files.hpp"
#include "../outputs.hpp"
#include "../replaying.hpp"
#include "../terminal.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::cli {
namespace {

using Json = nlohmann::ordered_json;

/// A run and its views: the median step stands for all.
struct Replayed {
  Replay replay;
  MeasuredRun run;
  Timeline timeline;
  Report report;
  Validation validation;
};

Json proof_json(const Proof& proof) {
  return {{"holds", proof.holds()},         {"bit_equal", proof.bit_equal},
          {"same_order", proof.same_order}, {"gradient_error", proof.gradient_error},
          {"loss_error", proof.loss_error}, {"tolerance", proof.tolerance},
          {"losses", Json(proof.losses)}};
}

std::string replay_json(const Replayed& result, const Inputs& inputs) {
  Json json = Json::parse(traces::report_json(result.replay.graph, result.timeline, result.report, inputs.tasks));
  const MeasuredRun& run = result.run;
  const Validation& validation = result.validation;
  Json replay{{"backend", run.facts.backend},     {"compute", run.facts.compute},
              {"transport", run.facts.transport}, {"machine", run.facts.machine},
              {"timed", run.facts.timed},         {"warmup", result.replay.options.warmup},
              {"steps_ns", Json::array()},        {"step_ns", validation.step.measured.count()},
              {"contended", validation.contended}};
  for (const Duration step : validation.steps) replay["steps_ns"].push_back(step.count());
  replay["predicted_step_ns"] = result.replay.predicts ? Json(validation.step.predicted.count()) : Json(nullptr);
  replay["proof"] = run.proof ? proof_json(*run.proof) : Json(nullptr);
  replay["memory_as_predicted"] = validation.knows_memory ? Json(validation.same_peaks()) : Json(nullptr);
  for (std::size_t stage = 0; stage < run.stages.size(); ++stage) {
    Json memory{{"stage", stage}};
    if (validation.knows_memory) memory["predicted_peak_bytes"] = validation.stages[stage].predicted_peak.count();
    memory["measured_peak_bytes"] = run.stages[stage].peak_bytes.count();
    memory["buffer_bytes"] = run.stages[stage].buffer_bytes.count();
    replay["memory"].push_back(std::move(memory));
  }
  json["replay"] = std::move(replay);
  return json.dump(2) + "\n";
}

constexpr std::array outputs{
    Output<Replayed>{"output", &Inputs::output,
                     [](const Replayed& result, const Inputs&) { return traces::write_run(result.run); }},
    Output<Replayed>{"json", &Inputs::json, replay_json},
    Output<Replayed>{"svg", &Inputs::svg,
                     [](const Replayed& result, const Inputs&) {
                       return viz::svg_gantt(result.replay.graph, result.timeline, result.report);
                     }},
    Output<Replayed>{"trace", &Inputs::trace,
                     [](const Replayed& result, const Inputs&) {
                       return traces::chrome_trace(result.replay.graph, result.timeline, result.report);
                     }},
};

Replayed view(Replay replay, MeasuredRun run) {
  Timeline timeline = run.steps[median_step(run)];
  attribute(replay.graph, timeline);
  Report report = analyse(replay.graph, timeline);
  report.measured = describe(run);
  constexpr double any = 1e9; // no judgement of the time is asked for
  Validation validation = validate_run(replay.graph, replay.prediction, run, any);
  return {std::move(replay), std::move(run), std::move(timeline), std::move(report), std::move(validation)};
}

/// A run that gave other results, or took other memory, than it has to.
ExitCode judge(const Replayed& result) {
  ExitCode code = ExitCode::done;
  if (const auto& proof = result.run.proof; proof && !proof->holds()) {
    fmt::print(stderr, "ppsim: the results are not those of a run that does one task at a time\n");
    code = ExitCode::no;
  }
  if (result.validation.knows_memory && !result.validation.same_peaks()) {
    fmt::print(stderr, "ppsim: the memory is not what was predicted\n");
    code = ExitCode::no;
  }
  if (result.report.overflow) code = ExitCode::no; // the report says where
  return code;
}

ExitCode run(const Inputs& inputs) {
  const bool stdout_taken = uses_stdout(outputs, inputs);
  require_writable(outputs, inputs);
  Replay replay = prepare_replay(inputs);
  if (replay.backend->is_leader())
    for (const std::string& note : replay.notes) fmt::print(stderr, "ppsim: note: {}\n", note);
  std::optional<MeasuredRun> run = run_replay(replay);
  if (!run) return ExitCode::done; // another process has it
  run->facts.command = inputs.command;
  const Replayed result = view(std::move(replay), std::move(*run));
  write_outputs(outputs, result, inputs);
  if (!stdout_taken) {
    const viz::TextOptions options = terminal_options();
    std::string text = viz::text_report(result.replay.graph, result.timeline, result.report, options);
    if (inputs.tasks) text.append("\n").append(viz::task_table(result.replay.graph, result.timeline));
    text.append("\n").append(
        viz::replay_text(result.run, result.validation,
                         {.warmup = result.replay.options.warmup, .predicts = result.replay.predicts}, options));
    write_file("-", text, "report");
  }
  return judge(result);
}

constexpr std::array sections{Section::pipeline, Section::model,    Section::costs,    Section::communication,
                              Section::memory,   Section::scenario, Section::workload, Section::replay};
constexpr std::array<std::string_view, 4> extra{"json", "svg", "trace", "tasks"};
constexpr std::array<std::string_view, 2> except{"timeline", "tolerance"};
constexpr std::array examples{
    Example{"ppsim replay --stages 2 --mb 8 --schedule 1f1b",
            "train a small model on two cores; results and memory are compared with what they have to be"},
    Example{"ppsim replay --scenario costs.toml --schedule zb-h1 --mb 8 -o run.json --svg run.svg",
            "with what 'ppsim calibrate' measured: also says how far the prediction was off"},
    Example{"ppsim replay --stages 8 --mb 16 --forward 4ms --backward 8ms --compute timed",
            "tasks that last as long as is said, for more stages than there are cores"},
    Example{"mpirun -n 4 ppsim replay --backend mpi --stages 4 --mb 8", "a process per stage"},
};

} // namespace

extern const Command replay_command;
const Command replay_command{
    .name = "replay",
    .summary = "run a schedule for real, and show what was measured (exit status 3 when results or memory are not as "
               "they have to be)",
    .usage = "ppsim replay --stages P --mb M [--schedule NAME] [--scenario FILE] [--backend NAME] [-o RUN.json] "
             "[options]",
    .argument = "",
    .argument_help = "",
    .sections = sections,
    .extra = extra,
    .except = except,
    .examples = examples,
    .run = run};

} // namespace ppsim::cli
