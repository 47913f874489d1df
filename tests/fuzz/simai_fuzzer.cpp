// Fuzzes the reader of SimAI's workloads. What is read has a number of stages; everything else is a ppsim::Error.

#include "ppsim/traces/import.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "round_trip.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ppsim;
  const std::string_view text{reinterpret_cast<const char*>(data), size}; // NOLINT(*-reinterpret-cast)
  const traces::ImportFormat* format = traces::find_import_format("simai");
  fuzz::require(format != nullptr);
  try {
    const traces::ImportFile file{"fuzz.txt", text};
    const traces::Imported imported = format->read({&file, 1}, {});
    fuzz::require(imported.costs.entries.size() >= 7 && imported.costs.entries[1].key == "stages");
  } catch (const Error& error) {
    fuzz::require(error.problems().size() == 1 && !error.problems().front().what.empty());
  }
  return 0;
}
