#include "ppsim/base/error.hpp"
#include "ppsim/base/units.hpp"
#include "ppsim/traces/import.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace ppsim::test::nccl_tests_test {

using traces::Imported;
using traces::ImportFile;

namespace {

Imported import(const std::vector<ImportFile>& files) {
  const traces::ImportFormat* format = traces::find_import_format("nccl-tests");
  REQUIRE(format != nullptr);
  return format->read(files, {});
}
Imported import(std::string_view text) {
  return import(std::vector<ImportFile>{{"runs/ring.txt", text}});
}

/// The value of a line, without its quotes; empty if there is none.
std::string value(const Imported& imported, std::string_view key) {
  const ScenarioDocument::Entry* const entry = imported.costs.find(key);
  return entry == nullptr ? std::string{} : entry->value.substr(1, entry->value.size() - 2);
}
Duration latency(const Imported& imported) {
  return parse_duration(value(imported, "latency")).value_or(Duration{-1});
}
std::int64_t bandwidth(const Imported& imported) {
  const auto found = parse_bandwidth(value(imported, "bandwidth"));
  return found ? found->bytes_per_second() : -1;
}

std::string problem_of(std::string_view text) {
  try {
    (void)import(text);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    CHECK(error.problems().front().where == "runs/ring.txt");
    return error.problems().front().what;
  }
  return "no error";
}

// As nccl-tests 2.13 prints it: 10 us + bytes at 10 GB/s out of place, the same in place.
constexpr std::string_view table =
    R"(# nThread 1 nGpus 2 minBytes 1000 maxBytes 10000000 step: 100(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid  48331 on      node1 device  0 [0x07] NVIDIA A40
#  Rank  1 Group  0 Pid  48331 on      node1 device  1 [0x46] NVIDIA A40
#
#                                                              out-of-place                       in-place          
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       
        1000           250     float     sum      -1    10.10    0.10    0.10      0    10.10    0.10    0.10    N/A
      100000         25000     float     sum      -1    20.00    5.00    5.00      0    20.00    5.00    5.00    N/A
    10000000       2500000     float     sum      -1   1010.0    9.90    9.90      0   1010.0    9.90    9.90    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 5.00000 
#
)";

} // namespace

TEST_CASE("The table of sendrecv_perf gives latency and bandwidth of links", "[import][nccl-tests]") {
  const Imported imported = import(table);
  CHECK(latency(imported) == std::chrono::microseconds{10});
  CHECK(bandwidth(imported) == Approx(10e9).epsilon(1e-6));
  CHECK(imported.runs.empty());
  CHECK(imported.dropped.empty());
  REQUIRE(imported.notes.size() == 1); // no "Collective test starting" in this version
  CHECK(imported.notes[0].find("does not name its test") != std::string::npos);
  // Who reads the file has to learn that both directions were busy, and how far the fit is off.
  CHECK(imported.costs.entries[0].comment ==
        "links of ring.txt: latency + bytes / bandwidth, fitted to 6 times of 1000 B to 9.537 MiB");
  CHECK(imported.costs.entries[1].comment.starts_with("the fit is off by 0.0 % at most: "));
  CHECK(imported.costs.entries[2].comment.find("both directions") != std::string::npos);
}

