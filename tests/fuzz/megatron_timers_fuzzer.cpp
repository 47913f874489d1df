// Fuzzes the reader of Megatron-LM's timers. What is read can be written as a scenario; everything else is a
// ppsim::Error.

#include "ppsim/traces/import.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "round_trip.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ppsim;
  const std::string_view text{reinterpret_cast<const char*>(data), size}; // NOLINT(*-reinterpret-cast)
  const traces::ImportFile file{"fuzz.log", text};
  try {
    const traces::Imported imported = traces::find_import_format("megatron-timers")->read({&file, 1}, {});
    fuzz::require(!imported.costs.entries.empty() && imported.runs.empty());
    fuzz::require(!imported.costs.text().empty());
  } catch (const Error& error) {
    fuzz::require(error.code() == ExitCode::bad_input);
    fuzz::require(!error.problems().empty() && error.problems().size() <= Problems::limit + 1);
  }
  return 0;
}
