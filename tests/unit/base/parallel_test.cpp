#include "ppsim/base/call.hpp"
#include "ppsim/base/parallel.hpp"
#include "support/few_threads.hpp"

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

TEST_CASE("Of several failures the one of the lowest index is reported, and the other calls still run") {
  std::atomic<int> calls = 0;
  const auto work = [&](std::size_t i) {
    ++calls;
    if (i == 7 || i == 3 || i == 19) throw std::runtime_error{std::to_string(i)};
  };
  CHECK_THROWS_WITH(for_each_index(20, 4, work), "3");
  CHECK(calls == 20);
}

TEST_CASE("A stopped call ends its work on all threads, and other work continues") {
  Call call;
  std::atomic<int> calls = 0;
  const CallScope scope{&call};
  const auto work = [&](std::size_t /*i*/) {
    REQUIRE(current_call() == &call);
    if (++calls == 3) call.stop();
  };
  CHECK_THROWS_AS(for_each_index(10'000, 4, work), Stopped);
  CHECK(calls < 10); // those that had begun
  CHECK_THROWS_AS(check_stop(), Stopped);
  const CallScope none{nullptr};
  CHECK_NOTHROW(check_stop());
  CHECK_NOTHROW(for_each_index(2, 2, [](std::size_t) {}));
}

TEST_CASE("Work runs on the threads that the system starts, even on none") {
  for (const std::size_t threads : {0U, 1U}) {
    const auto said = output_with_threads(threads, [] {
      std::vector<int> calls(50);
      for_each_index(calls.size(), 4, [&](std::size_t i) { ++calls[i]; });
      return std::string{calls == std::vector<int>(50, 1) ? "each once" : "not each once"};
    });
    if (said)
      CHECK(*said == "each once");
    else
      WARN("threads cannot be limited here");
  }
}

} // namespace
} // namespace ppsim::test::parallel_test
