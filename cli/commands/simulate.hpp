#pragma once
// The arguments of `simulate`. The playground parses the same ones and handles them differently.

#include <array>
#include <string_view>

#include "options/commands.hpp"

namespace ppsim::cli::simulate_command {

inline constexpr std::array<std::string_view, 1> extra{"seed"};
inline constexpr std::array sections{Section::pipeline, Section::model,    Section::costs, Section::communication,
                                     Section::memory,   Section::scenario, Section::output};
inline constexpr std::array examples{
    Example{"ppsim --stages 4 --mb 8 --vpp 2", "interleaved 1F1B: how long a step takes, and where the bubble is"},
    Example{"ppsim --stages 8 --mb 32 --forward 12ms --backward 25ms --latency 10us --bandwidth 50GB/s "
            "--boundary-bytes 32MiB --svg run.svg",
            "your own costs, and a Gantt chart"},
    Example{"ppsim --scenario traces/samples/zero-bubble-1.5b-m24.toml --schedule gpipe",
            "a profiled model from a file, with another schedule"},
    Example{"ppsim --schedule-file order.csv --activation-bytes 3GiB --memory-limit 40GiB",
            "an order of your own, and whether it fits"},
};

/// The command with `run` as its action.
constexpr Command done_by(ExitCode (*run)(const Inputs&)) {
  return {.name = "simulate",
          .summary = "simulate one step: its time, where the bubble is and why, whether the memory fits (the default "
                     "command)",
          .usage = "ppsim [simulate] --stages P --mb M [--vpp V] [--schedule NAME | --schedule-file FILE] [options]",
          .argument = "",
          .argument_help = "",
          .makes_run = true,
          .sections = sections,
          .extra = extra,
          .examples = examples,
          .run = run};
}

} // namespace ppsim::cli::simulate_command
