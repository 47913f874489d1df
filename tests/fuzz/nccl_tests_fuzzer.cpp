// Fuzzes the reader of nccl-tests. What is read has a valid latency, or is a table of a collective with a time for any
// size; everything else is a ppsim::Error.

#include "ppsim/base/units.hpp"
#include "ppsim/traces/import.hpp"
#include "ppsim/traces/measured_collective.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "round_trip.hpp"

namespace {

/// `name` gives the collective if the table does not.
void read_table(const char* name, std::string_view text) {
  using namespace ppsim;
  try {
    LinkSheet link;
    link.measured.push_back(traces::read_measured_collective({name, text}));
    const MeasuredCollective& table = link.measured.front();
    fuzz::require(table.times.size() > 1 && table.ranks != 1);
    fuzz::require(std::ranges::adjacent_find(table.times, std::ranges::greater_equal{}, &LinkSample::bytes) ==
                  table.times.end());
    for (const LinkSample& sample : table.times)
      for (const std::int64_t bytes : {sample.bytes.count() - 1, sample.bytes.count(), sample.bytes.count() * 4096})
        for (const std::int64_t ranks : {2, 1 << 20}) {
          const Duration time = collective_time(link, table.collective, ranks, Bytes{bytes});
          fuzz::require(time >= Duration{0} && time <= max_duration + Duration{1});
        }
  } catch (const Error& error) {
    fuzz::require(error.problems().size() == 1 && !error.problems().front().what.empty());
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ppsim;
  const std::string_view text{reinterpret_cast<const char*>(data), size}; // NOLINT(*-reinterpret-cast)
  const traces::ImportFormat* format = traces::find_import_format("nccl-tests");
  fuzz::require(format != nullptr);
  read_table("all_gather.txt", text);
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
