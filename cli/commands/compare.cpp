// ppsim compare: the same work under several schedules, and which one to take.

#include "ppsim/study/compare.hpp"

#include "ppsim/base/parallel.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/scenario/layout.hpp"
#include "ppsim/study/evaluate.hpp"
#include "ppsim/study/vary.hpp"
#include "ppsim/traces/json.hpp"
#include "ppsim/viz/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "files/files.hpp"
#include "files/outputs.hpp"
#include "options/commands.hpp"
#include "runs/fitting.hpp"
#include "runs/judging.hpp"
#include "runs/pages.hpp"
#include "terminal/console.hpp"
#include "terminal/progress.hpp"
#include "terminal/terminal.hpp"
#include "variation.hpp"

namespace ppsim::cli::compare_command {
namespace {

std::size_t threads_of(const Inputs& inputs) {
  return inputs.threads.value_or(machine_threads());
}

/// The most charts on one picture.
constexpr std::size_t most_charts = 8;

/// The contenders to draw: the fastest, and always the recommended one.
std::vector<std::size_t> drawn(const Comparison& comparison, std::size_t most) {
  std::vector<std::size_t> positions(std::min(most, comparison.contenders.size()));
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  if (const auto& recommendation = comparison.recommendation; recommendation && recommendation->best >= most)
    positions.back() = recommendation->best;
  return positions;
}

/// A comparison with its recommendation.
struct ComparisonOutput : ComparedRuns {
  std::string recommendation; ///< in words
};

std::string recommend(const Comparison& comparison, const Inputs& inputs) {
  std::string words = viz::recommendation_text(comparison);
  if (inputs.balance && comparison.recommendation) {
    const Contender& best = comparison.contenders[comparison.recommendation->best];
    words += fmt::format(" Each schedule has the best split of layers found for it; the split of {} is --layout '{}'.",
                         best.name, to_string(best.layout));
  }
  if (std::ranges::none_of(comparison.contenders, &Contender::fits))
    words += what_would_fit(inputs, threads_of(inputs));
  return words;
}

/// A contender's run, simulated again because a comparison keeps only reports.
struct RepeatedRun {
  Evaluation run;
  RunReport report; ///< as in the comparison
};

/// The output of `draw` for the first `most` of them. `with_others`: reports include the results of other runs.
template <class Draw>
std::string drawn_by(Draw draw, std::size_t most, bool with_others, const ComparisonOutput& compared,
                     const Inputs& inputs) {
  const Comparison& comparison = compared.comparison;
  const std::vector<std::size_t> positions = drawn(comparison, most);
  std::vector<std::optional<RepeatedRun>> runs(positions.size());
  for_each_index(positions.size(), threads_of(inputs), [&](std::size_t i) {
    const Contender& contender = comparison.contenders[positions[i]];
    const RunSpec& spec = compared.candidate_of(contender).spec;
    RepeatedRun& made = runs[i].emplace(evaluate(spec), contender.report);
    if (!with_others) return;
    add_others(spec, made.run, false);
    made.report.what_if = made.run.report.what_if;
    made.report.alternatives = made.run.report.alternatives;
  });
  std::vector<viz::Panel> panels;
  for (std::size_t i = 0; i < positions.size(); ++i)
    panels.push_back({runs[i]->run.graph, runs[i]->run.timeline, runs[i]->report,
                      comparison.contenders[positions[i]].name,
                      comparison.recommendation && comparison.recommendation->best == positions[i]});
  return draw(panels);
}

std::string charts(const ComparisonOutput& compared, const Inputs& inputs) {
  const auto draw = [&](std::span<const viz::Panel> panels) {
    return viz::svg_comparison(compared.comparison, panels);
  };
  return drawn_by(draw, most_charts, false, compared, inputs);
}

std::string page_title(std::size_t compared, std::size_t shown) {
  const std::string title = counted(compared, "schedule") + " compared";
  return compared == shown ? title : fmt::format("{}, {} of them here", title, shown);
}

std::string page(const ComparisonOutput& compared, const Inputs& inputs) {
  const Comparison& comparison = compared.comparison;
  const auto draw = [&](std::span<const viz::Panel> panels) {
    return page_of(
        {.command = "compare",
         .title = comparison.title.empty() ? page_title(comparison.contenders.size(), panels.size()) : comparison.title,
         .source = comparison.source,
         .text = viz::comparison_text(comparison, compared.recommendation, page_text),
         .json = traces::comparison_json(comparison, compared.recommendation)},
        panels);
  };
  return drawn_by(draw, most_runs_on_page, true, compared, inputs);
}

constexpr std::array outputs{
    Output<ComparisonOutput>{"svg", &Inputs::svg, charts},
    Output<ComparisonOutput>{"html", &Inputs::html, page},
    Output<ComparisonOutput>{
        "jitter-svg", &Inputs::jitter_svg,
        [](const ComparisonOutput& compared, const Inputs&) { return viz::svg_step_spread(compared.comparison); }},
    Output<ComparisonOutput>{"json", &Inputs::json,
                             [](const ComparisonOutput& compared, const Inputs&) {
                               return traces::comparison_json(compared.comparison, compared.recommendation);
                             }},
    Output<ComparisonOutput>{
        "table", &Inputs::table,
        [](const ComparisonOutput& compared, const Inputs&) { return traces::comparison_csv(compared.comparison); }},
    Output<ComparisonOutput>{"markdown", &Inputs::markdown,
                             [](const ComparisonOutput& compared, const Inputs&) {
                               return viz::comparison_markdown(compared.comparison, compared.recommendation);
                             }},
};

/// Throws Error for options that have no effect on such a comparison.
void check_options(const Inputs& inputs) {
  if (inputs.jitter_svg && (!inputs.varies_by_chance() || inputs.vary))
    throw Error{ExitCode::bad_input,
                Problem{inputs.place_of("jitter-svg"), "there are no sampled steps to draw",
                        inputs.vary ? "leave it or --vary out" : "give --jitter or --jitter-from"}};
  if (inputs.vary && inputs.html)
    throw Error{ExitCode::bad_input, Problem{inputs.place_of("html"), "is of one comparison, not of a range",
                                             "leave --vary out; --svg draws a range"}};
  if (inputs.vary && inputs.table)
    throw Error{ExitCode::bad_input, Problem{inputs.place_of("table"), "is for one comparison, not for a range",
                                             "leave --vary out, or give it to 'ppsim sweep'"}};
  if (inputs.by_memory)
    throw Error{ExitCode::bad_input, Problem{inputs.place_of("rank-by"), "memory ranks the rows of 'ppsim plan'",
                                             "leave it out: the table has the memory of each"}};
  if (inputs.table && inputs.table->ends_with(".jsonl"))
    throw Error{ExitCode::bad_input, Problem{inputs.place_of("table"), "can only be CSV here",
                                             "give FILE.csv; --json has the rows as JSON"}};
}

ExitCode run(const Inputs& inputs) {
  check_options(inputs);
  if (inputs.vary) return run_variation(inputs);
  const bool stdout_taken = uses_stdout(outputs, inputs);
  ComparisonOutput shown{compare_watched(inputs, threads_of(inputs)), {}};
  shown.recommendation = recommend(shown.comparison, inputs);
  const Comparison& comparison = shown.comparison;
  const RunReport* const taken =
      comparison.recommendation ? &comparison.contenders[comparison.recommendation->best].report : nullptr;
  if (taken != nullptr) check_conditions(inputs, *taken);
  if (taken == nullptr && !inputs.fail_if.empty() && std::ranges::any_of(comparison.contenders, &Contender::fits))
    throw Error{ExitCode::bad_input,
                Problem{inputs.place_of("fail-if"), "there is no recommended schedule to test",
                        "compare at least one schedule with a flush, or test one schedule with 'ppsim simulate'"}};
  if (inputs.jitter_svg && sampled_as(comparison) == nullptr)
    throw Error{ExitCode::bad_input,
                Problem{inputs.place_of("jitter-svg"), "no schedule was sampled, so there is nothing to draw",
                        "compare at least one schedule with a flush and a synchronous optimizer"}};
  note_all(shown.notes);
  write_outputs(outputs, shown, inputs);
  if (!stdout_taken)
    write_file("-", viz::comparison_text(comparison, shown.recommendation, terminal_options()), "comparison");
  const bool fails = (taken != nullptr && holds_any(inputs, *taken)) || shown.order_refused;
  return !fails && std::ranges::any_of(comparison.contenders, &Contender::fits) ? ExitCode::done : ExitCode::no;
}

constexpr std::array sections{Section::pipeline, Section::model,    Section::costs,     Section::communication,
                              Section::memory,   Section::scenario, Section::comparison};
constexpr std::array<std::string_view, 9> extra{"bound", "jitter", "jitter-from", "samples", "fail-if",
                                                "seed",  "json",   "svg",         "html"};
constexpr std::array<std::string_view, 2> except{"schedule", "resume"}; // replaced by --schedules
constexpr std::array examples{
    Example{"ppsim compare --stages 8 --mb 64",
            "every schedule that allows this shape, fastest first, and which to use"},
    Example{"ppsim compare --scenario traces/samples/zero-bubble-1.5b-m24.toml --svg compare.svg",
            "a profiled model with all schedules, and their charts on one time axis"},
    Example{"ppsim compare --stages 8 --mb 64 --schedules 1f1b,interleaved,zb-v --vpp 1,2,4 --markdown",
            "some schedules, with 1, 2 and 4 chunks per stage, as a table for GitHub"},
    Example{"ppsim compare --stages 8 --mb 64 --vary comm=0..2ms --svg vary.svg",
            "the transfer times at which another schedule becomes the best, and a plot of step times"},
};

} // namespace

const Command definition{
    .name = "compare",
    .summary = "compare schedules: which is fastest, what it needs, whether it fits (exit status 3 when none fits)",
    .usage = "ppsim compare --stages P --mb M [--vpp V,...] [--schedules NAME,...] [options]",
    .argument = "",
    .argument_help = "",
    .makes_run = true,
    .sections = sections,
    .extra = extra,
    .except = except,
    .examples = examples,
    .run = run};

} // namespace ppsim::cli::compare_command
