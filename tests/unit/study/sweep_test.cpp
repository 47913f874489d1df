// The grid of a sweep, and the order in which its rows come.

#include "ppsim/base/error.hpp"
#include "ppsim/study/sweep.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <limits>
#include <stdexcept>

namespace ppsim::test::sweep_test {

namespace {

SweepAxis axis(std::string option, const Rows& values) {
  SweepAxis made{.option = std::move(option), .values = {}};
  for (const std::string& value : values) made.values.push_back({.said = value, .shown = value});
  return made;
}

/// A spec that is rejected at once with an error that names it.
RunSpec refused(std::size_t point) {
  throw Error{ExitCode::bad_input, Problem{"point", fmt::format("{}", point), ""}};
}

} // namespace

TEST_CASE("The first axis of a grid changes slowest") {
  const SweepGrid grid{{axis("tensor-parallel", {"1", "2"}), axis("mb", {"8", "16", "32"}), axis("vpp", {"1"})}};
  REQUIRE(grid.points() == 6);
  Rows points;
  for (std::size_t point = 0; point < grid.points(); ++point) {
    std::string words;
    for (const SweepValue* value : grid.at(point)) words += value->said + " ";
    points.push_back(words);
  }
  CHECK(points == Rows{"1 8 1 ", "1 16 1 ", "1 32 1 ", "2 8 1 ", "2 16 1 ", "2 32 1 "});
}

TEST_CASE("The number of points of a grid saturates") {
  CHECK(SweepGrid{}.points() == 1);
  CHECK(SweepGrid{{axis("mb", {"8"}), axis("vpp", {})}}.points() == 0);
  SweepAxis long_axis = axis("mb", {});
  long_axis.values.resize(100'000);
  CHECK(SweepGrid{{long_axis, long_axis, long_axis}}.points() == 1'000'000'000'000'000);
  CHECK(SweepGrid{{long_axis, long_axis, long_axis, long_axis}}.points() == std::numeric_limits<std::size_t>::max());
}

TEST_CASE("Rows come in the order of their points, each once, at any number of threads") {
  for (const std::size_t threads : {1U, 2U, 7U}) {
    CAPTURE(threads);
    constexpr std::size_t first = 3, end = 5000; // more than are kept at once
    std::size_t due = first;
    sweep(first, end, threads, refused, [&](std::size_t from, std::span<const SweepRow> rows) {
      CHECK(from == due);
      for (const SweepRow& row : rows)
        if (row.figures || row.error != fmt::format("point: {}", due++)) FAIL_CHECK(row.error);
      return true;
    });
    CHECK(due == end);
  }
}

TEST_CASE("A sweep without points makes no runs") {
  sweep(7, 7, 2, refused, [](std::size_t, std::span<const SweepRow>) {
    FAIL_CHECK("a row came");
    return true;
  });
}

TEST_CASE("A sweep ends when its rows are no longer taken") {
  std::size_t taken = 0;
  sweep(0, 1'000'000, 2, refused, [&](std::size_t, std::span<const SweepRow> rows) {
    taken += rows.size();
    return taken < 10;
  });
  CHECK(taken >= 10);
  CHECK(taken < 10'000);
  const auto full = [](std::size_t, std::span<const SweepRow>) -> bool {
    throw std::runtime_error{"the disk is full"};
  };
  CHECK_THROWS_WITH(sweep(0, 1'000'000, 2, refused, full), "the disk is full");
}

TEST_CASE("A row has the figures of its run, and a refused or deadlocked run is a row with its reason") {
  RunSpec spec;
  spec.stages = 4;
  spec.microbatches = 8;
  const SweepRow row = sweep_row([&] { return spec; });
  REQUIRE(row.figures);
  CHECK(row.error.empty());
  CHECK(row.figures->schedule == "1f1b");
  CHECK(row.figures->step_time == std::chrono::milliseconds{33}); // (8 + 4 - 1) 3 ms
  CHECK(row.figures->bubble_ratio == Approx(9.0 / 33));
  CHECK_FALSE(row.figures->peak); // no activation size given
  CHECK_FALSE(row.figures->fits);
  spec.activation_bytes = {Bytes{100}};
  spec.memory_limit = Bytes{399};
  const SweepRow full = sweep_row([&] { return spec; });
  REQUIRE(full.figures);
  CHECK(full.figures->peak == Bytes{400}); // of stage 0: one per stage
  CHECK(full.figures->fits == false);
  spec.stages.reset();
  const SweepRow none = sweep_row([&] { return spec; });
  CHECK_FALSE(none.figures);
  CHECK(none.error.find("`stages`") != std::string::npos);
}

} // namespace ppsim::test::sweep_test
