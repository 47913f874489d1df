// Feeds the reader of operation traces, and what puts recorded steps together. What is read is a run that check_run()
// passes, can be written and read as the same, and costs that predict; all else is a ppsim::Error.

#include "ppsim/traces/import.hpp"
#include "ppsim/traces/run_file.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "round_trip.hpp"

namespace {

using namespace ppsim;

void use(const MeasuredRun& run) {
  check_run(run, "again");
  const std::string written = traces::write_run(run);
  fuzz::require(traces::write_run(traces::read_run(written, "again.json")) == written);
  const CostModel model = cost_model(run, 0, run.steps.size());
  fuzz::require(!traces::write_scenario(traces::cost_lines(model, true), "fuzz").empty());
  if (run.steps.size() > 1) fuzz::require(hold_out(run, 0.25).errors.size() < run.steps.size());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size}; // NOLINT(*-reinterpret-cast)
  const traces::ImportFile file{"fuzz.csv", text};
  traces::Imported imported;
  try {
    imported = traces::find_import_format("op-trace")->read({&file, 1}, {});
  } catch (const Error& error) {
    fuzz::require(!error.problems().empty() && error.problems().size() <= Problems::limit + 1);
    return 0;
  }
  try {
    for (const MeasuredRun& run : imported.runs)
      if (fuzz::is_small(run.schedule)) use(run);
  } catch (const Error&) {
    fuzz::require(false);
  }
  return 0;
}
