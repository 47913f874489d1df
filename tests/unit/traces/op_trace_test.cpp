// Operation traces as CSV: reading and errors.

#include "ppsim/traces/import.hpp"
#include "support/measured.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace ppsim::test::op_trace_test {

namespace {

const std::string header = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n";
/// Two stages, one microbatch. Stage 0 sends at 1.1 s; stage 1 has waited for it.
const std::string small = header + "0,0,0,16,forward-compute,0.1,1.0,0,0,0,0\n"
                                   "0,0,0,16,forward-send,1.1,0.25,0,-1,-1,-1\n"
                                   "0,0,0,16,backward-recv,1.5,2.9,0,-1,-1,-1\n"
                                   "0,0,0,16,backward-compute,4.5,2.0,0,0,0,0\n"
                                   "0,0,0,16,gc,6.5,0.0,0,-1,0,-1\n"
                                   "0,0,0,16,grads-reduce-scatter,6.5,0.5,0,0,-1,-1\n"
                                   "0,0,0,16,optimizer,7.0,0.25,0,-1,-1,-1\n"
                                   "0,1,1,16,forward-recv,0.05,1.30,0,-1,-1,-1\n"
                                   "0,1,1,16,forward-compute,1.4,1.0,0,0,0,1\n"
                                   "0,1,1,16,backward-compute,2.4,2.0,0,0,0,1\n"
                                   "0,1,1,16,backward-send,4.4,0.1,0,-1,-1,-1\n"
                                   "0,1,1,16,optimizer,7.0,0.5,0,-1,-1,-1\n";

traces::Imported read(std::string_view text) {
  const traces::ImportFile file{"ops.csv", text};
  return traces::find_import_format("op-trace")->read({&file, 1}, {});
}

std::string refusal(std::string_view text) {
  const Refusal refusal = refusal_of([&] { (void)read(text); });
  CHECK(refusal.code == ExitCode::bad_input);
  return refusal.first();
}

std::string with(std::string text, std::string_view old, std::string_view replacement) {
  const std::size_t at = text.find(old);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old.size(), replacement);
}

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t ms = 1'000'000;

} // namespace

TEST_CASE("An operation trace becomes a run, with sends and receives matched in order") {
  const traces::Imported imported = read(small);
  REQUIRE(imported.runs.size() == 1);
  const MeasuredRun& run = imported.runs.front();
  CHECK(rows_of(run.schedule) == Rows{"0F0 0B0", "1F0 1B0"});
  const Timeline& step = run.steps.front();
  CHECK(step.tasks == std::vector<Span>{between(0, second), between(4400 * ms, 6400 * ms),
                                        between(1300 * ms, 2300 * ms), between(2300 * ms, 4300 * ms)});
  CHECK(step.transfers[0] == between(1000 * ms, 1250 * ms)); // the receiver had waited since 0.05
  CHECK(step.transfers[3] == between(4300 * ms, 4300 * ms)); // the receive ends as the send begins
  REQUIRE(step.reductions.size() == 1);
  CHECK(step.reductions.front().span == between(6400 * ms, 6900 * ms));
  REQUIRE(step.optimizer.size() == 2);
  CHECK(step.optimizer[1].span == between(6900 * ms, 7400 * ms));
  CHECK(imported.dropped == std::vector<traces::Dropped>{{"operations 'gc' (work of the host)", 1}});
}

TEST_CASE("Line ends, a byte order mark, the order of columns and spare columns of an operation trace do not matter") {
  std::string text = small;
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.replace(at, 1, "\r\n");
  CHECK(read("\xEF\xBB\xBF" + text + "\r\n").runs.front().steps.front().tasks ==
        read(small).runs.front().steps.front().tasks);
  const std::string few = "more,mb_id,step,stage,duration,start_ts,optype\n"
                          "x,0,1,0,1,0,forward-compute\nx,0,1,0,2,3.5,backward-compute\n";
  CHECK(read(few).runs.front().steps.front().tasks[1] == between(3500 * ms, 5500 * ms));
}

TEST_CASE("Of the ranks of one stage, the lowest is used") {
  std::string text = small;
  text += "0,0,5,16,forward-compute,0.1,9.0,0,0,0,0\n";
  const traces::Imported imported = read(text);
  CHECK(imported.runs.front().steps.front().tasks[0].length() == std::chrono::seconds{1});
  CHECK(imported.dropped.back().what == "operations of other ranks of a stage, which repeat those of its lowest");
}

