// Fuzzes the reader of InfiniTrain task lists.

#include <cstddef>
#include <cstdint>

#include "round_trip.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return ppsim::fuzz::read_and_round_trip({reinterpret_cast<const char*>(data), size}, "fuzz.tasks.csv");
}
