// ppsim replay: runs a schedule for real and reports it like a simulated one.

#include "ppsim/viz/replay.hpp"

#include "ppsim/study/run_report.hpp"
#include "ppsim/traces/chrome_trace.hpp"
#include "ppsim/traces/json.hpp"
#include "ppsim/traces/run_file.hpp"
#include "ppsim/viz/svg.hpp"
#include "ppsim/viz/text.hpp"

#include <fmt/format.h>

#include <array>

#include "files/chart.hpp"
#include "files/files.hpp"
#include "files/outputs.hpp"
#include "options/commands.hpp"
#include "runs/pages.hpp"
#include "runs/replaying.hpp"
#include "terminal/console.hpp"
#include "terminal/terminal.hpp"

namespace ppsim::cli::replay_command {
namespace {

/// A run with its views, which show the median step.
struct Replayed {
  Replay replay;
  MeasuredRun run;
  Timeline timeline;
  RunReport report;
  Validation validation;
};

ReplayFacts facts_of(const Replay& replay) {
  return {.warmup = replay.options.warmup, .predicts = replay.predicts, .drawn_steps = replay.drawn_steps};
}

std::string report_of(const Replayed& result, const viz::TextOptions& options, bool tasks) {
  std::string text = viz::text_report(result.replay.graph, result.timeline, result.report, options);
  if (tasks) text.append("\n").append(viz::task_table(result.replay.graph, result.timeline));
  return text.append("\n").append(viz::replay_text(result.run, result.validation, facts_of(result.replay), options));
}

std::string page(const Replayed& result, const Inputs& /*inputs*/) {
  const Replay& replay = result.replay;
  return measured_page({.command = "replay",
                        .text = report_of(result, page_text, false),
                        .json = traces::replay_json(replay.graph, result.timeline, result.report, result.run,
                                                    result.validation, facts_of(replay), false)},
                       replay.graph, replay.predicts ? &replay.prediction : nullptr, result.timeline, result.report);
}

constexpr std::array outputs{
    Output<Replayed>{"output", &Inputs::output,
                     [](const Replayed& result, const Inputs&) { return traces::write_run(result.run); }},
    Output<Replayed>{"json", &Inputs::json,
                     [](const Replayed& result, const Inputs& inputs) {
                       const Replay& replay = result.replay;
                       return traces::replay_json(replay.graph, result.timeline, result.report, result.run,
                                                  result.validation, facts_of(replay), inputs.tasks);
                     }},
    Output<Replayed>{"svg", &Inputs::svg,
                     [](const Replayed& result, const Inputs& inputs) {
                       return viz::svg_gantt(result.replay.graph, result.timeline, result.report, memory_lanes(inputs));
                     }},
    Output<Replayed>{"html", &Inputs::html, page},
    Output<Replayed>{"trace", &Inputs::trace,
                     [](const Replayed& result, const Inputs&) {
                       return traces::chrome_trace(result.replay.graph, result.timeline, result.report);
                     }},
};

Replayed view(Replay replay, MeasuredRun run) {
  Timeline timeline = run.steps[median_step(run)];
  attribute(replay.graph, timeline);
  RunReport report = run_report(replay.graph, timeline, describe(run));
  constexpr double any = 1e9; // no tolerance was given
  Validation validation = validate_run(replay.graph, replay.prediction, run, any);
  return {std::move(replay), std::move(run), std::move(timeline), std::move(report), std::move(validation)};
}

/// The exit code for wrong or missing results, or wrong memory.
ExitCode judge(const Replayed& result) {
  ExitCode code = ExitCode::done;
  if (const auto& proof = result.run.proof; proof && !proof->holds()) {
    say("ppsim: the results differ from those of a run that does one task at a time\n");
    code = ExitCode::no;
  }
  if (const auto step = result.run.proof ? result.run.proof->diverged() : std::nullopt) {
    say(fmt::format("ppsim: training diverged: the loss is not finite from step {} on, so the run proves "
                    "nothing\nppsim: hint: try a --learning-rate below {:.3g}\n",
                    *step + 1, result.replay.options.workload.learning_rate));
    code = ExitCode::no;
  }
  if (result.validation.knows_memory && !result.validation.same_peaks()) {
    say("ppsim: the memory differs from the prediction\n");
    code = ExitCode::no;
  }
  if (result.report.overflow) code = ExitCode::no; // the report has the place
  return code;
}

ExitCode run(const Inputs& inputs) {
  require_chart(inputs);
  const bool stdout_taken = uses_stdout(outputs, inputs);
  require_writable(outputs, inputs);
  Replay replay = prepare_replay(inputs);
  if (replay.backend->is_leader()) note_all(replay.notes);
  std::optional<MeasuredRun> run = run_replay(replay);
  if (!run) return ExitCode::done; // another process has the result
  run->facts.command = inputs.command;
  const Replayed result = view(std::move(replay), std::move(*run));
  write_outputs(outputs, result, inputs);
  if (!stdout_taken) write_file("-", report_of(result, terminal_options(), inputs.tasks), "report");
  return judge(result);
}

constexpr std::array sections{Section::pipeline, Section::model,    Section::costs,    Section::communication,
                              Section::memory,   Section::scenario, Section::workload, Section::replay};
constexpr std::array<std::string_view, 8> extra{"jitter",     "jitter-from", "json",  "svg",
                                                "svg-memory", "html",        "trace", "tasks"};
constexpr std::array<std::string_view, 7> except{"flops",     "timeline",      "tolerance", "replica",
                                                 "calibrate", "by-microbatch", "mean-stage"};
constexpr std::array examples{
    Example{"ppsim replay --stages 2 --mb 8 --schedule 1f1b",
            "train a small model on two cores, and check its results and memory"},
    Example{"ppsim replay --scenario costs.toml --schedule zb-h1 --mb 8 -o run.json --svg run.svg",
            "with the costs that 'ppsim calibrate' measured: also shows the error of the prediction"},
    Example{"ppsim replay --stages 8 --mb 16 --forward 4ms --backward 8ms --compute timed",
            "tasks of the given durations, for more stages than cores"},
    Example{"mpirun -n 4 ppsim replay --backend mpi --stages 4 --mb 8", "a process per stage"},
};

} // namespace

const Command definition{
    .name = "replay",
    .summary = "run a schedule for real and show what was measured (exit status 3 when results or memory are wrong)",
    .usage = "ppsim replay --stages P --mb M [--schedule NAME] [--scenario FILE] [--backend NAME] [-o RUN.json] "
             "[options]",
    .argument = "",
    .argument_help = "",
    .makes_run = true,
    .sections = sections,
    .extra = extra,
    .except = except,
    .examples = examples,
    .run = run};

} // namespace ppsim::cli::replay_command
