// Results of a stage as bytes.

#include "ppsim/base/error.hpp"

#include <catch2/catch.hpp>

#include "runtime/stage/result_bytes.hpp"

namespace ppsim::runtime::result_bytes_test {

namespace {

StageResult some_result() {
  StageRecord record;
  record.tasks = {{1, 2}, {3, 5}};
  record.arrivals = {{{ChannelId{4}, 7}, 0, 99}};
  record.optimizer = {10, 12};
  record.reductions = {{ChunkId{3}, {13, 14}}};
  record.static_bytes = Bytes{100};
  record.peak_bytes = Bytes{300};
  record.buffer_bytes = Bytes{50};
  record.busy = Duration{3};
  record.cpu = Duration{2};
  record.losses = 0.25;
  StageResult result;
  result.stage = StageId{2};
  result.steps = {record, record};
  result.steps[1].cpu.reset();
  result.clock = {1, 2, 3, 4, 5};
  result.losses = {0.5, 0.25};
  result.gradients = {{ChunkId{2}, {1.0F, -2.0F}}, {ChunkId{6}, {}}};
  return result;
}

} // namespace

TEST_CASE("A stage's result is unpacked as it was packed", "[results]") {
  const StageResult sent = some_result();
  const StageResult got = result_from_bytes(to_bytes(sent));
  CHECK(got.stage == sent.stage);
  CHECK(got.losses == sent.losses);
  CHECK(got.gradients == sent.gradients);
  CHECK(got.clock.at_begin == 1);
  CHECK(got.clock.begin == 2);
  CHECK(got.clock.at_end == 3);
  CHECK(got.clock.end == 4);
  CHECK(got.clock.error == 5);
  REQUIRE(got.steps.size() == 2);
  const StageRecord& record = got.steps[0];
  REQUIRE(record.tasks.size() == 2);
  CHECK(record.tasks[1].start == 3);
  CHECK(record.tasks[1].end == 5);
  REQUIRE(record.arrivals.size() == 1);
  CHECK(record.arrivals[0].transfer == TransferRef{ChannelId{4}, 7});
  CHECK(record.arrivals[0].ended == 99);
  CHECK(record.optimizer.end == 12);
  REQUIRE(record.reductions.size() == 1);
  CHECK(record.reductions[0].chunk == ChunkId{3});
  CHECK(record.reductions[0].interval.end == 14);
  CHECK(record.static_bytes == Bytes{100});
  CHECK(record.peak_bytes == Bytes{300});
  CHECK(record.buffer_bytes == Bytes{50});
  CHECK(record.busy == Duration{3});
  CHECK(record.cpu == Duration{2});
  CHECK(record.losses == 0.25);
  CHECK_FALSE(got.steps[1].cpu.has_value());
}

TEST_CASE("Truncated and oversized results are refused", "[results]") {
  std::vector<std::byte> bytes = to_bytes(some_result());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<std::byte> cut{bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)};
    REQUIRE_THROWS_AS(result_from_bytes(cut), Error);
  }
  bytes.push_back(std::byte{0});
  CHECK_THROWS_WITH(result_from_bytes(bytes), Catch::Contains("bytes, expected"));
}

} // namespace ppsim::runtime::result_bytes_test
