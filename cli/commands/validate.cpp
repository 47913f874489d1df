// ppsim validate: compares predictions with runs that they were not fitted to.

#include "ppsim/base/error.hpp"
#include "ppsim/base/parallel.hpp"
#include "ppsim/traces/json.hpp"
#include "ppsim/viz/accuracy.hpp"
#include "ppsim/viz/published.hpp"
#include "ppsim/viz/validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "files/files.hpp"
#include "files/outputs.hpp"
#include "options/commands.hpp"
#include "runs/pages.hpp"
#include "runs/replaying.hpp"
#include "runs/validating.hpp"
#include "terminal/console.hpp"
#include "terminal/terminal.hpp"

namespace ppsim::cli::validate_command {
namespace {

/// The single run.
Validated validate_one(const Inputs& inputs) {
  Problems problems;
  if (!inputs.timeline && !inputs.file)
    problems.add("--timeline", "missing", "which run? 'ppsim replay -o run.json' writes one");
  check_costs(inputs, problems);
  problems.throw_if_any();
  std::vector<std::string> notes;
  Validated result = inputs.timeline ? validate_file(inputs, *inputs.timeline, inputs.place_of("timeline"), notes)
                                     : validate_file(inputs, *inputs.file, "validate", notes);
  note_all(notes);
  constexpr double share = 0.5;
  if (result.validation.counts())
    result.validation.variable = predict_variable_work({&result.run, 1}, share, machine_threads());
  return result;
}

std::string page(const Validated& result, const Inputs& /*inputs*/) {
  Timeline timeline = result.run.steps[result.validation.step_used];
  attribute(result.graph, timeline);
  return measured_page({.command = "validate",
                        .text = viz::validation_text(result.graph, result.run, result.validation, page_text),
                        .json = traces::validation_json(result.graph, result.run, result.validation)},
                       result.graph, &result.prediction, timeline,
                       run_report(result.graph, timeline, describe(result.run)));
}

constexpr std::array outputs_of_one{
    Output<Validated>{"json", &Inputs::json,
                      [](const Validated& result, const Inputs&) {
                        return traces::validation_json(result.graph, result.run, result.validation);
                      }},
    Output<Validated>{"svg", &Inputs::svg,
                      [](const Validated& result, const Inputs&) {
                        return viz::svg_validation(result.graph, result.prediction, result.run, result.validation);
                      }},
    Output<Validated>{"html", &Inputs::html, page},
};

constexpr std::array outputs_of_many{
    Output<Accuracy>{"json", &Inputs::json,
                     [](const Accuracy& accuracy, const Inputs&) { return traces::accuracy_json(accuracy); }},
    Output<Accuracy>{"svg", &Inputs::svg,
                     [](const Accuracy& accuracy, const Inputs&) { return viz::svg_accuracy(accuracy); }},
    Output<Accuracy>{"markdown", &Inputs::markdown,
                     [](const Accuracy& accuracy, const Inputs&) { return viz::accuracy_markdown(accuracy); }},
};

ExitCode run_one(const Inputs& inputs) {
  if (inputs.markdown)
    throw Error{ExitCode::bad_input,
                Problem{inputs.place_of("markdown"), "is a table of several runs, but only one is given",
                        "leave it out, or name more runs or their folder"}};
  const bool stdout_taken = uses_stdout(outputs_of_one, inputs);
  const Validated result = validate_one(inputs);
  write_outputs(outputs_of_one, result, inputs);
  if (!stdout_taken)
    write_file("-", viz::validation_text(result.graph, result.run, result.validation, terminal_options()),
               "validation");
  return result.validation.holds ? ExitCode::done : ExitCode::no;
}

ExitCode run_many(const Inputs& inputs, const std::vector<RunSource>& sources) {
  std::vector<Destination> read;
  std::ranges::transform(files_read(sources), std::back_inserter(read), [](const std::string& path) {
    return Destination{"a run, or its costs", path};
  });
  const bool stdout_taken = uses_stdout(outputs_of_many, inputs, read);
  std::set<std::string> notes;
  const Accuracy accuracy = validate_files(inputs, sources, notes);
  note_all(notes);
  write_outputs(outputs_of_many, accuracy, inputs);
  if (!stdout_taken) write_file("-", viz::accuracy_text(accuracy, terminal_options()), "validation");
  return accuracy.holds() ? ExitCode::done : ExitCode::no;
}

constexpr std::array outputs_of_published{
    Output<PublishedErrors>{
        "json", &Inputs::json,
        [](const PublishedErrors& errors, const Inputs&) { return traces::published_json(errors); }},
    Output<PublishedErrors>{"svg", &Inputs::svg,
                            [](const PublishedErrors& errors, const Inputs&) { return viz::svg_published(errors); }},
    Output<PublishedErrors>{"markdown", &Inputs::markdown,
                            [](const PublishedErrors& errors, const Inputs& inputs) {
                              return viz::published_markdown(errors, inputs.rows);
                            }},
};

/// Options allowed with a table of runs, whose rows describe the runs.
void check_published(const Inputs& inputs) {
  constexpr std::array<std::string_view, 3> of_table{"published", "rows", "threads"};
  constexpr std::array<std::string_view, 4> of_any{"tolerance", "json", "svg", "markdown"};
  Problems problems;
  for (const Assignment& flag : inputs.flags) {
    const bool is_of_table = std::ranges::find(of_table, flag.option->name) != of_table.end();
    const bool is_of_any = std::ranges::find(of_any, flag.option->name) != of_any.end();
    if (inputs.published && !is_of_table && !is_of_any)
      problems.add(flag.where, "the rows of `published` say what ran", "leave it out, or change the rows");
    if (!inputs.published && is_of_table)
      problems.add(flag.where, "there is no table of runs", "add `published` FILE, or leave it out");
  }
  if (inputs.published && inputs.file)
    problems.add(in_quotes(*inputs.file), "`published` already names the runs",
                 "validate runs of your own by themselves");
  problems.throw_if_any();
}

ExitCode run_published(const Inputs& inputs) {
  const bool stdout_taken = uses_stdout(outputs_of_published, inputs);
  const PublishedErrors errors = validate_published(inputs);
  write_outputs(outputs_of_published, errors, inputs);
  if (!stdout_taken) write_file("-", viz::published_text(errors, inputs.rows, terminal_options()), "validation");
  return errors.holds() ? ExitCode::done : ExitCode::no;
}

void refuse_page(const Inputs& inputs) {
  if (inputs.html)
    throw Error{ExitCode::bad_input, Problem{inputs.place_of("html"), "shows one run, and several are given",
                                             "name one run file; --svg draws the errors of all"}};
}

ExitCode run(const Inputs& inputs) {
  if (inputs.published) refuse_page(inputs);
  check_published(inputs);
  if (inputs.published) return run_published(inputs);
  if (!inputs.file) return run_one(inputs);
  if (inputs.timeline)
    throw Error{ExitCode::bad_input, Problem{inputs.place_of("timeline"), "runs are also named as arguments",
                                             "name all of them as arguments"}};
  const std::vector<RunSource> sources = run_sources(inputs);
  if (sources.size() == 1 && sources.front().group.empty()) return run_one(inputs);
  refuse_page(inputs);
  return run_many(inputs, sources);
}

constexpr std::array sections{Section::costs, Section::communication, Section::memory, Section::scenario};
constexpr std::array<std::string_view, 9> extra{"timeline", "published", "rows", "tolerance", "threads",
                                                "json",     "svg",       "html", "markdown"};
constexpr std::array<std::string_view, 1> except{"memory-limit"}; // the run fitted
constexpr std::array examples{
    Example{"ppsim validate --scenario costs.toml --timeline run.json",
            "the error of a replay's prediction: how large, where, and why"},
    Example{"ppsim validate --scenario costs.toml --timeline run.json --tolerance 2% --svg both.svg",
            "exit status 3 beyond 2 %; a chart of both timelines"},
    Example{"ppsim validate --scenario costs.toml run-*.json",
            "several schedules with the same costs: their errors, and whether they ranked as predicted"},
    Example{"ppsim validate p4/ p8/ --svg errors.svg",
            "folders that hold runs and, for each number of stages and of chunks, the costs that predict them"},
    Example{"ppsim validate --published traces/published/runs.csv",
            "published step times, set by set: the error of costs computed from a model's shape"},
};

} // namespace

const Command definition{
    .name = "validate",
    .summary =
        "compare a prediction with a measured run (exit status 3 beyond the tolerance, or when the run proves nothing)",
    .usage = "ppsim validate ([--scenario COSTS.toml] (--timeline RUN.json | RUN.json... | FOLDER...) | --published "
             "RUNS.csv) "
             "[--tolerance SHARE] [--svg FILE] [--json[=FILE]]",
    .argument = "RUN",
    .argument_help =
        "run files, or folders of run files (*.json, *.json.gz) and the scenarios that predict them (*.toml)",
    .takes_several = true,
    .sections = sections,
    .extra = extra,
    .except = except,
    .examples = examples,
    .run = run};

} // namespace ppsim::cli::validate_command
