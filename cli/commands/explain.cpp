// ppsim explain: where the time of a measured run goes, and what each reason costs.

#include "ppsim/base/parallel.hpp"
#include "ppsim/measured/explanation.hpp"
#include "ppsim/study/run_report.hpp"
#include "ppsim/traces/chrome_trace.hpp"
#include "ppsim/traces/json.hpp"
#include "ppsim/viz/explanation.hpp"
#include "ppsim/viz/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "files/chart.hpp"
#include "files/files.hpp"
#include "files/outputs.hpp"
#include "files/run_files.hpp"
#include "options/commands.hpp"
#include "runs/pages.hpp"
#include "terminal/terminal.hpp"

namespace ppsim::cli::explain_command {
namespace {

/// Runs with their explanation; pictures show the median step of one replica.
struct Explained {
  std::vector<MeasuredRun> runs;
  Explanation explanation;
  std::vector<std::string> names; ///< of the files, by replica
  std::size_t drawn = 0;          ///< the replica shown in pictures
};

/// Shares of the steps that predict the others: by their means, and by drawing from them, which needs more steps.
constexpr double default_share = 0.25;
constexpr double default_share_of_draws = 0.5;

/// A measured step with its causes, ready to draw.
struct ShownStep {
  TaskGraph graph;
  Timeline timeline;
  RunReport report;
};

ShownStep median_step_of(const Explained& explained, std::size_t number) {
  const MeasuredRun& run = explained.runs[number];
  const std::size_t step = median_step(run);
  TaskGraph graph = measured_graph(run);
  Timeline timeline = run.steps[step];
  attribute(graph, timeline);
  const std::string replica =
      explained.runs.size() == 1 ? "" : fmt::format("replica {} ({}), ", number, explained.names[number]);
  RunReport report = run_report(graph, timeline,
                                fmt::format("{}step {} of {}; {}", replica, step + 1, run.steps.size(), describe(run)));
  return {std::move(graph), std::move(timeline), std::move(report)};
}

/// The replica of --replica, otherwise the slowest.
std::size_t drawn_replica(const Inputs& inputs, const Explanation& explanation) {
  const auto& replicas = explanation.replicas;
  if (!inputs.replica)
    return static_cast<std::size_t>(std::ranges::max_element(replicas, {}, &ReplicaExplanation::tasks) -
                                    replicas.begin());
  if (*inputs.replica < replicas.size()) return *inputs.replica;
  throw Error{ExitCode::bad_input,
              Problem{inputs.place_of("replica"), fmt::format("there is no replica {}", *inputs.replica),
                      fmt::format("{} run file{} given: 0 to {}", replicas.size(),
                                  replicas.size() == 1 ? " is" : "s are", replicas.size() - 1)}};
}

Explained explain_inputs(const Inputs& inputs) {
  if (!inputs.file)
    throw Error{ExitCode::bad_input,
                Problem{"explain", "no run file given",
                        "for example: ppsim explain run.json; 'ppsim import' and 'ppsim replay -o' write such files"}};
  std::vector<std::string> paths{*inputs.file};
  paths.insert(paths.end(), inputs.files.begin(), inputs.files.end());
  Explained explained;
  std::set<std::string> seen;
  for (const std::string& path : paths)
    if (path != "-" && !seen.insert(real_path(path)).second)
      throw Error{ExitCode::bad_input, Problem{in_quotes(path), "given twice: a replica would be compared with itself",
                                               "name the run file of each replica once"}};
  for (const std::string& path : paths) {
    explained.runs.push_back(read_run_file(path, "explain"));
    explained.names.push_back(display_name(path));
  }
  explained.explanation = explain(explained.runs, inputs.calibrate.value_or(default_share));
  explained.explanation.variable =
      predict_variable_work(explained.runs, inputs.calibrate.value_or(default_share_of_draws), machine_threads());
  if (explained.explanation.steps < 2 && inputs.calibrate)
    throw Error{ExitCode::bad_input,
                Problem{inputs.place_of("calibrate"), "the run has only one step: none is left to predict",
                        "leave it out, or record more steps"}};
  explained.drawn = drawn_replica(inputs, explained.explanation);
  return explained;
}

/// Replicas are counted in file order, whatever their ranks.
std::string names_of_replicas(const Explained& explained) {
  if (explained.names.size() < 2) return "";
  std::string text = "files\n";
  for (std::size_t replica = 0; replica < explained.names.size(); ++replica)
    text += fmt::format("  replica {}  {}\n", replica, explained.names[replica]);
  return text;
}

std::string report_of(const Explained& explained, const viz::TextOptions& options) {
  return viz::explanation_text(explained.runs, explained.explanation, options) + names_of_replicas(explained);
}

/// The drawn replica first, then the others in order.
std::string page(const Explained& explained, const Inputs& /*inputs*/) {
  std::vector<std::size_t> numbers{explained.drawn};
  for (std::size_t i = 0; i < explained.runs.size() && numbers.size() < most_runs_on_page; ++i)
    if (i != explained.drawn) numbers.push_back(i);
  std::vector<ShownStep> steps;
  steps.reserve(numbers.size()); // panels refer to them
  std::vector<viz::Panel> panels;
  for (const std::size_t number : numbers) {
    const ShownStep& step = steps.emplace_back(median_step_of(explained, number));
    const std::string& name = explained.names[number];
    panels.push_back({step.graph, step.timeline, step.report,
                      numbers.size() == 1 ? name : fmt::format("replica {} ({})", number, name)});
  }
  return page_of({.command = "explain",
                  .text = report_of(explained, page_text),
                  .json = traces::explanation_json(explained.runs, explained.explanation)},
                 panels);
}

constexpr std::array outputs{
    Output<Explained>{"json", &Inputs::json,
                      [](const Explained& result, const Inputs&) {
                        return traces::explanation_json(result.runs, result.explanation);
                      }},
    Output<Explained>{"svg", &Inputs::svg,
                      [](const Explained& result, const Inputs& inputs) {
                        const ShownStep shown = median_step_of(result, result.drawn);
                        return viz::svg_gantt(shown.graph, shown.timeline, shown.report, memory_lanes(inputs));
                      }},
    Output<Explained>{"html", &Inputs::html, page},
    Output<Explained>{"trace", &Inputs::trace,
                      [](const Explained& result, const Inputs&) {
                        const ShownStep shown = median_step_of(result, result.drawn);
                        return traces::chrome_trace(shown.graph, shown.timeline, shown.report);
                      }},
};

ExitCode run(const Inputs& inputs) {
  require_chart(inputs);
  const bool stdout_taken = uses_stdout(outputs, inputs);
  require_writable(outputs, inputs);
  const Explained result = explain_inputs(inputs);
  write_outputs(outputs, result, inputs);
  if (!stdout_taken) write_file("-", report_of(result, terminal_options()), "explanation");
  return ExitCode::done;
}

constexpr std::array<std::string_view, 7> extra{"replica", "calibrate", "json", "svg", "svg-memory", "html", "trace"};
constexpr std::array examples{
    Example{"ppsim explain run.json", "where the bubble of a measured run is, by cause, and what would shorten it"},
    Example{"ppsim explain run-0.json run-1.json --svg step.svg",
            "two data-parallel replicas: which one waits for the other; a chart of the slower one's median step"},
};

} // namespace

const Command definition{.name = "explain",
                         .summary = "explain where the time of a measured run goes, and what each cause costs",
                         .usage =
                             "ppsim explain RUN.json... [--svg FILE [--svg-memory]] [--trace FILE] [--json[=FILE]]",
                         .argument = "RUN",
                         .argument_help = "a run file; several are the data-parallel replicas of one job",
                         .takes_several = true,
                         .extra = extra,
                         .examples = examples,
                         .run = run};

} // namespace ppsim::cli::explain_command
