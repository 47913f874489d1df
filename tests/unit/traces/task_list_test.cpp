// InfiniTrain task lists: reading, error messages and writing.

#include "ppsim/base/error.hpp"
#include "ppsim/traces/schedule_file.hpp"
#include "support/printers.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim::test::task_list_test {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

namespace {

const std::string header =
    "step,microbatch_id,global_chunk_id,local_chunk_idx,is_forward,stage_id,is_first_chunk,is_last_chunk\n";
const std::string columns_hint =
    "the columns are step,microbatch_id,global_chunk_id,local_chunk_idx,is_forward,stage_id,"
    "is_first_chunk,is_last_chunk";

// 1F1B of two stages and two microbatches, every pass one slot:   0F0 0F1  .  0B0  .  0B1
//                                                                  .  1F0 1B0 1F1 1B1
const std::string two_by_two = header + "0,0,0,0,1,0,1,0\n"
                                        "1,0,1,0,1,1,0,1\n"
                                        "1,1,0,0,1,0,1,0\n"
                                        "2,0,1,0,0,1,0,1\n"
                                        "3,0,0,0,0,0,1,0\n"
                                        "3,1,1,0,1,1,0,1\n"
                                        "4,1,1,0,0,1,0,1\n"
                                        "5,1,0,0,0,0,1,0\n";
constexpr std::string_view two_by_two_csv = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n";

Lines faults_of(std::string_view text) {
  try {
    (void)traces::read_schedule(text, "s.tasks.csv");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    Lines lines;
    for (const Problem& problem : error.problems())
      lines.push_back(problem.where + ": " + problem.what + " -- " + problem.hint);
    return lines;
  }
  return {};
}

Schedule read(std::string_view text) {
  return traces::read_schedule(text, "s.tasks.csv").schedule;
}
Schedule read_csv(std::string_view text) {
  return traces::read_schedule(text, "s.csv").schedule;
}
std::string write(const Schedule& schedule) {
  return traces::write_task_list(lower(schedule, uniform_scenario(schedule.shape(), 1ms, 2ms)));
}

} // namespace

TEST_CASE("A task list gives each stage its tasks in step order") {
  CHECK(read(two_by_two) == read_csv(two_by_two_csv));
}

TEST_CASE("The lines of a task list may come in any order of steps") {
  CHECK(read(header + "3,0,0,0,0,0,1,1\n0,0,0,0,1,0,1,1\n") == read_csv("0F0,0B0\n"));
}

TEST_CASE("Tasks of one stage in one step keep the order of the file") {
  // InfiniTrain puts forward and backward of the last chunk into one step. Long enough for an unstable sort to show.
  std::string list = header;
  std::string csv = "0F20,0B20";
  for (int microbatch = 0; microbatch < 20; ++microbatch) {
    const std::string id = std::to_string(microbatch);
    list += "1," + id + ",0,0,1,0,1,1\n1," + id + ",0,0,0,0,1,1\n";
    csv += ",0F" + id + ",0B" + id;
  }
  list += "0,20,0,0,1,0,1,1\n0,20,0,0,0,0,1,1\n"; // the lowest step last, so that there is something to sort
  CHECK(read(list) == read_csv(csv));
}

TEST_CASE("The columns of a task list may come in any order") {
  CHECK(read("stage_id,is_last_chunk, step ,is_forward,microbatch_id,global_chunk_id,local_chunk_idx,is_first_chunk\n"
             "0,1,0,1,0,0,0,1\n0,1,1,0,0,0,0,1\n") == read_csv("0F0,0B0\n"));
}

TEST_CASE("A task list may have CRLF, a byte order mark, spaces and blank lines at the end") {
  CHECK(read("\xEF\xBB\xBF" + header + "0,0,0,0,1,0,1,1\r\n 1, 0 ,0,0,0,0,1,1\r\n\r\n") == read_csv("0F0,0B0\n"));
}

TEST_CASE("Unknown, repeated and missing columns are refused together") {
  CHECK(faults_of("step,micro_batch_id,global_chunk_id,local_chunk_idx,is_forward,stage_id,is_first_chunk,step\n0\n") ==
        Lines{"s.tasks.csv:1:6: unknown column 'micro_batch_id' -- did you mean 'microbatch_id'? " + columns_hint,
              "s.tasks.csv:1:88: column 'step' appears twice -- leave one out",
              "s.tasks.csv:1:1: column 'microbatch_id' is missing -- " + columns_hint,
              "s.tasks.csv:1:1: column 'is_last_chunk' is missing -- " + columns_hint});
}

TEST_CASE("A PyTorch CSV with the name of a task list is refused because of its header") {
  const Lines faults = faults_of(two_by_two_csv);
  REQUIRE(!faults.empty());
  CHECK(faults[0] == "s.tasks.csv:1:1: unknown column '0F0' -- " + columns_hint);
}

