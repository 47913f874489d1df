#include "ppsim/sim/parallel.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

namespace ppsim::test::parallel_test {
namespace {

TEST_CASE("Work on several threads is done once for each index") {
  for (const std::size_t threads : {0U, 1U, 3U, 64U}) {
    std::vector<int> calls(50);
    for_each_index(calls.size(), threads, [&](std::size_t i) { ++calls[i]; });
    CHECK(calls == std::vector<int>(50, 1));
  }
  for_each_index(0, 4, [](std::size_t) { FAIL("there is no work"); });
}

TEST_CASE("Of several failures the one of the lowest index is reported, and the other calls are made") {
  std::atomic<int> calls = 0;
  const auto work = [&](std::size_t i) {
    ++calls;
    if (i == 7 || i == 3 || i == 19) throw std::runtime_error{std::to_string(i)};
  };
  CHECK_THROWS_WITH(for_each_index(20, 4, work), "3");
  CHECK(calls == 20);
}

} // namespace
} // namespace ppsim::test::parallel_test
