// Feeds the reader of nccl-tests. What is read is a latency that is a time; all else is a ppsim::Error.

#include "ppsim/base/units.hpp"
#include "ppsim/traces/import.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "round_trip.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ppsim;
  const std::string_view text{reinterpret_cast<const char*>(data), size}; // NOLINT(*-reinterpret-cast)
  const traces::ImportFormat* format = traces::find_import_format("nccl-tests");
  fuzz::require(format != nullptr);
  try {
    const traces::ImportFile file{"fuzz.txt", text};
    const traces::Imported imported = format->read({&file, 1}, {});
    fuzz::require(imported.costs.entries.size() >= 3 && imported.runs.empty());
    for (const ScenarioDocument::Entry& entry : imported.costs.entries)
      if (entry.key == "latency")
        fuzz::require(parse_duration(entry.value.substr(1, entry.value.size() - 2)).has_value());
  } catch (const Error& error) {
    fuzz::require(error.problems().size() == 1 && !error.problems().front().what.empty());
  }
  return 0;
}
