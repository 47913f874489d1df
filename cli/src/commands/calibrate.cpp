// ppsim calibrate: what tasks and transfers take here, as a scenario.

#include "ppsim/runtime/calibration.hpp"
#include "ppsim/sim/error.hpp"

#include <fmt/format.h>

#include <array>

#include "../commands.hpp"
#include "../files.hpp"
#include "../replaying.hpp"

namespace ppsim::cli {
namespace {

/// Without costs, which are what is asked for; only the order and the shape count.
Schedule schedule_of(const Inputs& inputs) {
  Inputs shaped;
  shaped.where = inputs.where; // for errors
  shaped.stages = inputs.stages;
  shaped.vpp = inputs.vpp;
  shaped.schedule = inputs.schedule;
  shaped.microbatches = inputs.microbatches;
  if (!inputs.microbatches) shaped.microbatches = 2 * inputs.stages.value_or(1); // a steady state of some length
  shaped.pair = PairRule{.kind = PairRule::Kind::serial};
  Schedule schedule = resolve(shaped).schedule;
  if (schedule.asynchronous())
    throw Error{ExitCode::bad_input,
                Problem{inputs.place_of("schedule"),
                        fmt::format("'{}' updates weights after every microbatch, between the tasks", schedule.name()),
                        "calibrate with 1f1b: the tasks are the same"}};
  return schedule;
}

ExitCode run(const Inputs& inputs) {
  const Schedule schedule = schedule_of(inputs);
  runtime::Backend& backend = backend_of(inputs);
  auto calibration = runtime::calibrate(backend, schedule, run_options(inputs, backend));
  if (!calibration) return ExitCode::done; // another process has it
  calibration->facts.command = inputs.command;
  if (calibration->contended)
    fmt::print(stderr, "ppsim: note: contended: other programs used the same cores, and the figures tell of them\n");
  write_file(inputs.output.value_or("-"), calibration_toml(*calibration), "--output");
  return ExitCode::done;
}

constexpr std::array sections{Section::workload};
constexpr std::array<std::string_view, 8> extra{"stages",   "mb",    "vpp",    "schedule",
                                                "scenario", "steps", "warmup", "output"};
constexpr std::array<std::string_view, 3> except{"compute", "p2p", "slots"};
constexpr std::array examples{
    Example{"ppsim calibrate --stages 2 -o costs.toml",
            "a small model on two cores: a scenario that all commands read"},
    Example{"ppsim calibrate --stages 2 --block transformer --tokens 512 --width 1024 --heads 16 -o costs.toml",
            "a larger one"},
    Example{"ppsim calibrate --backend cuda --stages 4 -o costs.toml", "one GPU, split into four"},
};

} // namespace

extern const Command calibrate_command;
const Command calibrate_command{
    .name = "calibrate",
    .summary = "measure what tasks and transfers take on this machine; the result is a scenario",
    .usage = "ppsim calibrate --stages P [--vpp V] [--backend NAME] [-o COSTS.toml] [options]",
    .argument = "",
    .argument_help = "",
    .sections = sections,
    .extra = extra,
    .except = except,
    .examples = examples,
    .run = run};

} // namespace ppsim::cli
