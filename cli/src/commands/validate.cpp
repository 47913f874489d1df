// ppsim validate: a prediction held against a run that it did not know.

#include "ppsim/sim/error.hpp"
#include "ppsim/sim/validation.hpp"
#include "ppsim/traces/run_file.hpp"
#include "ppsim/traces/validation_json.hpp"
#include "ppsim/viz/validation.hpp"

#include <fmt/format.h>

#include <array>

#include "../commands.hpp"
#include "../files.hpp"
#include "../outputs.hpp"
#include "../replaying.hpp"
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
  if (!inputs.scenario && !knows_costs(inputs))
    problems.add("--scenario", "missing", "what was predicted? 'ppsim calibrate -o costs.toml' writes a scenario");
  problems.throw_if_any();
  return traces::read_run(read_file(*inputs.timeline, inputs.place_of("timeline")), display_name(*inputs.timeline));
}

/// A scenario that was calibrated with other work says nothing about this run.
void check_workload(const Inputs& inputs, const MeasuredRun& run) {
  if (run.facts.timed) return; // whatever the work, tasks took what they were told
  const std::string calibrated = in_words(inputs.workload);
  if (inputs.where.contains("tokens") && run.facts.compute != calibrated)
    throw other_work(inputs, calibrated, fmt::format("the run computed '{}'", run.facts.compute));
  if (inputs.backend && run.facts.backend != *inputs.backend)
    throw other_work(inputs, fmt::format("backend {}", *inputs.backend),
                     fmt::format("the run is one of 'backend {}'", run.facts.backend));
}

/// What the same prediction says with the times that its calibration measured with one stage at work at a time. Those
/// of a flag are neither.
std::optional<Compared> predict_alone(const Inputs& inputs, const MeasuredRun& run, Duration measured) {
  for (const std::string_view option : {"forward", "backward", "input-grad", "weight-grad"})
    if (!inputs.scenario || inputs.has_flag(option)) return std::nullopt;
  const auto alone = read_alone_costs(inputs.scenario_text, display_name(*inputs.scenario));
  if (!alone) return std::nullopt;
  Inputs changed = inputs;
  changed.backward.reset();
  changed.forward = alone->forward;
  changed.input_grad = alone->input_grad;
  changed.weight_grad = alone->weight_grad;
  return Compared{end_of(simulate(graph_of(changed, run))).time_since_epoch(), measured};
}

Validated validate_inputs(const Inputs& inputs) {
  MeasuredRun run = read_timeline(inputs);
  check_workload(inputs, run);
  TaskGraph graph = graph_of(inputs, run);
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
    .examples = examples,
    .run = run};

} // namespace ppsim::cli
