// ppsim validate: a prediction held against a run that it did not know.

#include "ppsim/sim/error.hpp"
#include "ppsim/sim/validation.hpp"
#include "ppsim/traces/validation_json.hpp"
#include "ppsim/viz/validation.hpp"

#include <fmt/format.h>

#include <array>

#include "../commands.hpp"
#include "../files.hpp"
#include "../outputs.hpp"
#include "../replaying.hpp"
#include "../run_files.hpp"
#include "../scenario_file.hpp"
#include "../terminal.hpp"

namespace ppsim::cli {
namespace {

/// A run, the prediction that it did not see, and how far they are apart.
struct Validated {
  TaskGraph graph;
  Timeline prediction;
  MeasuredRun run;
  Validation validation;
};

constexpr double default_tolerance = 0.05;

MeasuredRun read_timeline(const Inputs& inputs) {
  Problems problems;
  if (!inputs.timeline) problems.add("--timeline", "missing", "which run? 'ppsim replay -o run.json' writes one");
  if (!knows_costs(inputs))
    problems.add("--scenario", inputs.scenario ? "it says nothing of what tasks take" : "missing",
                 "what was predicted? 'ppsim calibrate -o costs.toml' writes a scenario");
  problems.throw_if_any();
  return read_run_file(*inputs.timeline, inputs.place_of("timeline"));
}

/// Costs of one shape say little about another. The order is that of the run, whatever the scenario says.
void check_shape(const Inputs& inputs, const Schedule& ran, std::vector<std::string>& notes) {
  Problems problems;
  const auto check = [&](std::string_view option, std::size_t said, std::size_t found) {
    if (said != found)
      problems.add(inputs.place_of(option), fmt::format("{}, and the run has {}", said, found),
                   "validate with the costs of what was run");
  };
  if (inputs.stages) check("stages", *inputs.stages, ran.shape().stages);
  if (inputs.vpp && inputs.vpp->size() == 1) check("vpp", inputs.vpp->front(), ran.shape().vpp);
  problems.throw_if_any();
  if (inputs.schedule && *inputs.schedule != ran.name())
    notes.push_back(fmt::format("{}: {}; the prediction is of the order that was run, {}", inputs.place_of("schedule"),
                                *inputs.schedule, ran.name()));
  if (inputs.microbatches && *inputs.microbatches != ran.shape().microbatches)
    notes.push_back(fmt::format("{}: {}; the prediction is of the {} microbatches that were run", inputs.place_of("mb"),
                                *inputs.microbatches, ran.shape().microbatches));
}

/// What the same prediction says with the times that its calibration measured with one stage at work at a time. Those
/// of a flag are neither.
std::optional<Compared> predict_alone(const Inputs& inputs, const MeasuredRun& run, Duration measured) {
  if (run.facts.timed) return std::nullopt; // its tasks took what they were told, stages busy or not
  for (const std::string_view option : {"forward", "backward", "input-grad", "weight-grad"})
    if (!inputs.scenario || inputs.has_flag(option)) return std::nullopt;
  const auto alone = read_alone_costs(inputs.scenario_text, display_name(*inputs.scenario));
  if (!alone) return std::nullopt;
  if (const std::size_t chunks = run.schedule.shape().chunks(); alone->forward.size() != chunks)
    throw Error{ExitCode::bad_input,
                Problem{fmt::format("{}: [calibration] alone.forward", display_name(*inputs.scenario)),
                        fmt::format("{} values for {} chunks", alone->forward.size(), chunks),
                        "calibrate again, or leave the table out"}};
  Inputs changed = inputs;
  changed.backward.reset();
  changed.forward = alone->forward;
  changed.input_grad = alone->input_grad;
  changed.weight_grad = alone->weight_grad;
  std::vector<std::string> said_before;
  const TaskGraph graph = graph_of(changed, run.schedule, false, said_before);
  return Compared{end_of(simulate(graph)).time_since_epoch(), measured};
}

Validated validate_inputs(const Inputs& inputs) {
  MeasuredRun run = read_timeline(inputs);
  require_same_work(inputs, run.facts.workload, run.facts.timed ? "" : run.facts.backend); // timed tasks do no work
  std::vector<std::string> notes;
  check_shape(inputs, run.schedule, notes);
  TaskGraph graph = graph_of(inputs, run.schedule, run.facts.timed, notes);
  for (const std::string& note : notes) fmt::print(stderr, "ppsim: note: {}\n", note);
  Timeline prediction = simulate(graph);
  Validation validation = validate_run(graph, prediction, run, inputs.tolerance.value_or(default_tolerance));
  validation.alone = predict_alone(inputs, run, validation.step.measured);
  return {std::move(graph), std::move(prediction), std::move(run), std::move(validation)};
}

constexpr std::array outputs{
    Output<Validated>{"json", &Inputs::json,
                      [](const Validated& result, const Inputs&) {
                        return traces::validation_json(result.graph, result.run, result.validation);
                      }},
    Output<Validated>{"svg", &Inputs::svg,
                      [](const Validated& result, const Inputs&) {
                        return viz::svg_validation(result.graph, result.prediction, result.run, result.validation);
                      }},
};

ExitCode run(const Inputs& inputs) {
  const bool stdout_taken = uses_stdout(outputs, inputs);
  const Validated result = validate_inputs(inputs);
  write_outputs(outputs, result, inputs);
  if (!stdout_taken)
    write_file("-", viz::validation_text(result.graph, result.run, result.validation, terminal_options()),
               "validation");
  return result.validation.holds ? ExitCode::done : ExitCode::no;
}

constexpr std::array sections{Section::costs, Section::communication, Section::memory, Section::scenario};
constexpr std::array<std::string_view, 4> extra{"timeline", "tolerance", "json", "svg"};
constexpr std::array<std::string_view, 1> except{"memory-limit"}; // it ran
constexpr std::array examples{
    Example{"ppsim validate --scenario costs.toml --timeline run.json",
            "how far the prediction of a replay was off, where, and why"},
    Example{"ppsim validate --scenario costs.toml --timeline run.json --tolerance 2% --svg both.svg",
            "exit status 3 beyond 2 %; both timelines over each other"},
};

} // namespace

extern const Command validate_command;
const Command validate_command{
    .name = "validate",
    .summary = "how far a prediction was off, held against a run (exit status 3 beyond the tolerance, or when the run "
               "is no proof)",
    .usage =
        "ppsim validate --scenario COSTS.toml --timeline RUN.json [--tolerance SHARE] [--svg FILE] [--json[=FILE]]",
    .argument = "",
    .argument_help = "",
    .sections = sections,
    .extra = extra,
    .except = except,
    .examples = examples,
    .run = run};

} // namespace ppsim::cli
