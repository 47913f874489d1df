// ppsim selftest: whether the runtime works on this machine. CI runs it.

#include "ppsim/base/words.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/measured/validation.hpp"
#include "ppsim/runtime/calibration.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/build_run.hpp"
#include "ppsim/traces/run_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>

#include "files/files.hpp"
#include "files/scenario_file.hpp"
#include "options/commands.hpp"
#include "runs/replaying.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::cli::selftest_command {
namespace {

using Json = nlohmann::ordered_json;

/// The result of one part of the test.
struct Finding {
  std::string part;
  bool ok = true;
  std::string words;
  bool judged = true; ///< false: for information only
};

/// A schedule run with real tasks, at a valid size.
struct Case {
  std::string_view schedule;
  std::size_t stages;
  std::size_t microbatches;
};
/// One of each kind: all forwards first, alternating, several chunks, split backwards, V placement, both directions, no
/// flush.
constexpr std::array cases{Case{"gpipe", 2, 4}, Case{"1f1b", 2, 4},    Case{"interleaved", 2, 4}, Case{"zb-h1", 2, 4},
                           Case{"zb-v", 2, 4},  Case{"chimera", 2, 4}, Case{"pipedream", 2, 4}};

Inputs inputs_of(const Inputs& asked, const Case& run) {
  Inputs inputs;
  inputs.backend = asked.backend;
  inputs.stages = run.stages;
  inputs.microbatches = run.microbatches;
  inputs.schedule = std::string{run.schedule};
  if (run.schedule == "interleaved") inputs.vpp = {2};
  inputs.workload.tokens = 16;
  inputs.workload.width = 32;
  inputs.warmup = 1;
  inputs.steps = 4;
  return inputs;
}

MeasuredRun run_and_keep(const Replay& replay) {
  std::optional<MeasuredRun> run = run_replay(replay);
  PPSIM_ASSERT(run.has_value()); // one process
  return std::move(*run);
}

/// Every schedule that allows these sizes compiles to a verified program.
Finding test_programs() {
  std::size_t verified = 0;
  for (const Generator* generator : generators()) {
    Inputs inputs;
    inputs.stages = 4;
    inputs.microbatches = 8;
    inputs.schedule = std::string{generator->name};
    if (generator->vpp.multiple > 0) inputs.vpp = {std::max<std::size_t>(generator->vpp.multiple, 2)};
    inputs.pair = PairRule{.kind = PairRule::Kind::serial};
    BuiltRun run = build_run(inputs);
    const TaskGraph graph = lower(std::move(run.schedule), std::move(run.scenario), run.schedule_place);
    (void)runtime::compile(graph, simulate(graph)); // throws if verification fails
    ++verified;
  }
  return {"programs", true, fmt::format("{} schedules compiled and verified", verified)};
}

/// Results and memory of real tasks.
std::vector<Finding> test_results(const Inputs& asked) {
  Finding results{"results", true, {}};
  Finding memory{"memory", true,
                 fmt::format("as predicted, to the byte, on every stage of {} schedules", cases.size())};
  std::size_t equal_bits = 0;
  for (const Case& test : cases) {
    const Replay replay = prepare_replay(inputs_of(asked, test));
    const MeasuredRun run = run_and_keep(replay);
    const Validation validation = validate_run(replay.graph, replay.prediction, run, 0);
    const bool proved = run.proof && run.proof->holds();
    const bool falls = proved && run.proof->losses.back() < run.proof->losses.front();
    if (proved && run.proof->bit_equal) ++equal_bits;
    if (!falls) {
      results.ok = false;
      results.words += fmt::format("{}: {}; ", test.schedule, proved ? "the loss does not fall" : "results differ");
    }
    if (validation.knows_memory && validation.same_peaks()) continue;
    if (memory.ok) memory.words.clear();
    memory.ok = false;
    memory.words += fmt::format("{}: not as predicted; ", test.schedule);
  }
  if (results.ok)
    results.words = fmt::format("of {} schedules equal those of one task at a time, {} of them bit by bit; losses fall",
                                cases.size(), equal_bits);
  return {results, memory};
}

/// A faulty run must fail, name the task, and end in time.
Finding test_failures(const Inputs& asked) {
  using Clock = std::chrono::steady_clock;
  Finding finding{"failures", true, {}};
  std::size_t ended = 0;
  for (const std::string_view fault : {"fail@1F1", "lose@0F1"}) {
    Inputs inputs = inputs_of(asked, {"1f1b", 2, 4});
    inputs.fault = runtime::parse_fault(fault);
    inputs.timeout = std::chrono::milliseconds{500};
    const auto began = Clock::now();
    std::string what = "the run did not fail";
    bool failed = false;
    try {
      (void)run_and_keep(prepare_replay(inputs));
    } catch (const Error& error) {
      what.clear();
      failed = error.code() == ExitCode::failed;
      for (const Problem& problem : error.problems())
        what += in_flags(fmt::format("{}: {}; ", problem.where, problem.what));
    }
    const bool in_time = Clock::now() - began < std::chrono::seconds{5};
    const std::string_view task = fault.substr(fault.find('@') + 1);
    if (failed && in_time && what.find(task) != std::string::npos) {
      ++ended;
      continue;
    }
    finding.ok = false;
    finding.words += fmt::format("{}: {}{}; ", fault, in_time ? "" : "took longer than 5 s: ", what);
  }
  if (finding.ok) finding.words = fmt::format("{} injected failures ended the run in time and named the task", ended);
  return finding;
}

std::string in_words(const ComparedTime& step) {
  return fmt::format("{} predicted, {} measured ({:+.1f} %)", format_duration(step.predicted),
                     format_duration(step.measured), 100 * step.error());
}

/// The run reduced to its shortest step: other programs on the same cores can only make a step longer.
MeasuredRun shortest_step_of(MeasuredRun run) {
  const auto shortest = std::ranges::min_element(run.steps, {}, [](const Timeline& step) { return end_of(step); });
  run.steps = {*shortest};
  return run;
}

/// Timed tasks, through a run file and back. Retried while other load on the machine delays steps.
Finding test_timing(const Inputs& asked) {
  using Clock = std::chrono::steady_clock;
  constexpr double tolerance = 0.25;
  constexpr std::chrono::seconds patience{4};
  Inputs inputs = inputs_of(asked, {"1f1b", 4, 8});
  inputs.compute = runtime::Compute::timed;
  inputs.forward = {std::chrono::milliseconds{4}};
  inputs.backward = {std::chrono::milliseconds{8}};
  const Replay replay = prepare_replay(inputs);
  std::vector<std::string> notes;
  const TaskGraph graph = graph_of(inputs, replay.program.schedule, true, notes);
  const auto began = Clock::now();
  Validation validation;
  do {
    const MeasuredRun run = traces::read_run(traces::write_run(run_and_keep(replay)), "selftest");
    validation = validate_run(graph, simulate(graph), shortest_step_of(run), tolerance);
  } while (!validation.holds && Clock::now() - began < patience);
  return {"timing", validation.holds,
          fmt::format("timed tasks on {} stages, the shortest step: {}, {:.0f} % allowed", replay.program.stages.size(),
                      in_words(validation.step), 100 * tolerance)};
}

/// Real tasks: calibrated, read back as a scenario, replayed and validated. Times are for information only, because
/// cores may be shared.
std::vector<Finding> test_calibration(const Inputs& asked) {
  Inputs inputs = inputs_of(asked, {"1f1b", 2, 4});
  inputs.workload.tokens = 64;
  inputs.workload.width = 64;
  runtime::Backend& backend = backend_of(inputs);
  const Schedule schedule = build_run(inputs).schedule;
  const auto calibration = runtime::calibrate(backend, schedule, run_options(inputs, backend, schedule, false));
  PPSIM_ASSERT(calibration.has_value()); // one process
  Problems problems;
  Inputs calibrated;
  assign(ScenarioFile{calibration_toml(*calibration), "calibration", problems}.keys(), calibrated, problems);
  problems.throw_if_any();
  calibrated.stages = 2;
  calibrated.microbatches = 4;
  calibrated.schedule = "gpipe";
  const Replay replay = prepare_replay(calibrated);
  const MeasuredRun run = run_and_keep(replay);
  const Validation validation = validate_run(replay.graph, replay.prediction, run, 1);
  const bool same_peaks = validation.knows_memory && validation.same_peaks();
  const bool proved = run.proof && run.proof->holds();
  const Finding costs{"costs", same_peaks && proved,
                      fmt::format("calibrated with 1f1b, used for gpipe: {}, {}",
                                  same_peaks ? "memory as they predict" : "the memory differs from their prediction",
                                  proved ? "results equal those of one task at a time"
                                         : "the results differ from those of one task at a time")};
  const Finding step{.part = "real step",
                     .words = fmt::format("gpipe with these costs: {}{}", in_words(validation.step),
                                          validation.contended ? ", contended" : ""),
                     .judged = false};
  return {costs, step};
}

/// Throws runtime::NoThread if nothing could be tested.
std::vector<Finding> test_all(const Inputs& inputs) {
  std::vector<Finding> findings;
  const auto add = [&](std::string_view part, const std::function<std::vector<Finding>()>& test) {
    try {
      std::ranges::move(test(), std::back_inserter(findings));
    } catch (const runtime::NoThread&) {
      throw;
    } catch (const Error& error) {
      const Problem& problem = error.problems().front();
      findings.push_back({std::string{part}, false, in_flags(fmt::format("{}: {}", problem.where, problem.what))});
    }
  };
  add("programs", [] { return std::vector{test_programs()}; });
  add("results", [&] { return test_results(inputs); });
  add("failures", [&] { return std::vector{test_failures(inputs)}; });
  add("timing", [&] { return std::vector{test_timing(inputs)}; });
  add("costs", [&] { return test_calibration(inputs); });
  return findings;
}

std::string findings_json(const runtime::Backend& backend, const std::vector<Finding>& findings, bool ok) {
  Json json{{"schema", 1}, {"backend", backend.name()}, {"ok", ok}, {"parts", Json::array()}};
  for (const Finding& finding : findings)
    json["parts"].push_back(
        {{"part", finding.part}, {"ok", finding.ok}, {"judged", finding.judged}, {"found", finding.words}});
  return json.dump(2) + "\n";
}

ExitCode run(const Inputs& inputs) {
  if (inputs.backend && runtime::find_backend(*inputs.backend).processes)
    throw Error{ExitCode::bad_input,
                Problem{"--backend",
                        fmt::format("{} needs several processes, but selftest is one process", *inputs.backend),
                        fmt::format("mpirun -n 4 ppsim replay --backend {} --stages 4 --mb 8", *inputs.backend)}};
  if (inputs.json) require_writable(*inputs.json, "--json");
  runtime::Backend& backend = backend_of(inputs);
  const std::vector<Finding> findings = test_all(inputs);
  const bool ok = std::ranges::all_of(findings, &Finding::ok);
  if (inputs.json) write_file(*inputs.json, findings_json(backend, findings, ok), "--json");
  if (inputs.json == "-") return ok ? ExitCode::done : ExitCode::no;
  std::string text = fmt::format("selftest of backend {}: {}\n", backend.name(), backend.usability().why);
  for (const Finding& finding : findings)
    text += fmt::format("  {:10}  {:9}  {}\n",
                        !finding.judged ? "not judged"
                        : finding.ok    ? "ok"
                                        : "FAILED",
                        finding.part, finding.words);
  write_file("-", text, "selftest");
  return ok ? ExitCode::done : ExitCode::no;
}

constexpr std::array<std::string_view, 2> extra{"backend", "json"};
constexpr std::array examples{
    Example{"ppsim selftest", "takes a few seconds; exit status 0 when everything works, else 3"},
    Example{"ppsim selftest --backend cuda", "the same on a GPU"},
};

} // namespace

const Command definition{.name = "selftest",
                         .summary = "test the runtime on this machine: programs, results, memory, failures, timing",
                         .usage = "ppsim selftest [--backend NAME] [--json[=FILE]]",
                         .argument = "",
                         .argument_help = "",
                         .sections = {},
                         .extra = extra,
                         .examples = examples,
                         .run = run};

} // namespace ppsim::cli::selftest_command