TEST_CASE("A value that is out of range or not a number is refused with its column") {
  const auto fault = [](const std::string& line) {
    const Lines faults = faults_of(header + line);
    return faults.size() == 1 ? faults[0] : "not one fault";
  };
  const std::string must = " -- it must be a whole number from 0 to ";
  CHECK(fault("-1,0,0,0,1,0,1,1\n") == "s.tasks.csv:2:1: step is '-1'" + must + "4294967295");
  CHECK(fault("4294967296,0,0,0,1,0,1,1\n") == "s.tasks.csv:2:1: step is '4294967296'" + must + "4294967295");
  CHECK(fault("0,1000000000000000000,0,0,1,0,1,1\n") ==
        "s.tasks.csv:2:3: microbatch_id is '1000000000000000000'" + must + "67108863");
  CHECK(fault("0,99999999999999999999999999,0,0,1,0,1,1\n") ==
        "s.tasks.csv:2:3: microbatch_id is '99999999999999999999999999'" + must + "67108863");
  CHECK(fault("0,0,65535,0,1,0,1,1\n") == "s.tasks.csv:2:5: global_chunk_id is '65535'" + must + "65534");
  CHECK(fault("0,0,0,0,true,0,1,1\n") == "s.tasks.csv:2:9: is_forward is 'true'" + must + "1");
  CHECK(fault("0,0,0,0,1,4096,1,1\n") == "s.tasks.csv:2:11: stage_id is '4096'" + must + "4095");
  CHECK(fault("0,0,0,0,1,0,,1\n") == "s.tasks.csv:2:13: is_first_chunk is ''" + must + "1");
  CHECK(fault("0,0,0,0,1,0,1,0.0\n") == "s.tasks.csv:2:15: is_last_chunk is '0.0'" + must + "1");
}

TEST_CASE("A line with too few or too many cells is refused, and also a blank line in the middle") {
  CHECK(faults_of(header + "0,0,0\n0,0,0,0,1,0,1,1,1\n\n1,0,0,0,0,0,1,1\n") ==
        Lines{"s.tasks.csv:2:1: 3 cells in a list of 8 columns -- give every column a value",
              "s.tasks.csv:3:1: 9 cells in a list of 8 columns -- give every column a value",
              "s.tasks.csv:4:1: the line is empty -- leave it out"});
}

TEST_CASE("Redundant columns are checked against the others") {
  const auto faults = faults_of(header + "0,0,0,1,1,0,0,0\n1,0,1,0,1,1,1,1\n2,0,1,0,0,1,0,0\n3,0,0,0,0,0,1,0\n");
  CHECK(faults == Lines{"s.tasks.csv:2:7: local_chunk_idx is 1, but global_chunk_id 0 makes it 0 -- with 2 stages it "
                        "is global_chunk_id div 2",
                        "s.tasks.csv:2:13: is_first_chunk is 0, but global_chunk_id 0 makes it 1 -- it is 1 for "
                        "global_chunk_id 0 and 0 for "
                        "all others",
                        "s.tasks.csv:3:13: is_first_chunk is 1, but global_chunk_id 1 makes it 0 -- it is 1 for "
                        "global_chunk_id 0 and 0 for "
                        "all others",
                        "s.tasks.csv:4:15: is_last_chunk is 0, but global_chunk_id 1 makes it 1 -- it is 1 for "
                        "global_chunk_id 1, the "
                        "highest, and 0 for all others"});
}

TEST_CASE("If chunks are not placed in a loop, the local index is ignored, with a note") {
  // A V of two stages: chunks 0 and 3 on stage 0, which may number them as it likes.
  const traces::ScheduleFile file =
      traces::read_schedule(header + "0,0,0,1,1,0,1,0\n1,0,1,0,1,1,0,0\n2,0,2,1,1,1,0,0\n3,0,3,0,1,0,0,1\n"
                                     "4,0,3,0,0,0,0,1\n5,0,2,1,0,1,0,0\n6,0,1,0,0,1,0,0\n7,0,0,1,0,0,1,0\n",
                            "s.tasks.csv");
  CHECK(file.schedule == read_csv("0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n"));
  CHECK(file.notes ==
        Lines{"local_chunk_idx is not checked: chunk 2 is on stage 1, so chunks are not placed in a loop"});
}

TEST_CASE("A task list without header, without tasks or with a missing stage is refused") {
  CHECK(faults_of("") == Lines{"s.tasks.csv: the file is empty -- begin with '" + columns_hint.substr(16) + "'"});
  CHECK(faults_of(header) == Lines{"s.tasks.csv: there is no task after the header -- add a line per task"});
  CHECK(faults_of(header + "0,0,0,0,1,1,1,0\n") ==
        Lines{"s.tasks.csv: stage 0 has no task, though stage 1 has -- number the stages from 0 without a gap"});
}

TEST_CASE("A task list that lacks a task is refused with the file's name") {
  CHECK(faults_of(header + "0,0,0,0,1,0,1,1\n").at(0).find("s.tasks.csv: 0B0 is missing") == 0);
}

TEST_CASE("A task list is written in the order of step, then microbatch, with the slot of each task as its step") {
  CHECK(write(read_csv(two_by_two_csv)) == two_by_two);
}

TEST_CASE("A written task list numbers the chunks of a stage from 0") {
  const Schedule looped = read_csv("0F0,2F0,2B0,0B0\n1F0,3F0,3B0,1B0\n");
  CHECK(write(looped) == header + "0,0,0,0,1,0,1,0\n1,0,1,0,1,1,0,0\n2,0,2,1,1,0,0,0\n3,0,3,1,1,1,0,1\n"
                                  "4,0,3,1,0,1,0,1\n5,0,2,1,0,0,0,0\n6,0,1,0,0,1,0,0\n7,0,0,0,0,0,1,0\n");
  CHECK(read(write(looped)) == looped);
}

TEST_CASE("A task list cannot contain split backwards or pairs") {
  const auto fault = [](std::string_view csv) {
    try {
      (void)write(read_csv(csv));
    } catch (const Error& error) {
      return error.problems().at(0).what;
    }
    return std::string{"none"};
  };
  CHECK(fault("0F0,0I0,0W0\n") == "a task list cannot hold 0I0: it has only F and B");
  CHECK(fault("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n") == "a task list cannot hold overlapped pairs such as 0F1");
}

} // namespace ppsim::test::task_list_test
