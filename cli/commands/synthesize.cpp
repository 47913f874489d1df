// ppsim synthesize: the best order found for these costs and this memory, with a bound on the optimum.

#include "ppsim/study/synthesize.hpp"

#include "ppsim/base/parallel.hpp"
#include "ppsim/study/evaluate.hpp"
#include "ppsim/traces/certificate_file.hpp"
#include "ppsim/traces/json.hpp"
#include "ppsim/traces/schedule_file.hpp"
#include "ppsim/viz/svg.hpp"
#include "ppsim/viz/synthesis.hpp"
#include "ppsim/viz/text.hpp"
#include "ppsim/viz/variation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <limits>
#include <utility>

#include "files/chart.hpp"
#include "files/files.hpp"
#include "files/outputs.hpp"
#include "options/commands.hpp"
#include "runs/pages.hpp"
#include "terminal/console.hpp"
#include "terminal/interruption.hpp"
#include "terminal/progress.hpp"
#include "terminal/terminal.hpp"

namespace ppsim::cli::synthesize_command {
namespace {

/// Default number of rounds (docs/synthesis.md has their duration).
constexpr std::uint64_t usual_effort = 4;

/// Of its best order.
std::string certificate_text(const Synthesis& synthesis, const Inputs& inputs, std::string_view title) {
  Certificate certificate = certificate_of(synthesis.orders.front());
  certificate.title = title;
  certificate.command = inputs.command;
  return traces::write_certificate(certificate);
}

struct Synthesized {
  Synthesis synthesis;
  Evaluation run; ///< of the shortest order
};

/// Ends each placement's search after its time limit, and all at the first Ctrl-C.
class Clock {
public:
  explicit Clock(std::optional<Duration> limit) : limit_{limit} {}

  void start() { start_ = std::chrono::steady_clock::now(); }

