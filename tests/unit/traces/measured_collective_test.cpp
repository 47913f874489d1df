// What nccl-tests measured of collectives, as tables of links.

#include "ppsim/base/error.hpp"
#include "ppsim/traces/measured_collective.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <string>

namespace ppsim::test::measured_collective_test {

using namespace std::chrono_literals;

namespace {

constexpr std::string_view heading =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n";

std::string ranks(int count, int groups = 1) {
  std::string lines;
  for (int rank = 0; rank < count; ++rank)
    lines += fmt::format("#  Rank {:2} Group {:2} Pid  4711 on      node1 device {:2} [0x07] NVIDIA A100\n", rank,
                         rank % groups, rank);
  return lines;
}

/// 20 us out of place and 10 us in place for 1000 bytes, 40 us for 2000.
constexpr std::string_view rows = "        1000           250     float     sum      -1    20.00    0.05    0.05      "
                                  "0    10.00    0.10    0.10      0\n"
                                  "        2000           500     float     sum      -1    40.00    0.05    0.05      "
                                  "0    40.00    0.05    0.05      0\n";

std::string text_of(std::string_view program, std::string_view lines = rows) {
  return fmt::format("# Collective test starting: /opt/{}\n{}{}{}", program, ranks(4), heading, lines);
}

MeasuredCollective read(std::string_view text, const std::string& name = "runs/table.txt") {
  return traces::read_measured_collective({name, text});
}

std::string problem_of(std::string_view text, const std::string& name = "runs/table.txt") {
  try {
    (void)read(text, name);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    CHECK(error.problems().front().where == name);
    CHECK_FALSE(error.problems().front().hint.empty());
    return error.problems().front().what;
  }
  return "no error";
}

} // namespace

TEST_CASE("A table of nccl-tests gives the mean of the times of each size, and its collective") {
  const MeasuredCollective gather = read(text_of("all_gather_perf"));
  CHECK(gather.collective == Collective::all_gather);
  CHECK(gather.ranks == 4);
  CHECK(gather.times == std::vector<LinkSample>{{Bytes{1000}, 15us}, {Bytes{2000}, 40us}});
  CHECK(gather.source == "runs/table.txt");
  CHECK(read(text_of("all_reduce_perf_mpi")).collective == Collective::all_reduce);
  CHECK(read(text_of("reduce_scatter_perf")).collective == Collective::reduce_scatter);
  CHECK(read(text_of("alltoall_perf")).collective == Collective::all_to_all);
}

TEST_CASE("A table without a test name takes it from the file name") {
  const std::string text = std::string{heading} + std::string{rows};
  CHECK(read(text, "node/all_reduce.txt").collective == Collective::all_reduce);
  CHECK(read(text, "node/all_reduce.txt").ranks == 0);
  CHECK(problem_of(text, "all_reduce/8.txt") == "does not say which collective it measures"); // a folder is not a name
}

TEST_CASE("Results of two tests are not one table, and names with dashes are read") {
  CHECK(problem_of(text_of("all_gather_perf") + text_of("reduce_scatter_perf"))
            .starts_with("holds results of two tests"));
  CHECK(read(text_of("all_gather_perf") + text_of("all_gather_perf")).collective == Collective::all_gather);
  const std::string table = ranks(4) + std::string{heading} + std::string{rows};
  CHECK(read(table, "node/all-gather.txt").collective == Collective::all_gather);
  CHECK(read(table, "node/alltoall.txt").collective == Collective::all_to_all);
  CHECK(problem_of(table, "all_reduce_vs_reduce_scatter.txt") != "no error");
}

TEST_CASE("With several communicators at the same time, the ranks of one count") {
  CHECK(read("# Collective test starting: all_gather_perf\n" + ranks(8, 2) + std::string{heading} + std::string{rows})
            .ranks == 4);
}

TEST_CASE("A table without in-place times is accepted") {
  const MeasuredCollective half =
      read("# Collective test starting: alltoall_perf\n"
           "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
           "        1000           250     float    none      -1    20.00    0.05    0.05      0\n"
           "        2000           500     float    none      -1    40.00    0.05    0.05      0\n");
  CHECK(half.times == std::vector<LinkSample>{{Bytes{1000}, 20us}, {Bytes{2000}, 40us}});
}

TEST_CASE("Files that are not tables of a collective are refused") {
  CHECK(problem_of("") == "holds no time of a collective");
  CHECK(problem_of(text_of("sendrecv_perf")) == "these are results of 'sendrecv_perf'");
  CHECK(problem_of(text_of("alltoallv_perf")) == "these are results of 'alltoallv_perf'");
  CHECK(problem_of(text_of("broadcast_perf")) == "these are results of 'broadcast_perf'");
  CHECK(problem_of(text_of("all_gather_perf", rows.substr(0, rows.find('\n') + 1))) ==
        "all times are for 1000 B, so they do not show how time grows with size");
  // Milliseconds: 1000 bytes in 0.02 us would be 50 GB/s.
  CHECK(problem_of(text_of("all_gather_perf",
                           "        1000           250     float    none      -1    0.020    0.05    0.05      0    "
                           "0.020    0.05    0.05      0\n")) == "no algbw equals the size divided by the time");
}

} // namespace ppsim::test::measured_collective_test
