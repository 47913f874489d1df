// Fuzzes the reader of NCCL profiler dumps. What is read has positive times and gives scenario lines; everything else
// is a ppsim::Error.

#include "ppsim/base/units.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "round_trip.hpp"
#include "traces/imports/lists/nccl_profiler.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ppsim;
  using namespace ppsim::traces;
  const std::string_view text{reinterpret_cast<const char*>(data), size}; // NOLINT(*-reinterpret-cast)
  const std::vector<ImportFile> files{{"fuzz.json", text}};
  try {
    const Imported imported = import_nccl_profiler(files, {});
    fuzz::require(imported.runs.empty() && imported.costs.entries.size() >= 2);
    for (const ScenarioDocument::Entry& entry : imported.costs.entries) {
      const std::string_view value = std::string_view{entry.value}.substr(1, entry.value.size() - 2);
      fuzz::require(parse_duration(value) || parse_bandwidth(value) || parse_bytes(value));
    }
  } catch (const Error& error) {
    fuzz::require(!error.problems().empty() && error.problems().size() <= Problems::limit + 1);
  }
  return 0;
}
