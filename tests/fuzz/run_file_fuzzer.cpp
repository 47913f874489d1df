// Fuzzes the reader of run files. What is read is written and read back unchanged, compared with a prediction of its
// own order, and shown; everything else is a ppsim::Error.

#include "ppsim/engine/simulate.hpp"
#include "ppsim/measured/validation.hpp"
#include "ppsim/study/run_report.hpp"
#include "ppsim/traces/json.hpp"
#include "ppsim/traces/run_file.hpp"
#include "ppsim/viz/svg.hpp"
#include "ppsim/viz/text.hpp"
#include "ppsim/viz/validation.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "round_trip.hpp"

namespace {

using namespace ppsim;

void require_same(const MeasuredRun& run) {
  const std::string written = traces::write_run(run);
  try {
    const MeasuredRun again = traces::read_run(written, "again.json");
    fuzz::require(again.schedule == run.schedule && again.stages == run.stages && again.facts == run.facts);
    fuzz::require(traces::write_run(again) == written);
  } catch (const Error&) {
    fuzz::require(false);
  }
}

void show(const MeasuredRun& run) {
  using namespace std::chrono_literals;
  const TaskGraph graph = lower(run.schedule, uniform_scenario(run.schedule.shape(), 3us, 5us, 1us), "fuzz");
  const Timeline prediction = simulate(graph);
  const Validation validation = validate_run(graph, prediction, run, 0.1);
  fuzz::require(!viz::validation_text(graph, run, validation, {}).empty());
  fuzz::require(!viz::svg_validation(graph, prediction, run, validation).empty());
  fuzz::require(!traces::validation_json(graph, run, validation).empty());
  Timeline step = run.steps[validation.step_used];
  attribute(graph, step);
  const RunReport report = run_report(graph, step, describe(run));
  for (const StageReport& stage : report.stages) fuzz::require(stage.busy + stage.idle == report.makespan);
  for (const PathStep& element : report.critical_path) fuzz::require(span_of(step, element).length() >= Duration{0});
  fuzz::require(!viz::svg_gantt(graph, step, report).empty());
  fuzz::require(!viz::text_report(graph, step, report, {}).empty());
  fuzz::require(!traces::chrome_trace(graph, step, report).empty());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size}; // NOLINT(*-reinterpret-cast)
  try {
    const MeasuredRun run = traces::read_run(text, "fuzz.json");
    require_same(run);
    if (fuzz::is_small(run.schedule)) show(run); // a deadlock ends here
  } catch (const Error& error) {
    fuzz::require(!error.problems().empty() && error.problems().size() <= Problems::limit + 1);
  }
  return 0;
}
