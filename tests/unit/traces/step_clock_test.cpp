// Clocks of stages, brought together: how far they may be off.

#include <catch2/catch.hpp>

#include "traces/imports/step_clock.hpp"

namespace ppsim::test::step_clock_test {

using ppsim::traces::align_clocks;
using ppsim::traces::StageClocks;
using ppsim::traces::StampedTransfer;

namespace {

/// Outputs that leave `slack` between their making and their use, there and back: each clock is known to half of it,
/// which is the sum of both ways.
void add_both_ways(std::vector<StampedTransfer>& transfers, std::uint32_t from, std::uint32_t to, std::int64_t slack) {
  transfers.push_back({.from = from, .to = to, .made = 100, .used = 100 + slack});
  transfers.push_back({.from = to, .to = from, .made = 900, .used = 900 + slack});
}

} // namespace

TEST_CASE("Errors of clocks add up between stages on different branches") {
  std::vector<StampedTransfer> transfers;
  add_both_ways(transfers, 0, 1, 3);
  add_both_ways(transfers, 0, 2, 5);
  add_both_ways(transfers, 0, 3, 4);
  CHECK(align_clocks(4, transfers).error == 9); // of 2 to 3
  add_both_ways(transfers, 1, 4, 8);
  CHECK(align_clocks(5, transfers).error == 16); // of 4 over 1 and 0 to 2
}

TEST_CASE("Outputs in one direction only do not bound the error of a clock") {
  const std::vector<StampedTransfer> transfers{{.from = 0, .to = 1, .made = 100, .used = 40}};
  const StageClocks clocks = align_clocks(2, transfers);
  CHECK(clocks.offset == std::vector<std::int64_t>{0, 60});
  CHECK_FALSE(clocks.error);
  const std::vector<StampedTransfer> matched{
      {.from = 0, .to = 1, .made = 100, .used = 40, .sent = 110, .received = 30}};
  CHECK(align_clocks(2, matched).offset == std::vector<std::int64_t>{0, 80});
  CHECK_FALSE(align_clocks(2, matched).error);
}

TEST_CASE("Transfers matched in one direction only are as exact as causality") {
  std::vector<StampedTransfer> transfers;
  add_both_ways(transfers, 0, 1, 30);
  transfers.front().sent = 110;
  transfers.front().received = 120;
  const StageClocks clocks = align_clocks(2, transfers);
  CHECK(clocks.offset == std::vector<std::int64_t>{0, -10});
  CHECK(clocks.error == 40); // from -30 to 30 is possible
}

TEST_CASE("Stages without any connection have unknown clocks") {
  std::vector<StampedTransfer> transfers;
  CHECK(align_clocks(1, transfers).error == 0);
  CHECK_FALSE(align_clocks(2, transfers).error);
  add_both_ways(transfers, 0, 1, 3);
  CHECK(align_clocks(2, transfers).error == 3);
  CHECK_FALSE(align_clocks(3, transfers).error);
}

} // namespace ppsim::test::step_clock_test
