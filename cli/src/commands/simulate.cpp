// ppsim simulate: one run, reported.

#include "ppsim/sim/report.hpp"
#include "ppsim/sim/steady.hpp"
#include "ppsim/traces/chrome_trace.hpp"
#include "ppsim/traces/report_json.hpp"
#include "ppsim/traces/schedule_file.hpp"
#include "ppsim/viz/svg.hpp"
#include "ppsim/viz/text.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <map>

#include "../commands.hpp"
#include "../condition.hpp"
#include "../files.hpp"
#include "../terminal.hpp"

namespace ppsim::cli {
namespace {

/// Each what-if figure is a simulation of its own; beyond this many tasks they would cost seconds that nobody asked
/// for.
constexpr std::size_t most_tasks_for_what_if = std::size_t{1} << 20;

/// Of all simulations of the steady state together; it is asked for, so it may cost a second.
constexpr std::size_t most_tasks_for_steady_state = 8 * most_tasks_for_what_if;

constexpr std::size_t most_tasks_for_alternatives = std::size_t{1} << 16;

/// A run from inputs to report.
struct Result {
  TaskGraph graph;
  Timeline timeline;
  Report report;
};

/// One output option: where it goes and what makes it.
struct Output {
  std::string_view option;
  std::optional<std::string> Inputs::*path;
  std::string (*render)(const Result&, const Inputs&);
};

constexpr std::array outputs{
    Output{"json", &Inputs::json,
           [](const Result& result, const Inputs& inputs) {
             return traces::report_json(result.graph, result.timeline, result.report, inputs.tasks);
           }},
    Output{"svg", &Inputs::svg,
           [](const Result& result, const Inputs&) {
             return viz::svg_gantt(result.graph, result.timeline, result.report);
           }},
    Output{"trace", &Inputs::trace,
           [](const Result& result, const Inputs&) {
             return traces::chrome_trace(result.graph, result.timeline, result.report);
           }},
    Output{"csv", &Inputs::csv,
           [](const Result& result, const Inputs& inputs) {
             return inputs.csv->ends_with(".tasks.csv") ? traces::write_task_list(result.graph)
                                                        : traces::write_schedule_csv(result.graph.schedule());
           }},
    Output{"csv-comms", &Inputs::csv_comms,
           [](const Result& result, const Inputs&) { return traces::write_schedule_csv_comms(result.graph); }},
};

/// True if one output goes to stdout. Throws Error if two outputs go to one place.
bool uses_stdout(const Inputs& inputs) {
  std::map<std::string, std::string_view> taken;
  for (const Output& output : outputs) {
    const std::optional<std::string>& path = inputs.*output.path;
    if (!path) continue;
    std::error_code error;
    const auto status = std::filesystem::status(*path, error);
    if (*path != "-" && std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
      continue; // a device
    const auto target = *path == "-" ? std::filesystem::path{*path} : std::filesystem::weakly_canonical(*path, error);
    const auto [place, is_new] = taken.try_emplace(error ? *path : target.string(), output.option);
    if (!is_new)
      throw Error{ExitCode::bad_input,
                  Problem{fmt::format("--{}", output.option),
                          fmt::format("{} is taken by --{}", *path == "-" ? "stdout" : in_quotes(*path), place->second),
                          "send one of them elsewhere"}};
  }
  return taken.contains("-");
}

/// The report with the step time that holds in the long run. False if that would cost too much to find.
bool set_step_time(const Generator* generator, const ScheduleRequest& request, const TaskGraph& graph, Report& report) {
  if (!has_steady_state(graph)) return true;
  if (steady_tasks(graph) > most_tasks_for_steady_state) return false;
  const bool asynchronous = graph.schedule().asynchronous();
  PPSIM_ASSERT(!asynchronous || generator != nullptr); // no file says so
  report.step_time = asynchronous ? steady_interval(*generator, request, graph.scenario()) : steady_interval(graph);
  report.steady_state = true;
  return true;
}

/// The run with other inputs, if they are allowed at all.
std::optional<Alternative> try_inputs(const Inputs& inputs, std::string change) {
  try {
    Run run = resolve(inputs);
    const TaskGraph graph = lower(std::move(run.schedule), std::move(run.scenario), run.schedule_place);
    Report report = analyse(graph, simulate(graph));
    if (!set_step_time(run.generator, run.request, graph, report)) return std::nullopt;
    return Alternative{std::move(change), graph.scenario().shape.microbatches, report.step_time, report.bubble_ratio,
                       !report.overflow};
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// What usually shrinks the bubble, tried: twice the microbatches, twice the chunks.
std::vector<Alternative> try_alternatives(const Inputs& inputs, const Shape& shape) {
  std::vector<Alternative> alternatives;
  const auto add = [&](const Inputs& changed, std::string change) {
    if (auto alternative = try_inputs(changed, std::move(change))) alternatives.push_back(std::move(*alternative));
  };
  Inputs more = inputs;
  more.microbatches = 2 * shape.microbatches;
  add(more, fmt::format("--mb {}", 2 * shape.microbatches));
  Inputs chunks = inputs;
  chunks.schedule = "interleaved";
  chunks.vpp = 2 * shape.vpp;
  chunks.descending_backward.reset();
  if (shape.stages > 1 && shape.shared == 0)
    add(chunks, fmt::format("--vpp {}{}", 2 * shape.vpp,
                            inputs.schedule && inputs.schedule != "interleaved" ? " --schedule interleaved" : ""));
  return alternatives;
}

Result run_inputs(const Inputs& inputs) {
  Run run = resolve(inputs);
  for (const std::string& note : run.notes) fmt::print(stderr, "ppsim: note: {}\n", note);
  TaskGraph graph = lower(std::move(run.schedule), std::move(run.scenario), run.schedule_place);
  Timeline timeline = simulate(graph);
  Report report = analyse(graph, timeline);
  const bool has_step_time = set_step_time(run.generator, run.request, graph, report);
  if (!has_step_time)
    fmt::print(
        stderr,
        "ppsim: note: step_time_ns is the makespan: the steady state would take {} simulated tasks, more than {}\n",
        steady_tasks(graph), most_tasks_for_steady_state);
  if (run.generator != nullptr && !graph.schedule().forward_only()) // they are of forward and backward
    report.closed_form = closed_form(*run.generator, run.request, graph.scenario());
  if (has_step_time && graph.size() <= most_tasks_for_what_if) report.what_if = what_if(graph);
  if (run.generator != nullptr && graph.size() <= most_tasks_for_alternatives)
    report.alternatives = try_alternatives(inputs, graph.scenario().shape);
  return {std::move(graph), std::move(timeline), std::move(report)};
}

ExitCode judge(const Inputs& inputs, const Report& report) {
  ExitCode code = report.overflow ? ExitCode::no : ExitCode::done;
  for (const std::string& text : inputs.fail_if) {
    const std::optional<Condition> condition = parse_condition(text);
    PPSIM_ASSERT(condition.has_value());
    if (!condition->holds(report)) continue;
    fmt::print(stderr, "ppsim: --fail-if: {} holds: {} is {}\n", in_quotes(text), condition->metric->tag,
               condition->value(report));
    code = ExitCode::no;
  }
  return code;
}

ExitCode run(const Inputs& inputs) {
  const bool stdout_taken = uses_stdout(inputs);
  const Result result = run_inputs(inputs);
  for (const Output& output : outputs)
    if (const auto& path = inputs.*output.path)
      write_file(*path, output.render(result, inputs), fmt::format("--{}", output.option));
  if (!stdout_taken) {
    std::string text = viz::text_report(result.graph, result.timeline, result.report, terminal_options());
    if (inputs.tasks) text.append("\n").append(viz::task_table(result.graph, result.timeline));
    write_file("-", text, "report");
  }
  return judge(inputs, result.report);
}

constexpr std::array sections{Section::pipeline, Section::costs,    Section::communication,
                              Section::memory,   Section::scenario, Section::output};
constexpr std::array examples{
    Example{"ppsim --stages 4 --mb 8 --vpp 2", "interleaved 1F1B: how long is a step, where is the bubble"},
    Example{"ppsim --stages 8 --mb 32 --forward 12ms --backward 25ms --latency 10us --bandwidth 50GB/s "
            "--boundary-bytes 32MiB --svg run.svg",
            "your own costs, and a Gantt chart"},
    Example{"ppsim --scenario traces/samples/zero-bubble-1.5b-m24.toml --schedule gpipe",
            "a profiled model from a file, another schedule"},
    Example{"ppsim --schedule-file order.csv --activation-bytes 3GiB --memory-limit 40GiB",
            "an order of your own: does it fit"},
};

} // namespace

extern const Command simulate_command;
const Command simulate_command{
    .name = "simulate",
    .summary = "how long a step of a schedule takes, where the bubble is and why, whether the memory fits (the default "
               "command)",
    .usage = "ppsim [simulate] --stages P --mb M [--vpp V] [--schedule NAME | --schedule-file FILE] [options]",
    .argument = "",
    .argument_help = "",
    .sections = sections,
    .extra = {},
    .examples = examples,
    .run = run};

} // namespace ppsim::cli