  bool goes_on(const ChunkPlacement& placement, const synthesis::Progress& progress) {
    const Duration makespan{progress.makespan};
    const Duration bound{progress.bound};
    if (makespan > Duration{0} && bound == Duration{0})
      shown_.show(fmt::format("{}: first orders, {}", placement.name, format_duration(makespan)));
    else if (makespan > Duration{0})
      shown_.show(fmt::format("{}: round {}, {}, at most {:.2f} % above the proven bound", placement.name,
                              progress.effort, format_duration(makespan), 100 * fraction(makespan - bound, bound)));
    return !Interruption::has_come() && !(limit_ && std::chrono::steady_clock::now() - start_ >= *limit_);
  }

private:
  std::optional<Duration> limit_;
  std::chrono::steady_clock::time_point start_;
  Interruption interruption_;
  ProgressLine shown_;
};

SynthesisRequest request_of(const Inputs& inputs) {
  if (inputs.effort && inputs.search_time)
    throw Error{ExitCode::bad_input,
                Problem{"--effort", "given together with --time",
                        "give one: --effort for the same result each time, --time for a search of that length"}};
  SynthesisRequest request{.placements = inputs.placements,
                           .splits_backward = !inputs.no_split,
                           .objective = inputs.objective.value_or(Objective::makespan),
                           .effort = inputs.effort.value_or(usual_effort),
                           .seed = inputs.workload.seed,
                           .gap_ppm = static_cast<std::int64_t>(1e6 * inputs.gap.value_or(0.0)),
                           .threads = inputs.threads.value_or(machine_threads()),
                           .certifies = inputs.certificate.has_value()};
  if (inputs.search_time) request.effort = std::numeric_limits<std::uint64_t>::max();
  if (request.placements.empty()) request.placements.push_back(find_chunk_placement("linear").value());
  return request;
}

/// Calls `find` while a clock runs.
template <class Find>
auto watched(const Inputs& inputs, Find find) {
  SynthesisRequest request = request_of(inputs);
  Clock clock{inputs.search_time};
  request.begins = [&clock](const ChunkPlacement&) { clock.start(); };
  request.go_on = [&clock](const ChunkPlacement& placement, const synthesis::Progress& progress) {
    return clock.goes_on(placement, progress);
  };
  auto found = find(request);
  if (Interruption::has_come())
    note("interrupted: these are the best orders so far; placements not yet searched have their first order");
  return found;
}

Synthesized search(const Inputs& inputs) {
  Synthesis synthesis = watched(inputs, [&](const SynthesisRequest& request) { return synthesize(inputs, request); });
  if (synthesis.orders.empty())
    throw Error{ExitCode::no,
                Problem{"synthesize", "no order was found that fits", "search longer (--effort) or give more memory"}};
  RunSpec shown = synthesis.orders.front().spec;
  const auto finished = [&synthesis](Evaluation run) {
    run.report.balance = synthesis.orders.front().balance;
    return Synthesized{std::move(synthesis), std::move(run)};
  };
  try {
    return finished(evaluate(shown));
  } catch (const Error& error) { // the order stays valid: only this transfer model cannot run it
    if (error.code() != ExitCode::no) throw;
    note("{}: {}; shown and written as it runs under latency", inputs.place_of("transfer"),
         error.problems().front().what);
  }
  shown.transfer = TransferModel::latency;
  return finished(evaluate(shown));
}

std::string report_of(const Synthesized& found, const Inputs& inputs, viz::TextOptions options) {
  options.advises = false;
  const bool only_linear = inputs.placements.empty(); // and not by choice
  return viz::synthesis_text(found.synthesis, found.run.report) +
         (only_linear ? "              only orders with one chunk per stage were searched: see --placement\n" : "") +
         "\n" + viz::text_report(found.run.graph, found.run.timeline, found.run.report, options);
}

std::string json_of(const Synthesized& found, const Inputs& inputs) {
  return traces::synthesis_json(found.synthesis, inputs.workload.seed, found.run.graph, found.run.timeline,
                                found.run.report);
}

std::string page(const Synthesized& found, const Inputs& inputs) {
  const Evaluation& run = found.run;
  const std::array<viz::Panel, 1> runs{{{run.graph, run.timeline, run.report, run.graph.schedule().name()}}};
  return page_of({.command = "synthesize", .text = report_of(found, inputs, page_text), .json = json_of(found, inputs)},
                 runs);
}

constexpr std::array outputs{
    Output<Synthesized>{"json", &Inputs::json, json_of},
    Output<Synthesized>{"html", &Inputs::html, page},
    Output<Synthesized>{"svg", &Inputs::svg,
                        [](const Synthesized& found, const Inputs& inputs) {
                          return viz::svg_gantt(found.run.graph, found.run.timeline, found.run.report,
                                                memory_lanes(inputs));
                        }},
    Output<Synthesized>{"progress-svg", &Inputs::progress_svg,
                        [](const Synthesized& found, const Inputs&) {
                          return viz::svg_progress(found.synthesis.orders.front(), found.run.graph.scenario());
                        }},
    Output<Synthesized>{"csv", &Inputs::csv,
                        [](const Synthesized& found, const Inputs& inputs) {
                          return traces::write_schedule(found.run.graph, *inputs.csv);
                        }},
    Output<Synthesized>{"certificate", &Inputs::certificate,
                        [](const Synthesized& found, const Inputs& inputs) {
                          return certificate_text(found.synthesis, inputs, found.run.graph.scenario().title);
                        }},
};

using Front = std::vector<FrontPoint>;

/// The front as curves: the best order, the bound, the best named schedule.
Variation curves(const Front& front, const Inputs& inputs) {
  Variation variation{.axis = *inputs.vary,
                      .title = inputs.title.value_or(""),
                      .source = "",
                      .stages = inputs.stages.value_or(0),
                      .microbatches = inputs.microbatches.value_or(0),
                      .points = {},
                      .lines = {{"synthesized", false, {}}, {"proven bound", false, {}}, {"best by name", false, {}}},
                      .best = {},
                      .crossings = {}};
  for (const FrontPoint& point : front) {
    variation.points.push_back(point.value);
    std::array<std::optional<Sample>, 3> samples;
    if (!point.synthesis.orders.empty()) {
      const SynthesizedOrder& order = point.synthesis.orders.front();
      if (!order.deadlocks()) samples[0] = Sample{.step_time = order.run_length()};
      samples[1] = Sample{.step_time = order.bound};
      if (order.best_named) samples[2] = Sample{.step_time = order.best_named->length};
    }
    for (std::size_t i = 0; i < samples.size(); ++i) variation.lines[i].samples.push_back(samples[i]);
    const std::optional<std::size_t> line = samples[0] ? std::optional<std::size_t>{0} : std::nullopt;
    if (variation.best.empty() || variation.best.back().line != line)
      variation.best.push_back({point.value, point.value, line});
    variation.best.back().to = point.value;
  }
  return variation;
}

constexpr std::size_t usual_points = 8;
constexpr std::array front_outputs{
    Output<Front>{"svg", &Inputs::svg,
                  [](const Front& front, const Inputs& inputs) { return viz::svg_variation(curves(front, inputs)); }},
    Output<Front>{"json", &Inputs::json, [](const Front& front, const Inputs& inputs) {
                    return traces::front_json(front, *inputs.vary, inputs.workload.seed);
                  }}};

/// Where the certificate of a point stands: of c.json and 20 GiB in c-20GiB.json.
std::string certificate_path(const Inputs& inputs, std::int64_t value) {
  std::string point = inputs.vary->format(value);
  std::erase(point, ' ');
  std::filesystem::path path{*inputs.certificate};
  path.replace_filename(fmt::format("{}-{}{}", path.stem().string(), point, path.extension().string()));
  return path.string();
}

void write_certificates(const Front& front, const Inputs& inputs) {
  for (const FrontPoint& point : front)
    if (!point.synthesis.orders.empty())
      write_file(certificate_path(inputs, point.value),
                 certificate_text(point.synthesis, inputs, inputs.title.value_or("")), "--certificate");
}

/// Each once: points often have the same.
std::vector<std::string> notes_of(const Front& front) {
  std::vector<std::string> notes;
  for (const FrontPoint& point : front)
    for (const std::string& note : point.synthesis.notes)
      if (std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
  return notes;
}

/// The results for other memory limits, or other values of any numeric option.
ExitCode run_front(const Inputs& inputs) {
  Problems problems;
  for (const auto& [option, given] : {std::pair{"csv", &inputs.csv}, std::pair{"progress-svg", &inputs.progress_svg},
                                      std::pair{"html", &inputs.html}})
    if (*given)
      problems.add(inputs.place_of(option), "holds one order, but --vary makes several", "leave it or --vary out");
  if (inputs.svg_memory)
    problems.add(inputs.place_of("svg-memory"), "--vary draws no Gantt chart", "leave it or --vary out");
  if (inputs.certificate == "-")
    problems.add(inputs.place_of("certificate"), "--vary writes a file for each point",
                 "name it: c.json writes c-8.json and so on");
  if (inputs.balance)
    problems.add(inputs.place_of("balance"), "each point would have a split of its own",
                 "leave --vary out; you can give the split found as --layout");
  problems.throw_if_any();
  const bool stdout_taken = uses_stdout(front_outputs, inputs);
  require_writable(front_outputs, inputs);
  const std::size_t points = inputs.points.value_or(usual_points);
  if (inputs.certificate)
    for (const std::int64_t value : points_of(*inputs.vary, {.points = points, .precision = 1}))
      require_writable(certificate_path(inputs, value), "--certificate");
  const Front front = watched(
      inputs, [&](SynthesisRequest& request) { return synthesize_along(inputs, request, *inputs.vary, points); });
  note_all(notes_of(front));
  write_outputs(front_outputs, front, inputs);
  if (inputs.certificate) write_certificates(front, inputs);
  if (!stdout_taken) write_file("-", viz::front_text(front, *inputs.vary), "synthesize");
  const auto has_order = [](const FrontPoint& point) { return !point.synthesis.orders.empty(); };
  return std::ranges::any_of(front, has_order) ? ExitCode::done : ExitCode::no;
}

ExitCode run(const Inputs& inputs) {
  if (inputs.vary) return run_front(inputs);
  require_chart(inputs);
  const bool stdout_taken = uses_stdout(outputs, inputs);
  require_writable(outputs, inputs);
  const Synthesized found = search(inputs);
  note_all(found.synthesis.notes);
  note_all(found.run.notes);
  write_outputs(outputs, found, inputs);
  if (!stdout_taken) write_file("-", report_of(found, inputs, terminal_options()), "synthesize");
  return found.run.report.overflow ? ExitCode::no : ExitCode::done;
}

constexpr std::array sections{Section::pipeline, Section::model,    Section::costs,    Section::communication,
                              Section::memory,   Section::scenario, Section::synthesis};
constexpr std::array<std::string_view, 9> extra{"seed", "threads",    "vary", "points", "json",
                                                "svg",  "svg-memory", "html", "csv"};
constexpr std::array<std::string_view, 8> except{"overlap-moe-expert-parallel-comm",
                                                 "schedule",
                                                 "schedule-file",
                                                 "forward-only",
                                                 "group-size",
                                                 "gpipe-backward",
                                                 "replicas",
                                                 "send-slices"};
constexpr std::array examples{
    Example{"ppsim synthesize --stages 8 --mb 32 --forward 12ms --backward 25ms --comm 6ms --activation-limit 8 --csv "
            "order.csv",
            "an order for slow links that holds at most 8 activations per stage, and how far it can be from the best"},
    Example{"ppsim synthesize --scenario traces/samples/zero-bubble-1.5b-m24.toml --placement all --time 10s",
            "a profiled model: the best placement of its chunks; 10 s of search for each"},
    Example{"ppsim synthesize --scenario traces/samples/zero-bubble-1.5b-m24.toml --placement v --vary "
            "memory-limit=20GiB..44GiB --points 5",
            "what more memory would gain; each point with its proof"},
};

} // namespace

const Command definition{.name = "synthesize",
                         .summary =
                             "search for the best order for these costs and this memory, and prove how good it is",
                         .usage = "ppsim synthesize --stages P --mb M [--placement NAME,...] [--memory-limit SIZE | "
                                  "--activation-limit N] [--effort N | --time TIME] [options]",
                         .makes_run = true,
                         .sections = sections,
                         .extra = extra,
                         .except = except,
                         .examples = examples,
                         .run = run};

} // namespace ppsim::cli::synthesize_command
