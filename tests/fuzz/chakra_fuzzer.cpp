// Fuzzes the tests' readers of workload files: Chakra, of one rank, and GOAL. Everything except a workload is a
// ppsim::Error.

#include "support/workload_reading.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "round_trip.hpp"

namespace {

using namespace ppsim;

template <class Read>
void feed(const Read& read) {
  try {
    const test::Workload workload = read();
    fuzz::require(workload.partner.size() == workload.nodes.size());
    for (std::size_t i = 0; i < workload.nodes.size(); ++i) {
      fuzz::require(workload.nodes[i].rank < workload.ranks && workload.partner[workload.partner[i]] == i);
      for (const std::size_t before : workload.nodes[i].after) fuzz::require(before < workload.nodes.size());
    }
  } catch (const Error& error) {
    fuzz::require(error.problems().size() == 1 && !error.problems().front().what.empty());
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text{reinterpret_cast<const char*>(data), size}; // NOLINT(*-reinterpret-cast)
  feed([&] { return test::read_chakra(std::vector<traces::NamedBytes>{{"fuzz.0.et", text}}); });
  feed([&] { return test::read_goal(text, "fuzz.goal"); });
  return 0;
}
