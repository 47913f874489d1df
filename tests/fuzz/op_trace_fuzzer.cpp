// Fuzzes the reader of operation traces, and the assembly of recorded steps. What is read is a run that passes
// check_run() and round-trips, and costs that predict; everything else is a ppsim::Error.

#include "ppsim/traces/import.hpp"
#include "ppsim/traces/run_file.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "round_trip.hpp"
#include "traces/imports/recorded.hpp"

namespace {

using namespace ppsim;

void use(const MeasuredRun& run) {
  check_run(run, "again");
  const std::string written = traces::write_run(run);
  fuzz::require(traces::write_run(traces::read_run(written, "again.json")) == written);
  const CostModel model = cost_model(run, 0, run.steps.size());
  fuzz::require(!traces::cost_lines(model, traces::CostForm::by_microbatch).text().empty());
  if (run.steps.size() > 1) fuzz::require(hold_out(run, 0.25).errors.size() < run.steps.size());
}

/// Every (replica, stage) has its own clock, unless `one_clock`.
void import(const traces::ImportFile& file, bool one_clock) {
  traces::Imported imported;
  try {
    traces::Recorded recorded = traces::read_op_trace({&file, 1}, {});
    recorded.one_clock = one_clock;
    imported = traces::assemble(std::move(recorded), {}, file.name);
  } catch (const Error& error) {
    fuzz::require(error.code() == ExitCode::bad_input);
    fuzz::require(!error.problems().empty() && error.problems().size() <= Problems::limit + 1);
    return;
  }
  fuzz::require(!imported.runs.empty() && imported.replicas.size() == imported.runs.size());
  for (const MeasuredRun& run : imported.runs) {
    fuzz::require(run.steps.size() == imported.runs.front().steps.size());
    if (fuzz::is_small(run.schedule)) use(run);
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size}; // NOLINT(*-reinterpret-cast)
  const traces::ImportFile file{"fuzz.csv", text};
  try {
    for (const bool one_clock : {true, false}) import(file, one_clock);
  } catch (const Error&) {
    fuzz::require(false);
  }
  return 0;
}