TEST_CASE("Tables of other versions of nccl-tests declare their time columns", "[import][nccl-tests]") {
  // Old: no root, "error"; the operation is blank.
  const Imported old = import(
      "#       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
      "        1000           250     float             11.00    0.09    0.09  0e+00    11.00    0.09    0.09  0e+00\n"
      "        2000           500     float             12.00    0.17    0.17  0e+00    12.00    0.17    0.17  "
      "0e+00\n");
  CHECK(latency(old) == std::chrono::microseconds{10});
  CHECK(bandwidth(old) == Approx(1e9));
  // New: -I and timestamps; the mean of the first column is not used.
  const Imported per_iteration = import(
      "# Collective test starting: sendrecv_perf\n"
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong    i_min    i_max    "
      "i_p99    i_cv%     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%            timestamp\n"
      "        1000           250     float    none      -1    99.00    0.01    0.01       0    11.00   300.00   "
      "300.00    50.00    99.00    0.01    0.01     N/A    11.00   300.00   300.00    50.00  2026-01-02 10:11:12\n"
      "        2000           500     float    none      -1    99.00    0.02    0.02       0    12.00   300.00   "
      "300.00    50.00    99.00    0.02    0.02     N/A    12.00   300.00   300.00    50.00  2026-01-02 10:11:12\n");
  CHECK(latency(per_iteration) == std::chrono::microseconds{10});
  REQUIRE(per_iteration.notes.size() == 1);
  CHECK(per_iteration.notes[0] == "times are the shortest of the iterations of -I");
  // Under mpirun, with times in exponents.
  const Imported tagged = import("[1,0]<stdout>:#       size         count      type   redop    root     time   algbw  "
                                 " busbw #wrong     time   algbw   busbw #wrong\n"
                                 "[1,0]<stdout>:        1000           250     float     sum      -1    1.1e+01    "
                                 "0.09    0.09      0    11.00    0.09    0.09      0\n"
                                 "[1,0]<stdout>:        2000           500     float     sum      -1    12.00    0.17  "
                                 "  0.17      0    12.00    0.17    0.17      0\r\n");
  CHECK(latency(tagged) == std::chrono::microseconds{10});
}

TEST_CASE("Small transfers between two nodes with A40 are all latency", "[import][nccl-tests]") {
  // Two of the rows of issue 214 of nccl-tests.
  const Imported imported = import("#       size         count      type   redop    root     time   algbw   busbw "
                                   "#wrong     time   algbw   busbw #wrong\n"
                                   "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)      "
                                   "      (us)  (GB/s)  (GB/s)       \n"
                                   "         256            64     float     sum      -1    34.24    0.01    0.01      "
                                   "0    33.65    0.01    0.01    N/A\n"
                                   "        4096          1024     float     sum      -1    30.74    0.13    0.13      "
                                   "0    30.69    0.13    0.13    N/A\n");
  CHECK(latency(imported) > std::chrono::microseconds{30});
  CHECK(latency(imported) < std::chrono::microseconds{35});
  CHECK(value(imported, "bandwidth").empty()); // the larger ones took less time
  CHECK(imported.costs.entries.back().comment.starts_with("no bandwidth"));
}

TEST_CASE("Files of nccl-tests in JSON give the same as the table", "[import][nccl-tests]") {
  const std::string head =
      R"({"version":2,"args":["./build/sendrecv_perf","-J"],"config":{"devices":[{"rank":0,"hostname":"a"},{"rank":1,"hostname":"a"}]},"results":[)";
  const auto result = [](int size, double time, std::string_view more) {
    return fmt::format(R"({{"size":{0},"count":1,"type":"float","redop":"none","root":"    -1",
      "out_of_place":{{"time":{1},"alg_bw":{3},"bus_bw":1,"nwrong":0.0}},"in_place":{{"time":{1},"alg_bw":{3},"bus_bw":1,"nwrong":null}}{2}}})",
                       size, time, more, size / time / 1000);
  };
  const Imported plain = import(head + result(1000, 11, "") + "," + result(2000, 12, "") + "]}");
  CHECK(latency(plain) == std::chrono::microseconds{10});
  CHECK(bandwidth(plain) == Approx(1e9));
  CHECK(plain.notes.empty());
  const Imported medians = import(
      head +
      result(1000, 99,
             R"(,"out_of_place_per_iter":{"min_us":1,"p50_us":11},"in_place_per_iter":{"min_us":1,"p50_us":11})") +
      "," +
      result(2000, 99,
             R"(,"out_of_place_per_iter":{"min_us":1,"p50_us":12},"in_place_per_iter":{"min_us":1,"p50_us":12})") +
      "]}");
  CHECK(latency(medians) == std::chrono::microseconds{10});
  REQUIRE(medians.notes.size() == 1);
  CHECK(medians.notes[0] == "times are medians over the iterations of -I");
}