TEST_CASE("Invalid operation traces are refused with the line") {
  CHECK(refusal("") == "ops.csv:1: there are no columns stage, step, optype, start_ts, duration, mb_id in '' -- it "
                       "needs stage, step, optype, start_ts, duration and "
                       "mb_id, and may have dp_rank, rank, seq_id, mc and gmc");
  CHECK(refusal(with(small, "optype", "what")).starts_with("ops.csv:1: there is no column optype in 'dp_rank,"));
  CHECK(refusal(with(small, "gmc", "stage")) == "ops.csv:1: the column stage appears twice -- ");
  CHECK(refusal(with(small, "4.5,2.0", "4.5,nan")) == "ops.csv:5: duration is 'nan' -- write seconds, from 0 to 86400");
  CHECK(refusal(with(small, "4.5,2.0", "4.5,-2.0")) ==
        "ops.csv:5: duration is '-2.0' -- write seconds, from 0 to 86400");
  CHECK(refusal(with(small, "4.5,2.0", "1e300,2.0")) ==
        "ops.csv:5: start_ts is '1e300' -- write seconds, from -2000000000 to 2000000000");
  CHECK(refusal(with(small, "0,0,0,16,backward-compute", "0,99999999999999999999,0,16,backward-compute")) ==
        "ops.csv:5: stage is '99999999999999999999' -- write a whole number from 0 to 4095");
  CHECK(refusal(with(small, "4.5,2.0,0,0,0,0", "4.5,2.0,0,0,-1,0")) ==
        "ops.csv:5: mb_id is '-1' -- a pass belongs to a microbatch: count them from 0");
  CHECK(refusal(small.substr(0, small.size() - 12)) ==
        "ops.csv:13: the row is '0,1,1,16,optimizer,7.0,0.5' -- 7 values for 11 columns; is the file cut off?");
  CHECK(refusal("\x1F\x8B\x08garbage").starts_with("ops.csv: the gzip data"));
}

TEST_CASE(
    "An operation trace in another unit than seconds is refused once a column, with the unit that it seems to have") {
  std::string text = header;
  for (int i = 0; i < 20; ++i) text += "0,0,0,16,forward-compute,1700000000000000,850000,0,0,0,0\n";
  const Refusal microseconds = refusal_of([&] { (void)read(text); });
  CHECK(microseconds.lines ==
        Rows{"ops.csv:2: duration is '850000', and 19 more are too large -- write seconds, from 0 to 86400; are these "
             "microseconds?",
             "ops.csv:2: start_ts is '1700000000000000', and 19 more are too large -- write seconds, from -2000000000 "
             "to 2000000000; are these microseconds?"});
  CHECK(refusal(with(small, "4.5,2.0", "4.5,850000000")).ends_with("; are these nanoseconds?"));
  CHECK(refusal(with(small, "4.5,2.0", "1700000000000,2.0")).ends_with("; are these milliseconds?"));
}

TEST_CASE("A stage with a missing file is named, from its neighbour's transfers") {
  const std::string whole = with(small, "0,1,1,16,backward-compute",
                                 "0,1,1,16,forward-send,2.4,0.1,0,-1,-1,-1\n"
                                 "0,1,1,16,backward-recv,2.4,0.1,0,-1,-1,-1\n0,1,1,16,backward-compute");
  CHECK(read(small).notes.empty());
  CHECK(read(whole).notes ==
        Rows{"stage 1 exchanges activations and gradients with a stage after it, but none was found: the work of stage "
             "2 is missing from the run and its costs; give its file too"});
  CHECK(read(with(small, "0,0,0,16,gc", "0,0,0,16,backward-send,6.5,0.1,0,-1,-1,-1\n0,0,0,16,gc")).notes ==
        Rows{"stage 0 exchanges activations and gradients with a stage before it, but none was found: are stages "
             "counted from 0, and is the file of the first stage missing?"});
}

TEST_CASE("Operation traces of two runs are refused together") {
  const auto refused = [](const std::string& other) {
    const std::vector<traces::ImportFile> files{{"one.csv", small}, {"other.csv", other}};
    return refusal_of([&] { (void)traces::find_import_format("op-trace")->read(files, {}); }).first();
  };
  std::string two_microbatches =
      with(small, "16,forward-compute,0.1,1.0,0,0,0,0", "17,forward-compute,0.1,1.0,0,0,1,0");
  CHECK(refused(two_microbatches) == "other.csv: it has 2 microbatches, but one.csv has 1: the files are from "
                                     "different runs -- import each run by itself");
  CHECK(refused(small) == "one.csv, other.csv: no step is complete; step 16 of replica 0: 0F0 appears twice -- give "
                          "each file once, and files of one run only");
  const std::string one_stage = header + "1,0,4,16,forward-compute,0.1,1.0,0,0,0,0\n"
                                         "1,0,4,16,backward-compute,4.5,2.0,0,0,0,0\n";
  CHECK(refused(one_stage) == "one.csv, other.csv: replica 0 has 2 stages, 1 microbatch and 1 chunk per stage, and "
                              "replica 1 has 1 stage, 1 microbatch and 1 chunk per stage -- give the files of all "
                              "stages of each replica, and of one run only");
}

TEST_CASE("The progress of reading several operation traces rises to 100 %") {
  const std::string spare(4096, 'x');
  std::string large = "more,mb_id,step,stage,duration,start_ts,optype\n";
  for (const auto* row : {",0,1,0,1,0,forward-compute\n", ",0,1,0,2,3.5,backward-compute\n"}) large += spare + row;
  while (large.size() < 9'000'000) large += spare + ",0,1,0,0,0,gc\n";
  const std::vector<traces::ImportFile> files{{"0.csv", small}, {"1.csv", large}, {"2.csv", large}, {"3.csv", small}};
  std::vector<double> shares;
  const traces::ImportOptions options{
      .stages = {}, .vpp = {}, .progress = [&](double share) { shares.push_back(share); }};
  (void)refusal_of([&] { (void)traces::find_import_format("op-trace")->read(files, options); });
  CHECK(shares.size() == 8); // each file's end, and twice in the large ones
  CHECK(std::ranges::is_sorted(shares));
  CHECK(shares.back() == 1);
}

} // namespace ppsim::test::op_trace_test
