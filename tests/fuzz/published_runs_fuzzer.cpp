// Fuzzes the reader of tables of published runs. What is read is a run with a time; everything else is a ppsim::Error.

#include "ppsim/base/error.hpp"
#include "ppsim/traces/published.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "round_trip.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ppsim;
  const std::string_view text{reinterpret_cast<const char*>(data), size}; // NOLINT(*-reinterpret-cast)
  try {
    const auto runs = traces::read_published(text, "fuzz.csv");
    fuzz::require(!runs.empty());
    for (const PublishedRun& run : runs)
      fuzz::require(!run.set.empty() && !run.name.empty() && run.step > Duration{0} &&
                    run.peak.value_or(Bytes{1}) > Bytes{0});
  } catch (const Error& error) {
    fuzz::require(!error.problems().empty() && error.problems().size() <= Problems::limit + 1);
  }
  return 0;
}
