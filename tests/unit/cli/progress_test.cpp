// Progress lines on a terminal.

#include <catch2/catch.hpp>

#include <chrono>

#include "cli/terminal/progress.hpp"

namespace ppsim::test::progress_test {

using namespace std::chrono_literals;
using ppsim::cli::progress_line;

TEST_CASE("Progress has the share, the rate, and the remaining time at that rate") {
  CHECK(progress_line(30, 120, "schedules", 5s) == "30 of 120 schedules, 6.0 a second, 15 s left");
  CHECK(progress_line(3000, 10'000, "samples", 2s) ==
        "3000 of 10000 samples, 1500 a second, 5 s left"); // 4.67, rounded up
  CHECK(progress_line(120, 120, "schedules", 20s) == "120 of 120 schedules, 6.0 a second");
  CHECK(progress_line(7, 0, "simulations", 2s) == "7 simulations, 3.5 a second"); // unknown total
  CHECK(progress_line(0, 9, "schedules", 2s) == "0 of 9 schedules");
}

} // namespace ppsim::test::progress_test
