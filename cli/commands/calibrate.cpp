// ppsim calibrate: measures tasks and transfers on this machine, as a scenario.

#include "ppsim/base/error.hpp"
#include "ppsim/runtime/calibration.hpp"
#include "ppsim/study/build_run.hpp"

#include <fmt/format.h>

#include <array>

#include "files/files.hpp"
#include "files/outputs.hpp"
#include "options/commands.hpp"
#include "runs/replaying.hpp"
#include "terminal/console.hpp"

namespace ppsim::cli::calibrate_command {
namespace {

/// Without costs, which are the result; only the order and the shape count.
Schedule schedule_of(const Inputs& inputs) {
  Inputs shaped;
  shaped.where = inputs.where; // for errors
  shaped.stages = inputs.stages;
  shaped.vpp = inputs.vpp;
  shaped.schedule = inputs.schedule;
  shaped.order = inputs.order;
  shaped.microbatches = inputs.microbatches;
  if (!inputs.microbatches && inputs.order == nullptr)
    shaped.microbatches = 2 * inputs.stages.value_or(1); // long enough for a steady state
  shaped.pair = PairRule{.kind = PairRule::Kind::serial};
  Schedule schedule = build_run(shaped).schedule;
  if (schedule.asynchronous())
    throw Error{ExitCode::bad_input,
                Problem{inputs.place_of("schedule"),
                        fmt::format("'{}' updates weights after every microbatch, between the tasks", schedule.name()),
                        "calibrate with 1f1b: the tasks are the same"}};
  return schedule;
}

/// Transfer times are the result, so emulated links make no sense.
void refuse_pacing(const Inputs& inputs) {
  if (inputs.transport != "paced") return;
  throw Error{ExitCode::bad_input,
              Problem{inputs.place_of("transport"),
                      "'paced' takes its times from a scenario, which calibrate is about to measure",
                      "leave it out, or use direct"}};
}

std::string spread(const runtime::Spread& spread) {
  return fmt::format("{} ({} to {})", format_duration(spread.median), format_duration(spread.p5),
                     format_duration(spread.p95));
}

/// The measurements and their reliability for the terminal; the file has everything.
std::string summary(const runtime::Calibration& calibration) {
  constexpr std::string_view row = "  {:<18}  {:<36}  {}\n";
  std::string text = fmt::format("calibrated on {}: {}\n", calibration.facts.backend, calibration.facts.compute);
  text += fmt::format(row, "median (p5 to p95)", "all stages at work", "one stage at a time");
  for (std::size_t chunk = 0; chunk < calibration.busy.size(); ++chunk) {
    const auto line = [&](std::string_view pass, runtime::Spread runtime::ChunkTimes::*member) {
      text += fmt::format(row, fmt::format("chunk {} {}", chunk, pass), spread(calibration.busy[chunk].*member),
                          spread(calibration.alone[chunk].*member));
    };
    line("F", &runtime::ChunkTimes::forward);
    line("I", &runtime::ChunkTimes::input_grad);
    line("W", &runtime::ChunkTimes::weight_grad);
  }
  text += fmt::format("  {:<18}  {}\n", "overhead", spread(calibration.overhead));
  for (const runtime::TransferFit& edge : calibration.edges)
    text += fmt::format("  {:<18}  latency {}, {}; measured times are at most {:.1f} % off\n",
                        fmt::format("edge {} to {}", index(edge.from), index(edge.to)), format_duration(edge.latency),
                        edge.bandwidth
                            ? fmt::format("{:.4g} GB/s", static_cast<double>(edge.bandwidth->bytes_per_second()) / 1e9)
                            : "whatever the size",
                        100 * edge.largest_residual);
  text += fmt::format(
      "  {:<18}  {}\n", "contended",
      calibration.contended
          ? "yes: other programs used the same cores, or there are more stages than cores; the times say little"
          : "no");
  return text;
}

ExitCode run(const Inputs& inputs) {
  refuse_pacing(inputs);
  const std::string file = inputs.output.value_or("-");
  static_cast<void>(uses_stdout(std::array{Destination{"output", file}}, sources(inputs)));
  require_writable(file, "--output");
  const Schedule schedule = schedule_of(inputs);
  runtime::Backend& backend = backend_of(inputs);
  Inputs real = inputs;
  real.compute = runtime::Compute::real; // overrides the scenario's setting for replays
  auto calibration = runtime::calibrate(backend, schedule, run_options(real, backend, schedule, false));
  if (!calibration) return ExitCode::done; // another process has the result
  calibration->facts.command = inputs.command;
  if (calibration->contended)
    note("contended: other programs used the same cores, or there are more stages than cores; the times are "
         "unreliable. Calibrate fewer stages, or calibrate on an idle machine");
  write_file(file, calibration_toml(*calibration), "--output");
  if (file != "-") write_file("-", summary(*calibration), "summary");
  return ExitCode::done;
}

constexpr std::array sections{Section::workload};
constexpr std::array<std::string_view, 9> extra{"stages", "mb",     "vpp",     "schedule", "scenario",
                                                "steps",  "warmup", "timeout", "output"};
constexpr std::array<std::string_view, 2> except{"compute", "slots"};
constexpr std::array examples{
    Example{"ppsim calibrate --stages 2 -o costs.toml",
            "a small model on two cores: a scenario that all commands read"},
    Example{"ppsim calibrate --stages 2 --block transformer --tokens 512 --width 1024 --heads 16 -o costs.toml",
            "a larger one"},
    Example{"ppsim calibrate --backend cuda --stages 4 -o costs.toml", "one GPU, split into four"},
};

} // namespace

const Command definition{.name = "calibrate",
                         .summary =
                             "measure how long tasks and transfers take on this machine; the result is a scenario",
                         .usage = "ppsim calibrate --stages P [--vpp V] [--backend NAME] [-o COSTS.toml] [options]",
                         .argument = "",
                         .argument_help = "",
                         .makes_run = true,
                         .sections = sections,
                         .extra = extra,
                         .except = except,
                         .examples = examples,
                         .run = run};

} // namespace ppsim::cli::calibrate_command
