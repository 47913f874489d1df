// Tables of published runs: reading and errors.

#include "ppsim/traces/published.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace ppsim::test::published_runs_test {

using namespace std::chrono_literals;

namespace {

const std::string head = "set,run,source,step_s,arguments\n";

std::vector<PublishedRun> read(std::string_view text) {
  return traces::read_published(text, "runs.csv");
}

Rows faults_in(std::string_view text) {
  const auto refusal = refusal_of([&] { (void)read(text); });
  CHECK(refusal.code == ExitCode::bad_input);
  return refusal.lines;
}

/// Of one row, that has all columns.
Rows faults_of_row(const std::string& row) {
  return faults_in("set,half,run,source,step_s,peak_gb,arguments\n" + row + "\n");
}

Rows arguments_of(const std::string& arguments) {
  return read(head + "A,a,s,1," + arguments + "\n").front().arguments;
}

} // namespace

TEST_CASE("A table of runs: names identify columns, in any order") {
  const auto runs = read("arguments,peak_gb,step_s,half,source,run,set\n"
                         "--stages 2,1.5,0.25,check,\"Table 1 (b, v \"\"assumed\"\")\",first,A\n"
                         "\r\n"
                         "--stages 4,,2,,,second,B\r\n\n");
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].set == "A");
  CHECK(runs[0].name == "first");
  CHECK(runs[0].source == "Table 1 (b, v \"assumed\")");
  CHECK(runs[0].half == Half::check);
  CHECK(runs[0].step == 250ms);
  CHECK(runs[0].peak == Bytes{1'500'000'000});
  CHECK(runs[0].arguments == Rows{"--stages", "2"});
  CHECK(runs[0].where == "runs.csv:2:1");
  CHECK(runs[1].half == Half::none);
  CHECK_FALSE(runs[1].peak.has_value());
  CHECK(runs[1].where == "runs.csv:4:1");
}

TEST_CASE("A table of runs may omit halves and memory") {
  const auto runs = read("\xEF\xBB\xBF" + head + "A,a,s,1,--mb 8");
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].half == Half::none);
  CHECK_FALSE(runs[0].peak.has_value());
  CHECK(runs[0].where == "runs.csv:2:9");
}

TEST_CASE("Arguments of a run are split as by a shell") {
  CHECK(arguments_of("--layout 'E t|tL' --mb  8") == Rows{"--layout", "E t|tL", "--mb", "8"});
  CHECK(arguments_of(R"(a\ b 'c\d' e'f'g '')") == Rows{"a b", R"(c\d)", "efg", ""});
  CHECK(arguments_of(R"("""a b""")") == Rows{"a b"}); // CSV's quotes, then the shell's
  CHECK(arguments_of("\"--vpp 1,2\"") == Rows{"--vpp", "1,2"});
  CHECK(arguments_of("").empty());
}

TEST_CASE("A table of runs with other columns is refused with the place") {
  CHECK(faults_in("") == Rows{"runs.csv: the file is empty -- write a header and a row for each run"});
  CHECK(faults_in(head).front().starts_with("runs.csv:1:1: there are no runs below the header"));
  CHECK(faults_in("set,run,source,step_s\nA,a,s,1\n")
            .front()
            .starts_with("runs.csv:1:1: there is no column arguments in 'set,run,source,step_s'"));
  CHECK(faults_in("set,run,source,step_s,arguments,peek_gb\n") ==
        Rows{"runs.csv:1:33: unknown column 'peek_gb' -- did you mean 'peak_gb'? it needs set, run, source, step_s and "
             "arguments, "
             "and may have half and peak_gb"});
  CHECK(faults_in("set,set,run,source,step_s,arguments\n") ==
        Rows{"runs.csv:1:5: the column set appears twice -- leave one of them out"});
}

TEST_CASE("An invalid row is refused with its place, its value and a remedy, together with other invalid ones") {
  CHECK(faults_of_row("A,fit,a,s,fast,,--mb 8") ==
        Rows{"runs.csv:2:11: step_s is 'fast' -- write seconds, above 0 and up to a day: 1.525"});
  for (const std::string_view bad : {"0", "-1", "nan", "inf", "1e-10", "86401", "1s", ""})
    CHECK(faults_of_row("A,fit,a,s," + std::string{bad} + ",,--mb 8").size() == 1);
  CHECK(faults_of_row("A,fit,a,s,1,-3,--mb 8").front().starts_with("runs.csv:2:13: peak_gb is '-3'"));
  CHECK(faults_of_row("A,train,a,s,1,,--mb 8") ==
        Rows{"runs.csv:2:3: half is 'train' -- write fit or check, or leave it empty"});
  CHECK(faults_of_row(",,,s,1,,") ==
        Rows{"runs.csv:2:1: set is empty -- give it a name", "runs.csv:2:3: run is empty -- give it a name"});
  CHECK(faults_of_row("A,fit,a,s,1,,--layout 'E|t") ==
        Rows{"runs.csv:2:14: a quote in '--layout 'E|t' is not closed -- close it: --layout 'Et|t|tL'"});
  CHECK(
      faults_of_row("A,fit,a,\"s,1,,--mb 8").front().starts_with("runs.csv:2:9: the double quote of '\"s,1,,--mb 8'"));
  CHECK(faults_of_row("A,fit,a,\"s\"t,1,,--mb 8")
            .front()
            .starts_with("runs.csv:2:12: 't,1,,--mb 8' follows a closing double quote"));
  CHECK(faults_of_row("A,fit,a,s, t,1,,--mb 8").front().starts_with("runs.csv:2:1: 8 values for 7 columns"));
  CHECK(faults_of_row("A,fit,a\x1b[31m,s,1,,--mb 8").front().starts_with("runs.csv:2:7: run 'a\\x1b[31m' has control"));
  CHECK(faults_of_row("A,fit,a,s,x,,\nA,fit,a,s,1,y,").size() == 2);
}

} // namespace ppsim::test::published_runs_test
