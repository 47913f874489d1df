// ppsim plan: the best training configuration for a cluster.

#include "ppsim/plan/plan.hpp"

#include "ppsim/base/parallel.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/runtime/launch.hpp"
#include "ppsim/runtime/shared_work.hpp"
#include "ppsim/scenario/device.hpp"
#include "ppsim/study/build_scenario.hpp"
#include "ppsim/study/compare.hpp"
#include "ppsim/study/evaluate.hpp"
#include "ppsim/traces/plan.hpp"
#include "ppsim/viz/plan.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "files/files.hpp"
#include "files/outputs.hpp"
#include "options/commands.hpp"
#include "runs/pages.hpp"
#include "terminal/console.hpp"
#include "terminal/progress.hpp"
#include "terminal/terminal.hpp"

namespace ppsim::cli::plan_command {
namespace {

/// A given flag fixes its choice.
void fix(const Inputs& inputs, PlanChoices& choices, Problems& problems) {
  const Training& training = inputs.training;
  const auto fix_all = [&]<class Value>(std::string_view option, std::vector<Value>& choice,
                                        std::vector<Value> values) {
    if (!inputs.has(option)) return;
    const auto is_named = [&](const Value& value) { return std::ranges::find(choice, value) != choice.end(); };
    if (!choice.empty() && !(choice.size() == values.size() && std::ranges::all_of(values, is_named)))
      problems.add(inputs.place_of(option), "it contradicts --fixed", "leave one of them out");
    choice = std::move(values);
  };
  const auto fix_one = [&](std::string_view option, std::vector<std::int64_t>& choice, std::int64_t value) {
    fix_all(option, choice, std::vector<std::int64_t>{value});
  };
  fix_one("stages", choices.stages, static_cast<std::int64_t>(inputs.stages.value_or(0)));
  fix_all("vpp", choices.chunks, inputs.vpp.value_or(std::vector<std::size_t>{}));
  fix_all("recompute", choices.recompute, std::vector{inputs.recompute.value_or(RecomputeKind::none)});
  fix_all("schedules", choices.schedules, inputs.schedules.value_or(std::vector<std::string>{}));
  fix_one("tensor-parallel", choices.tensor, training.tensor_parallel);
  fix_one("context-parallel", choices.context, training.context_parallel);
  fix_one("expert-parallel", choices.expert, training.expert_parallel);
  fix_one("data-parallel", choices.data, training.data_parallel);
  fix_one("microbatch-size", choices.microbatch_size, training.microbatch_size);
  fix_one("zero-stage", choices.zero_stage, training.zero_stage.value_or(1));
  if (!inputs.has("zero-stage"))
    fix_one("distributed-optimizer", choices.zero_stage, training.distributed_optimizer ? 1 : 0);
  if (!inputs.has("sequence-parallel")) return;
  if (choices.sequence_parallel.value_or(training.sequence_parallel) != training.sequence_parallel)
    problems.add(inputs.place_of("sequence-parallel"), "it contradicts --fixed", "leave one of them out");
  choices.sequence_parallel = training.sequence_parallel;
}

/// Refuses options that a plan chooses itself or that would not apply to all configurations. Scenario files may contain
/// them.
void refuse_others(const Inputs& inputs, Problems& problems) {
  for (const RunField& field : run_fields()) {
    const Option* const option = find_option(field.name);
    if (option != nullptr && inputs.has(field.name) && !definition.takes(*option))
      problems.add(inputs.place_of(field.name), "plan chooses or computes it",
                   "leave it out; --fixed limits what plan may choose");
  }
}

/// Whether all devices are on one node, whose link joins the stages, as nothing else is said to.
bool is_one_node(const Inputs& inputs) {
  return !inputs.link && !inputs.stages_per_node && *inputs.gpus <= inputs.training.node_ranks();
}

PlanRequest request_of(const Inputs& inputs) {
  Problems problems;
  refuse_others(inputs, problems);
  if (inputs.table && inputs.table->ends_with(".jsonl"))
    problems.add(inputs.place_of("table"), "can only be CSV here", "give FILE.csv; --json has the rows as JSON");
  if (!inputs.gpus) problems.add("--gpus", "missing", "how many devices are there? for example --gpus 512");
  if (!inputs.global_batch)
    problems.add("--global-batch", "missing", "how many samples are in a step? for example --global-batch 1024");
  if (!inputs.model_shape) problems.add("--model", "missing", "give one ('ppsim list models')");
  if (!inputs.device_sheet) problems.add("--device", "missing", "give one ('ppsim list devices')");
  PlanChoices choices = inputs.choices;
  fix(inputs, choices, problems);
  problems.throw_if_any();
  check_figure(inputs);
  PlanRequest request{.run = static_cast<const RunSpec&>(inputs),
                      .gpus = *inputs.gpus,
                      .global_batch = *inputs.global_batch,
                      .choices = std::move(choices),
                      .framework = inputs.framework.value_or(Framework::any),
                      .top = inputs.top.value_or(PlanRequest{}.top),
                      .by_memory = inputs.by_memory};
  if (inputs.varies_by_chance() && !inputs.has("rank-by")) request.run.rank_by = StepFigure::mean;
  if (is_one_node(inputs)) request.run.link = find_link(inputs.device_sheet->link);
  return request;
}

/// The arguments that run a row: the common ones and its choices.
std::vector<std::string> arguments_of(const Inputs& inputs, const PlanRequest& request,
                                      const Configuration& configuration) {
  std::vector<std::string> arguments;
  const std::vector<std::string_view> left_out = void_options(configuration);
  const auto chosen = configuration.options();
  for (const Assignment& flag : inputs.flags) {
    const auto is_chosen = [&](const auto& option) { return option.first == flag.option->name; };
    constexpr std::array sections_of_run{Section::model, Section::memory, Section::communication, Section::costs,
                                         Section::scenario};
    const bool is_of_run = flag.option->name == "jitter" || flag.option->name == "seed" ||
                           std::ranges::find(sections_of_run, flag.option->section) != sections_of_run.end();
    if (!is_of_run) continue;
    constexpr std::array<std::string_view, 7> always{
        "zero-stage", "distributed-optimizer", "sequence-parallel", "vpp", "schedules", "recompute", "samples"};
    if (std::ranges::find(always, flag.option->name) != always.end()) continue;
    if (std::ranges::any_of(chosen, is_chosen)) continue;
    if (std::ranges::find(left_out, flag.option->name) != left_out.end()) continue;
    arguments.push_back(fmt::format("--{}", flag.option->name));
    arguments.push_back(flag.value);
  }
  if (is_one_node(inputs) && configuration.degrees.stages > 1) {
    arguments.emplace_back("--link");
    arguments.emplace_back("nvlink");
  }
  for (const auto& [name, value] : chosen) {
    arguments.push_back(fmt::format("--{}", name));
    arguments.push_back(value);
  }
  if (const auto samples = samples_of(request, configuration.degrees)) {
    arguments.emplace_back("--samples");
    arguments.push_back(fmt::format("{}", *samples));
  }
  return arguments;
}

/// As a shell command.
std::string command_line(const std::vector<std::string>& arguments) {
  std::string line;
  for (const std::string& argument : arguments) {
    const bool is_plain = argument.find_first_of(" '\"|()*,;&<>$`\\") == std::string::npos;
    if (!line.empty()) line += ' ';
    line += is_plain ? argument : fmt::format("'{}'", argument);
  }
  return line;
}

/// Notes assumptions of a plan that the devices may not satisfy.
void note_topology(const Inputs& inputs, const PlanRequest& request) {
  Training training = inputs.training;
  for (const std::int64_t tensor : request.choices.tensor) {
    training.tensor_parallel = tensor;
    if (const auto words = far_ranks_note("--tp", training)) note(*words);
  }
  const std::int64_t node = training.node_ranks();
  if (request.gpus > node && request.gpus % node != 0)
    note(fmt::format("--gpus: {} devices do not fill nodes of {} (--gpus-per-node)", request.gpus, node));
}

std::string json_of(const viz::PlanReport& shown, const Inputs& inputs) {
  return traces::plan_json(shown.request, shown.plan, shown.analysis,
                           [&](const Configuration& configuration) -> traces::RunWords {
                             auto arguments = arguments_of(inputs, shown.request, configuration);
                             std::string line = command_line(arguments);
                             return {std::move(arguments), std::move(line)};
                           });
}

/// Simulates the first rows again, because a plan keeps only reports.
std::string page(const viz::PlanReport& shown, const Inputs& inputs) {
  constexpr std::size_t most_rows = 5;
  const std::vector<PlanRow>& rows = shown.plan.rows;
  if (rows.empty())
    throw Error{ExitCode::no,
                Problem{inputs.place_of("html"), "nothing fits that it could show", "see the table without it"}};
  std::vector<std::optional<Evaluation>> runs(std::min(most_rows, rows.size()));
  for_each_index(runs.size(), inputs.threads.value_or(machine_threads()),
                 [&](std::size_t i) { runs[i] = evaluate(spec_of(shown.request, rows[i].configuration)); });
  std::vector<viz::Panel> panels;
  for (std::size_t i = 0; i < runs.size(); ++i)
    panels.push_back({runs[i]->graph, runs[i]->timeline, rows[i].report,
                      fmt::format("row {}: {}", i + 1, viz::configuration_words(rows[i].configuration)), i == 0});
  const RunSpec& run = shown.request.run;
  const std::string title =
      fmt::format("{} on {} x {}", run.model_shape->name, shown.request.gpus, run.device_sheet->name);
  return page_of(
      {.command = "plan", .title = title, .text = viz::plan_text(shown, page_text), .json = json_of(shown, inputs)},
      panels);
}

constexpr std::array outputs{
    Output<viz::PlanReport>{"svg", &Inputs::svg,
                            [](const viz::PlanReport& shown, const Inputs& inputs) {
                              if (shown.plan.rows.empty() || !shown.plan.memory_limit)
                                throw Error{ExitCode::no,
                                            Problem{inputs.place_of("svg"), "nothing fits, so there is nothing to draw",
                                                    "leave it out and read the table"}};
                              return viz::svg_plan(shown);
                            }},
    Output<viz::PlanReport>{"html", &Inputs::html, page}, Output<viz::PlanReport>{"json", &Inputs::json, json_of},
    Output<viz::PlanReport>{"table", &Inputs::table,
                            [](const viz::PlanReport& shown, const Inputs&) { return traces::plan_csv(shown.plan); }},
    Output<viz::PlanReport>{"markdown", &Inputs::markdown,
                            [](const viz::PlanReport& shown, const Inputs&) { return viz::plan_markdown(shown); }}};

/// Plans on all processes; the first one shows progress.
void make_plan(viz::PlanReport& shown, const Inputs& inputs) {
  PlanWorkers workers{.threads = inputs.threads.value_or(runtime::has_other_processes() ? 1 : machine_threads())};
  std::optional<runtime::SharedRounds> rounds;
  if (runtime::has_other_processes()) {
    rounds.emplace(workers.threads);
    workers.share = [&](std::size_t count, const auto& make) { return rounds->make_all(count, make); };
  }
  std::optional<ProgressCount> count;
  std::string_view counted_now;
  if (runtime::prints_for_all())
    workers.watch = [&](std::string_view what, std::size_t done, std::size_t of) {
      if (std::exchange(counted_now, what) != what) count.emplace(std::string{what});
      count->show(done, of);
    };
  shown.plan = find_plan(shown.request, workers);
  if (!shown.plan.rows.empty()) shown.analysis = analyse_plan(shown.request, shown.plan, workers);
}

ExitCode run(const Inputs& inputs) {
  viz::PlanReport shown;
  shown.request = request_of(inputs);
  const bool writes = runtime::prints_for_all();
  if (writes) note_topology(inputs, shown.request);
  const bool stdout_taken = uses_stdout(outputs, inputs);
  if (writes) require_writable(outputs, inputs);
  make_plan(shown, inputs);
  if (!writes) return ExitCode::done;
  if (!shown.plan.rows.empty())
    shown.command = command_line(arguments_of(inputs, shown.request, shown.plan.rows.front().configuration));
  write_outputs(outputs, shown, inputs);
  if (!stdout_taken) write_file("-", viz::plan_text(shown, terminal_options()), "plan");
  return shown.plan.rows.empty() ? ExitCode::no : ExitCode::done;
}

constexpr std::array sections{Section::model, Section::planning};
constexpr std::array<std::string_view, 21> extra{"rank-by",
                                                 "jitter",
                                                 "samples",
                                                 "seed",
                                                 "memory-limit",
                                                 "link",
                                                 "pair",
                                                 "scenario",
                                                 "top",
                                                 "table",
                                                 "inter-node-link",
                                                 "stages-per-node",
                                                 "threads",
                                                 "json",
                                                 "markdown",
                                                 "svg",
                                                 "html",
                                                 "stages",
                                                 "vpp",
                                                 "schedules",
                                                 "recompute"};
constexpr std::array<std::string_view, 2> except{"flops", "measured-step"};
constexpr std::array<std::string_view, 11> chooses{
    "stages",           "vpp",           "recompute",       "tensor-parallel", "context-parallel",
    "expert-parallel",  "data-parallel", "microbatch-size", "zero-stage",      "distributed-optimizer",
    "sequence-parallel"};
constexpr std::array examples{Example{"ppsim plan --model llama-3-70b --device h100 --gpus 512 --global-batch 1024",
                                      "the 20 fastest of all configurations that fit"}};

} // namespace

const Command definition{.name = "plan",
                         .summary = "find the parallelism, schedule and recomputation that a cluster should train with",
                         .usage = "ppsim plan --model NAME --device NAME --gpus N --global-batch N [options]",
                         .argument = "",
                         .argument_help = "",
                         .sections = sections,
                         .extra = extra,
                         .except = except,
                         .chooses = chooses,
                         .examples = examples,
                         .run = run};

} // namespace ppsim::cli::plan_command
