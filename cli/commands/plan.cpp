// ppsim plan: which configuration a cluster should train with.

#include "ppsim/plan/plan.hpp"

#include "ppsim/base/parallel.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/study/compare.hpp"
#include "ppsim/traces/plan.hpp"
#include "ppsim/viz/plan.hpp"

#include <fmt/format.h>

#include <array>

#include "files/files.hpp"
#include "files/outputs.hpp"
#include "options/commands.hpp"
#include "terminal/console.hpp"
#include "terminal/progress.hpp"
#include "terminal/terminal.hpp"

namespace ppsim::cli::plan_command {
namespace {

/// What a flag says of a degree is all that may be chosen.
void fix(const Inputs& inputs, PlanChoices& choices) {
  const Training& training = inputs.training;
  const auto fix_one = [&](std::string_view option, std::vector<std::int64_t>& choice, std::int64_t value) {
    if (inputs.has(option)) choice = {value};
  };
  fix_one("tensor-parallel", choices.tensor, training.tensor_parallel);
  fix_one("context-parallel", choices.context, training.context_parallel);
  fix_one("expert-parallel", choices.expert, training.expert_parallel);
  fix_one("data-parallel", choices.data, training.data_parallel);
  fix_one("microbatch-size", choices.microbatch_size, training.microbatch_size);
  fix_one("zero-stage", choices.zero_stage, training.zero_stage.value_or(1));
  if (inputs.has("distributed-optimizer") && !inputs.has("zero-stage"))
    choices.zero_stage =
        training.distributed_optimizer ? std::vector<std::int64_t>{1, 2, 3} : std::vector<std::int64_t>{0};
  if (inputs.has("sequence-parallel")) choices.sequence_parallel = training.sequence_parallel;
}

/// What a plan computes or chooses itself, and what would not hold of all configurations: a scenario file can say it.
void refuse_others(const Inputs& inputs, Problems& problems) {
  for (const RunField& field : run_fields()) {
    const Option* const option = find_option(field.name);
    if (option != nullptr && inputs.has(field.name) && !definition.takes(*option))
      problems.add(inputs.place_of(field.name), "a plan chooses or computes it",
                   "leave it out; --fixed names what may be chosen");
  }
}

PlanRequest request_of(const Inputs& inputs) {
  Problems problems;
  refuse_others(inputs, problems);
  if (inputs.table && inputs.table->ends_with(".jsonl"))
    problems.add(inputs.place_of("table"), "is CSV here", "give FILE.csv; --json has the rows as JSON");
  if (!inputs.gpus) problems.add("--gpus", "missing", "how many devices are there? for example --gpus 512");
  if (!inputs.global_batch)
    problems.add("--global-batch", "missing", "how many samples make a step? for example --global-batch 1024");
  if (!inputs.model_shape) problems.add("--model", "missing", "give one ('ppsim list models')");
  if (!inputs.device_sheet) problems.add("--device", "missing", "give one ('ppsim list devices')");
  problems.throw_if_any();
  check_figure(inputs);
  PlanRequest request{.run = static_cast<const RunSpec&>(inputs),
                      .gpus = *inputs.gpus,
                      .global_batch = *inputs.global_batch,
                      .choices = inputs.choices,
                      .framework = inputs.framework.value_or(Framework::any),
                      .top = inputs.top.value_or(PlanRequest{}.top)};
  fix(inputs, request.choices);
  return request;
}

/// What runs a row: what was said of all, and what is chosen.
std::vector<std::string> arguments_of(const Inputs& inputs, const PlanRequest& request,
                                      const Configuration& configuration) {
  std::vector<std::string> arguments;
  const std::vector<std::string_view> left_out = void_options(request, configuration);
  const auto chosen = configuration.options();
  for (const Assignment& flag : inputs.flags) {
    const auto is_chosen = [&](const auto& option) { return option.first == flag.option->name; };
    constexpr std::array sections_of_run{Section::model, Section::memory, Section::communication, Section::costs,
                                         Section::scenario};
    if (std::ranges::find(sections_of_run, flag.option->section) == sections_of_run.end()) continue;
    if (flag.option->name == "zero-stage" || std::ranges::any_of(chosen, is_chosen)) continue;
    if (std::ranges::find(left_out, flag.option->name) != left_out.end()) continue;
    arguments.push_back(fmt::format("--{}", flag.option->name));
    arguments.push_back(flag.value);
  }
  for (const auto& [name, value] : chosen) {
    arguments.push_back(fmt::format("--{}", name));
    arguments.push_back(value);
  }
  return arguments;
}

/// A plan as it is shown.
struct Shown : viz::PlanShown {
  std::vector<std::vector<std::string>> arguments; ///< by row
};

constexpr std::array outputs{
    Output<Shown>{"svg", &Inputs::svg,
                  [](const Shown& shown, const Inputs& inputs) {
                    if (shown.plan.rows.empty() || !shown.plan.memory_limit)
                      throw Error{ExitCode::no, Problem{inputs.place_of("svg"), "nothing fits that it could draw",
                                                        "see the table without it"}};
                    return viz::svg_plan(shown);
                  }},
    Output<Shown>{"json", &Inputs::json,
                  [](const Shown& shown, const Inputs&) {
                    return traces::plan_json(shown.request, shown.plan, shown.answers, shown.arguments);
                  }},
    Output<Shown>{"table", &Inputs::table,
                  [](const Shown& shown, const Inputs&) { return traces::plan_csv(shown.plan); }},
    Output<Shown>{"markdown", &Inputs::markdown,
                  [](const Shown& shown, const Inputs&) { return viz::plan_markdown(shown); }}};

ExitCode run(const Inputs& inputs) {
  Shown shown;
  shown.request = request_of(inputs);
  const bool stdout_taken = uses_stdout(outputs, inputs);
  require_writable(outputs, inputs);
  const std::size_t threads = inputs.threads.value_or(machine_threads());
  {
    LineShown line;
    const auto watch = [&line](std::uint64_t simulated) { line.show(fmt::format("{} simulated", simulated)); };
    shown.plan = find_plan(shown.request, threads, watch);
    line.show("what other constants would change");
    if (!shown.plan.rows.empty()) shown.answers = answer(shown.request, shown.plan, threads);
  }
  for (const PlanRow& row : shown.plan.rows) {
    shown.arguments.push_back(arguments_of(inputs, shown.request, row.configuration));
    shown.fields.push_back(fmt::format("ppsim {}", fmt::join(shown.arguments.back(), " ")));
  }
  write_outputs(outputs, shown, inputs);
  if (!stdout_taken) write_file("-", viz::plan_text(shown, terminal_options()), "plan");
  return shown.plan.rows.empty() ? ExitCode::no : ExitCode::done;
}

constexpr std::array sections{Section::model, Section::planning};
constexpr std::array<std::string_view, 16> extra{
    "rank-by", "jitter",          "samples",         "seed",    "memory-limit", "link",     "pair", "scenario", "top",
    "table",   "inter-node-link", "stages-per-node", "threads", "json",         "markdown", "svg"};
constexpr std::array<std::string_view, 2> except{"flops", "measured-step"};
constexpr std::array examples{Example{"ppsim plan --model llama-3-70b --device h100 --gpus 512 --global-batch 1024",
                                      "the twenty fastest of all configurations that fit"}};

} // namespace

const Command definition{.name = "plan",
                         .summary =
                             "which degrees of parallelism, schedule and recomputation a cluster should train with",
                         .usage = "ppsim plan --model NAME --device NAME --gpus N --global-batch N [options]",
                         .argument = "",
                         .argument_help = "",
                         .sections = sections,
                         .extra = extra,
                         .except = except,
                         .examples = examples,
                         .run = run};

} // namespace ppsim::cli::plan_command
