// Scenario files: any bytes give a run or a ppsim::Error.

#include "ppsim/base/error.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/study/build_run.hpp"
#include "ppsim/study/run_report.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cli/files/scenario_file.hpp"
#include "cli/options/options.hpp"
#include "cli/runs/inputs.hpp"

namespace {

using namespace ppsim;

/// Small enough to simulate quickly; other tests cover larger shapes.
bool is_small(const cli::Inputs& inputs) {
  constexpr std::size_t most = 64;
  const std::size_t vpp = inputs.vpp ? inputs.vpp->front() : 1;
  const std::size_t chunks = inputs.layout ? inputs.layout->size() : 1;
  return inputs.stages.value_or(1) <= most && inputs.microbatches.value_or(1) <= most && vpp <= 8 && chunks <= 8 * most;
}

void run(std::string_view text) {
  Problems problems;
  cli::Inputs inputs;
  cli::assign(cli::ScenarioFile{text, "fuzz.toml", problems}.keys(), inputs, problems);
  problems.throw_if_any();
  if (inputs.schedule_file || !is_small(inputs)) return;
  BuiltRun run = build_run(inputs);
  const TaskGraph graph = lower(std::move(run.schedule), std::move(run.scenario));
  const Timeline timeline = simulate(graph);
  const RunReport report = run_report(graph, timeline);
  Duration labelled{0};
  for (const Duration time : report.time_by_label()) labelled += time;
  PPSIM_ASSERT(labelled == static_cast<std::int64_t>(report.stages.size()) * report.makespan);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    run({reinterpret_cast<const char*>(data), size}); // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
  } catch (const Error&) {                            // a user's error; anything else is a bug
  }
  return 0;
}
