// Fuzzes the reader of Nsight Systems exports. What is read has tasks; everything else is a ppsim::Error.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "round_trip.hpp"
#include "traces/imports/recorded.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ppsim;
  const std::string_view bytes{reinterpret_cast<const char*>(data), size}; // NOLINT(*-reinterpret-cast)
  try {
    const traces::ImportFile file{"fuzz.sqlite", bytes};
    const traces::Recorded recorded = traces::read_nsys({&file, 1}, {});
    fuzz::require(!recorded.tasks.empty());
    for (const traces::TaskEvent& event : recorded.tasks) fuzz::require(event.start <= event.end);
  } catch (const Error& error) {
    fuzz::require(error.problems().size() == 1 && !error.problems().front().what.empty());
  }
  return 0;
}
