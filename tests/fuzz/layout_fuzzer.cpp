// Layout strings: what is read is written and read back unchanged; everything else is a ppsim::Error.

#include "ppsim/scenario/layout.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "round_trip.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ppsim;
  const std::string_view text{reinterpret_cast<const char*>(data), size}; // NOLINT(*-reinterpret-cast)
  Layout layout;
  try {
    layout = parse_layout(text);
  } catch (const Error& error) {
    fuzz::require(error.problems().size() == 1 && !error.problems().front().what.empty());
    return 0;
  }
  try {
    const std::string written = to_string(layout);
    fuzz::require(parse_layout(written) == layout && written.size() <= longest_layout);
  } catch (const Error&) {
    fuzz::require(false);
  }
  return 0;
}
