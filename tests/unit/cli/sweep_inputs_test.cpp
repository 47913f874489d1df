// ppsim sweep: the grid of --vary, and the rows kept in a table.

#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/sweep.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <set>
#include <string>

#include "cli/files/sweep_table.hpp"
#include "cli/options/axis.hpp"
#include "cli/options/commands.hpp"

namespace ppsim::test::sweep_inputs_test {

using namespace ppsim::cli;

namespace {

Inputs parse(const Rows& arguments) {
  return parse_arguments(find_command("sweep"), arguments);
}

/// The values of an axis, as its option takes them.
Rows values_of(std::string_view text) {
  SweepAxis axis;
  const auto wrong = parse_sweep_axis(text, axis);
  if (wrong) return {wrong->what, wrong->hint};
  Rows values;
  for (const SweepValue& value : axis.values) values.push_back(value.said);
  return values;
}

Rows shown_values_of(std::string_view text) {
  SweepAxis axis;
  CHECK_FALSE(parse_sweep_axis(text, axis));
  Rows values;
  for (const SweepValue& value : axis.values) values.push_back(value.is_number ? value.shown : "'" + value.shown + "'");
  return values;
}

Rows faults(const Rows& arguments) {
  const auto refusal = refusal_of([&] { (void)parse(arguments); });
  CHECK(refusal.code == ExitCode::bad_input);
  return refusal.lines;
}

} // namespace

TEST_CASE("Ranges double, multiply and add, up to their end") {
  CHECK(values_of("mb=8..256:x2") == Rows{"8", "16", "32", "64", "128", "256"});
  CHECK(values_of("mb=8..255:x2") == Rows{"8", "16", "32", "64", "128"});
  CHECK(values_of("mb=1..6:x1.5") == Rows{"1", "2", "3", "5"}); // 1, 1.5, 2.25 (2 again), 3.375, 5.0625
  CHECK(values_of("mb=8..64:+24") == Rows{"8", "32", "56"});
  CHECK(values_of("mb=4,8..16:+4,7") == Rows{"4", "8", "12", "16", "7"});
  CHECK(values_of("comm=0..1ms:+500us") == Rows{"0ns", "500000ns", "1000000ns"});
  CHECK(values_of("memory-limit=20GiB..80GiB:x2") == Rows{"21474836480B", "42949672960B", "85899345920B"});
  CHECK(values_of("efficiency=0.5..0.7:+0.1") == Rows{"0.5", "0.6", "0.7"});
  CHECK(values_of("microbatches=8") == Rows{"8"}); // by its other name
}

TEST_CASE("Values are shown as numbers in base units, and words unchanged") {
  CHECK(shown_values_of("comm=1ms,2us") == Rows{"1000000", "2000"});
  CHECK(shown_values_of("pair=sum,0.8") == Rows{"'sum'", "0.8"});
  CHECK(shown_values_of("recompute=none,full") == Rows{"'none'", "'full'"});
  CHECK(shown_values_of("balance=true,false") == Rows{"'true'", "'false'"});
}

TEST_CASE("All schedules are the generators") {
  const Rows all = values_of("schedule=all");
  CHECK(all.size() == generators().size());
  CHECK(all.front() == generators().front()->name);
  CHECK(values_of("schedule=all,1f1b").front() == "schedule: '1f1b' appears twice");
}

TEST_CASE("An invalid axis has a reason") {
  CHECK(values_of("mb=8..16") == Rows{"mb: '8..16' has no step", "8..16:x2 doubles, 8..16:+1 adds"});
  CHECK(values_of("mb=8..16:x1").front() == "mb: 'x1' is not a step");
  CHECK(values_of("mb=8..16:+0").front() == "mb: '+0' is not a step");
  CHECK(values_of("comm=0..1ms:x2").front() == "comm: '0..1ms:x2' starts at 0, and 0 times anything is 0");
  CHECK(values_of("mb=16..8:x2").front() == "mb: '16' is more than '8'");
  CHECK(values_of("comm=0..1s:+1ns").front() == "comm: '0..1s:+1ns' has more than 100000 values");
  CHECK(values_of("comm=1ns..1s:x1.0000001").front() == "comm: '1ns..1s:x1.0000001' has more than 100000 values");
  CHECK(values_of("mb=8,,16").front() == "mb: a value is empty");
  CHECK(values_of("mb").front() == "'mb' has no values");
  CHECK(values_of("threads=2").front() == "'threads' is not an option of a run, so it cannot vary");
  CHECK(values_of("stagse=2").front() == "'stagse' is not an option");
}

TEST_CASE("An option is given or varied, once, and at least one varies") {
  CHECK(faults({"--mb", "8", "--vary", "mb=8,16"}).front() ==
        "`mb`: given although --vary varies it -- leave it out; --vary sets it");
  CHECK(faults({"--vary", "mb=8", "--vary", "microbatches=9"}).size() == 1);
  CHECK(faults({"--stages", "4", "--mb", "8"}).size() == 1);
  CHECK(faults({"--vary", "mb=1..99999:+1", "--vary", "comm=0..100us:+1us"}).front().find("10099899 points") !=
        std::string::npos);
}

TEST_CASE("A point has the given options and its own values") {
  const Inputs base =
      parse({"--stages", "4", "--forward", "3ms", "--vary", "mb=8,16", "--vary", "schedule=1f1b,zb-h1"});
  const Inputs point = inputs_at(base, 2);
  CHECK(point.stages == 4U);
  CHECK(point.forward == std::vector{Duration{3'000'000}});
  CHECK(point.microbatches == 16U);
  CHECK(point.schedule == "1f1b");
  CHECK(inputs_at(base, 1).schedule == "zb-h1");
  CHECK(inputs_at(base, 1).place_of("mb") == "`mb`");
}

TEST_CASE("An incomplete last line is written again, and nothing else is lost") {
  const Inputs inputs = parse({"--stages", "4", "--vary", "mb=8,16,32"});
  for (const TableForm form : {TableForm::csv, TableForm::json_lines}) {
    const SweepLines lines{inputs.grid, form};
    std::string table = lines.head();
    std::vector<std::size_t> ends{table.size()};
    for (std::size_t point = 0; point < 3; ++point) {
      table += lines.row(point, sweep_row([&] { return inputs_at(inputs, point); }));
      ends.push_back(table.size());
    }
    for (std::size_t size = 0; size <= table.size(); ++size) {
      const KeptRows kept = find_kept(table.substr(0, size), lines, 3, "t");
      std::size_t rows = 0;
      while (rows < 3 && ends[rows + 1] <= size) ++rows;
      if (kept.rows != rows || kept.bytes != (size < ends[0] ? 0 : ends[rows])) FAIL_CHECK("cut after " << size);
    }
  }
}

TEST_CASE("Lines of another table are not continued") {
  const Inputs inputs = parse({"--stages", "4", "--vary", "mb=8,16"});
  const SweepLines lines{inputs.grid, TableForm::csv};
  const auto fault = [&](const std::string& content) {
    return refusal_of([&] { (void)find_kept(content, lines, 2, "t.csv"); }).lines.front();
  };
  const std::string head = lines.head();
  CHECK(head == "mb,schedule,step_time_ns,bubble_ratio,peak_bytes,fits,error\n");
  CHECK(fault("vpp" + head).starts_with("t.csv:1: these are not the columns of this sweep"));
  CHECK(fault(head + "16,1f1b,1,0,,,\n").starts_with("t.csv:2: this sweep has another row there"));
  CHECK(fault(head + "8,,,,,,x\n16,,,,,,x\n16,,,,,,x\n").starts_with("t.csv:4: the table of this sweep has only"));
}

TEST_CASE("Cells with commas and quotes are quoted, and reasons stay on one line") {
  const SweepGrid grid{{SweepAxis{.option = "mb", .values = {{.said = "8", .shown = "8", .is_number = true}}}}};
  const SweepRow row{.figures = std::nullopt, .error = "`mb`: not \"that\", \nbut this"};
  CHECK(SweepLines{grid, TableForm::csv}.row(0, row) == "8,,,,,,\"--mb: not \"\"that\"\",  but this\"\n");
  CHECK(SweepLines{grid, TableForm::json_lines}.row(0, row) ==
        "{\"mb\": 8, \"schedule\": null, \"step_time_ns\": null, \"bubble_ratio\": null, \"peak_bytes\": null, "
        "\"fits\": null, \"error\": \"--mb: not \\\"that\\\",  but this\"}\n");
}

TEST_CASE("The text of a sweep identifies it, whatever the order of its flags") {
  const auto text = [](const Rows& arguments) { return sweep_text(parse(arguments)); };
  const Rows base{"--stages", "4", "--comm", "1us", "--vary", "mb=8,16", "--vary", "vpp=1,2"};
  const std::string known = text(base);
  CHECK(known == text({"--vary", "mb=8..16:x2", "--vary", "vpp=1,2", "--comm", "1us", "--pp", "4", "--threads", "3",
                       "--table", "t.csv", "--resume"}));
  const std::set<std::string> all{known,
                                  text({"--stages", "4", "--comm", "2us", "--vary", "mb=8,16", "--vary", "vpp=1,2"}),
                                  text({"--stages", "4", "--vary", "mb=8,16", "--vary", "vpp=1,2"}),
                                  text({"--stages", "4", "--comm", "1us", "--vary", "vpp=1,2", "--vary", "mb=8,16"}),
                                  text({"--stages", "4", "--comm", "1us", "--vary", "mb=8,24", "--vary", "vpp=1,2"})};
  CHECK(all.size() == 5);
}

} // namespace ppsim::test::sweep_inputs_test
