// ppsim compare: the same work under several schedules, and which one to take.

#include "../compare.hpp"

#include "ppsim/sim/parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "../commands.hpp"
#include "../evaluate.hpp"
#include "../files.hpp"
#include "../outputs.hpp"
#include "../terminal.hpp"
#include "../vary.hpp"

namespace ppsim::cli {
namespace {

std::string plain_table(const Comparison& comparison) {
  std::string text;
  for (const Contender& contender : comparison.contenders)
    text += fmt::format("{:<20} {:>10} {:>10}\n", contender.name, format_duration(contender.report.step_time),
                        format_bytes(contender.peak_bytes()));
  for (const auto& [name, reason] : comparison.not_applicable) text += fmt::format("{:<20} {}\n", name, reason);
  return text + recommendation_text(comparison) + "\n";
}

std::size_t threads_of(const Inputs& inputs) {
  return inputs.threads.value_or(machine_threads());
}

constexpr std::array outputs{
    Output<Compared>{"markdown", &Inputs::markdown,
                     [](const Compared& compared, const Inputs&) { return plain_table(compared.comparison); }},
};

ExitCode run(const Inputs& inputs) {
  if (inputs.vary) return run_variation(inputs);
  const bool stdout_taken = uses_stdout(outputs, inputs);
  const Compared compared = compare(inputs, threads_of(inputs));
  for (const std::string& note : compared.notes) fmt::print(stderr, "ppsim: note: {}\n", note);
  write_outputs(outputs, compared, inputs);
  if (!stdout_taken) write_file("-", plain_table(compared.comparison), "comparison");
  const bool fits = std::ranges::any_of(compared.comparison.contenders, &Contender::fits);
  return fits ? ExitCode::done : ExitCode::no;
}

constexpr std::array sections{Section::pipeline, Section::costs,    Section::communication,
                              Section::memory,   Section::scenario, Section::comparison};
constexpr std::array<std::string_view, 2> extra{"json", "svg"};
constexpr std::array<std::string_view, 1> except{"schedule"}; // there is --schedules
constexpr std::array examples{
    Example{"ppsim compare --stages 8 --mb 64", "every schedule that allows it, the fastest first, and which to take"},
    Example{"ppsim compare --scenario traces/samples/zero-bubble-1.5b-m24.toml --svg compare.svg",
            "a profiled model under all schedules, and their charts on one time axis"},
    Example{"ppsim compare --stages 8 --mb 64 --schedules 1f1b,interleaved,zb-v --vpp 1,2,4 --markdown",
            "some of them, with as many chunks per stage, as a table for GitHub"},
};

} // namespace

extern const Command compare_command;
const Command compare_command{
    .name = "compare",
    .summary = "which schedule is the fastest, what it needs, whether that fits (exit status 3 when nothing does)",
    .usage = "ppsim compare --stages P --mb M [--vpp V,...] [--schedules NAME,...] [options]",
    .argument = "",
    .argument_help = "",
    .sections = sections,
    .extra = extra,
    .except = except,
    .examples = examples,
    .run = run};

} // namespace ppsim::cli