TEST_CASE("Wrong measurements, and those of the processor, are counted, not used", "[import][nccl-tests]") {
  const Imported imported = import("#       size         count      type   redop    root  cputime   algbw   busbw "
                                   "#wrong     time   algbw   busbw #wrong\n"
                                   "           0             0     float     sum      -1     1.00    0.00    0.00      "
                                   "0     1.00    0.00    0.00    N/A\n"
                                   "        1000           250     float     sum      -1     1.00    0.09    0.09      "
                                   "0    11.00    0.09    0.09      3\n"
                                   "        2000           500     float     sum      -1     1.00    0.17    0.17      "
                                   "0    12.00    0.17    0.17      0\n"
                                   "        3000           500     float     sum      -1     1.00    0.17    0.17      "
                                   "0      nan    0.17    0.17      0\n"
                                   "        4000          1000     float     sum      -1     1.00    0.29    0.29      "
                                   "0    14.00    0.29    0.29      0\n"
                                   "node1: some other line\n");
  const std::vector<traces::Dropped> expected{{"lines that are not results", 1},
                                              {"measurements of processor time (-C)", 5},
                                              {"measurements that send nothing", 1},
                                              {"measurements with wrong results", 1},
                                              {"measurements without a possible time", 1}};
  CHECK(imported.dropped == expected);
  CHECK(latency(imported) == std::chrono::microseconds{10});
  CHECK(bandwidth(imported) == Approx(1e9));
}

TEST_CASE("Times of one size do not give a latency", "[import][nccl-tests]") {
  const std::string head{table.substr(0, table.find("        1000 "))};
  const std::string row =
      "   268435456      67108864     float     sum      -1   6490.0   41.36   41.36      0   6490.0   "
      "41.36   41.36    N/A\n";
  CHECK(problem_of(head + row) == "all times of links are for 256 MiB: latency cannot be told from bandwidth");
  // The same where those between nodes are, beside others.
  std::string nodes = head + row;
  nodes.replace(nodes.rfind("node1"), 5, "node2");
  CHECK_THROWS_WITH(import(std::vector<ImportFile>{{"one.txt", table}, {"two.txt", nodes}}),
                    Catch::Contains("two.txt") && Catch::Contains("all times of links between nodes are for 256 MiB"));
}

TEST_CASE("Rings of one node and of several nodes are two kinds of links", "[import][nccl-tests]") {
  std::string nodes{table};
  nodes.replace(nodes.rfind("node1"), 5, "node2");
  const Imported both = import(std::vector<ImportFile>{{"one.txt", table}, {"two.txt", nodes}});
  CHECK(latency(both) == std::chrono::microseconds{10});
  CHECK(value(both, "inter-node-latency") == value(both, "latency"));
  CHECK(value(both, "inter-node-bandwidth") == value(both, "bandwidth"));
  CHECK(both.notes.back() == "give --stages-per-node to say which stages share a node");
  const Imported alone = import(nodes);
  CHECK(latency(alone) == std::chrono::microseconds{10});
  CHECK(value(alone, "inter-node-latency").empty());
}

TEST_CASE("A heading with too many columns is invalid", "[import][nccl-tests]") {
  std::string text = "# size count type";
  for (std::size_t i = 0; i < 62; ++i) text += " time";
  text += "\n1000 250 float 10.1\n";
  const Imported imported = import(text + std::string{table});
  CHECK(latency(imported) == std::chrono::microseconds{10});
  REQUIRE(imported.dropped.size() == 1);
  CHECK(imported.dropped.front().what == "lines that are not results");
  CHECK(imported.dropped.front().count == 2);
}

TEST_CASE("Files that are not results of sendrecv_perf are refused", "[import][nccl-tests]") {
  CHECK(problem_of("") == "holds no time of a send and receive");
  CHECK(problem_of("# Collective test starting: /opt/all_reduce_perf\n") == "these are results of 'all_reduce_perf'");
  CHECK(problem_of("#  Rank  0 Group  0 Pid  1 on a device  0 [0x07] X\n") ==
        "there is only one rank, which sends to itself");
  CHECK(problem_of("{\"results\": [") == "this is not JSON; did the test end early?");
  CHECK(problem_of("{\"results\": 3}") == "holds no time of a send and receive");
  CHECK(problem_of("{\"a\":" + std::string(100, '[')) == "lists and objects are nested more than 16 deep");
}

} // namespace ppsim::test::nccl_tests_test
