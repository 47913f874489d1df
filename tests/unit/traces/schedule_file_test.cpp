// PyTorch pipelining CSV: reading, error messages and writing.

#include "ppsim/base/error.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/traces/schedule_file.hpp"
#include "support/lowered.hpp"
#include "support/printers.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim::test::schedule_file_test {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

namespace {

/// Messages of the reader for a file: "where: what -- hint" per problem.
Lines faults_of(std::string_view text, std::string_view name = "s.csv") {
  try {
    (void)traces::read_schedule(text, name);
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
  return traces::read_schedule(text, "s.csv").schedule;
}
Lines notes_of(std::string_view text) {
  return traces::read_schedule(text, "s.csv").notes;
}

TaskGraph graph_of(const Schedule& schedule) {
  return lower(schedule, uniform_scenario(schedule.shape(), 1ms, 2ms));
}

/// The same file with send and receive cells.
std::string with_transfers(std::string_view text) {
  const TaskGraph graph = graph_of(read(text));
  return traces::write_schedule_csv_comms(graph.schedule(), test::operations(graph, "pytorch").with_actions({}));
}

constexpr std::string_view cell_hint = " -- a cell is a chunk, F, B, I or W, and a microbatch, such as 3B12";
constexpr std::string_view two_by_two = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n";

} // namespace

TEST_CASE("A PyTorch CSV assigns each row to a stage, and its ids give the shape") {
  const Schedule schedule = read(two_by_two);
  CHECK(schedule.shape() == Shape{.stages = 2, .microbatches = 2, .vpp = 1});
  const auto second = schedule.stage(StageId{1});
  REQUIRE(second.size() == 4);
  CHECK(second[0] == make_task(Pass::forward, 1, 0));
  CHECK(second[1] == make_task(Pass::backward, 1, 0));
  CHECK(second[2] == make_task(Pass::forward, 1, 1));
  CHECK(second[3] == make_task(Pass::backward, 1, 1));
}

TEST_CASE("Idle cells, spaces, CRLF, a byte order mark and blank lines at the end change nothing") {
  const Schedule plain = read(two_by_two);
  CHECK(read("0F0,0F1,,,,0B0,0B1\n,1F0,1B0,1F1,1B1,,\n") == plain);
  CHECK(read("0F0,0F1,0B0,0B1\r\n1F0,1B0,1F1,1B1\r\n") == plain);
  CHECK(read(" 0F0 ,\t0F1, 0B0,0B1 \n1F0,1B0 , ,1F1,1B1") == plain); // and no line end after the last row
  CHECK(read("\xEF\xBB\xBF"
             "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n") == plain);
  CHECK(read("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n\n  \r\n\n") == plain);
}

TEST_CASE("Two chunks on a stage make vpp 2, for any placement") {
  CHECK(read("0F0,2F0,2B0,0B0\n1F0,3F0,3B0,1B0\n").shape() == Shape{.stages = 2, .microbatches = 1, .vpp = 2});
  CHECK(read("0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n").shape() == Shape{.stages = 2, .microbatches = 1, .vpp = 2}); // V
}

TEST_CASE("A chunk may run on one stage for some microbatches and on another for the others") {
  // DualPipe's placement. A reader that gave each chunk one stage would refuse it.
  const Schedule schedule = read("0F0,1F1,1B1,0B0\n0F1,1F0,1B0,0B1\n");
  CHECK(schedule.shape() == Shape{.stages = 2, .microbatches = 2, .vpp = 1});
  CHECK(schedule.stage(StageId{1})[0] == make_task(Pass::forward, 0, 1));
}

TEST_CASE("A pair keeps the order of its halves") {
  const std::string_view text = "0F0,0F1,(0F2;0B0)OVERLAP_F_B,(0B1;0F3)OVERLAP_F_B,0I2,0W2,0B3\n";
  const Schedule schedule = read(text);
  const auto tasks = schedule.tasks();
  REQUIRE(tasks.size() == 9);
  CHECK(tasks[2] == Task{MicrobatchId{2}, 0, Pass::forward, Pairing::first});
  CHECK(tasks[3] == Task{MicrobatchId{0}, 0, Pass::backward, Pairing::second});
  CHECK(tasks[4] == Task{MicrobatchId{1}, 0, Pass::backward, Pairing::first});
  CHECK(tasks[5] == Task{MicrobatchId{3}, 0, Pass::forward, Pairing::second});
  CHECK(tasks[6].pairing == Pairing::alone);
  CHECK(traces::write_schedule_csv(schedule) == text);
}

TEST_CASE("A pair may contain an input gradient") {
  const Schedule schedule = read("0F0,( 0F1 ; 0I0 ) OVERLAP_F_B,0W0,0B1\n");
  CHECK(schedule.tasks()[2] == Task{MicrobatchId{0}, 0, Pass::input_grad, Pairing::second});
}

TEST_CASE("Cells for whole chunks keep their position among tasks, sends and receives") {
  const std::string_view text = "0UNSHARD,0F0,0SEND_F0,0RESHARD,0RECV_B0,0UNSHARD,0B0,0REDUCE_GRAD,0RESHARD\n"
                                "1RECV_F0,1UNSHARD,1F0,1B0,1REDUCE_GRAD,1SEND_B0,1RESHARD\n";
  const Schedule schedule = read(text);
  CHECK(notes_of(text).empty());
  REQUIRE(schedule.communications() != nullptr);
  CHECK(traces::write_schedule_csv_comms(schedule, *schedule.communications()) == text);
  CHECK(traces::write_schedule_csv(schedule) == "0F0,0B0\n1F0,1B0\n");
}

TEST_CASE("Cells for whole chunks may appear without sends and receives") {
  const Schedule schedule = read("0UNSHARD,0F0,0F1,0B0,0B1,0REDUCE_GRAD\n1F0,1B0,1F1,1B1\n");
  CHECK(schedule == read(two_by_two));
  CHECK(schedule.communications() == nullptr);
  using Kind = ChunkAction::Kind;
  CHECK(schedule.chunk_actions() ==
        ChunkActions{{{.kind = Kind::unshard}, {.kind = Kind::reduce_grad, .before = 4}}, {}});
  CHECK(read(two_by_two).chunk_actions().empty());
  CHECK(schedule.forwards().chunk_actions().empty()); // they are of a whole step
}

TEST_CASE("A chunk is reduced once, after the last of its backwards") {
  const std::string second = "1F0,1I0,1W0,1REDUCE_GRAD\n";
  CHECK(faults_of("0F0,0I0,0W0,0REDUCE_GRAD\n" + second).empty());
  CHECK(faults_of("0F0,0I0,0REDUCE_GRAD,0W0\n" + second) ==
        Lines{"s.csv:1:9: '0REDUCE_GRAD' is before 0W0 -- move it after the last backward of its chunk"});
  CHECK(faults_of("0F0,0I0,0W0,0REDUCE_GRAD,0REDUCE_GRAD\n" + second) ==
        Lines{"s.csv:1:26: '0REDUCE_GRAD' appears twice -- leave one out"});
}

TEST_CASE("In a file without I in which every B has a W, B is the input gradient") {
  const std::string_view text = "0F0,0F1,0B0,0B1,0W0,0W1\n";
  CHECK(read(text) == read("0F0,0F1,0I0,0I1,0W0,0W1\n"));
  CHECK(notes_of(text) == Lines{"2 B cells read as I: each has its W, as in files from before PyTorch had I"});
}

TEST_CASE("A file in which only some B have a W is not read as the old notation") {
  // Reading B0 as I and B1 as B would be a guess: the file means one notation or the other.
  const Lines faults = faults_of("0F0,0F1,0B0,0W0,0B1\n");
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].find("s.csv: both 0B0 (stage 0) and 0W0 (stage 0)") == 0);
  const Lines twice = faults_of("0F0,0F1,0B0,0W1,0B1,0W1\n"); // as many W as B, but not each its own
  REQUIRE(twice.size() == 2);
  CHECK(twice[1].find("s.csv: both 0B1 (stage 0) and 0W1 (stage 0)") == 0);
  CHECK(faults_of("0F0,0F1,0B0,0W0,0W1\n").size() == 2); // a W without B
}

TEST_CASE("Send and receive cells are checked and kept") {
  const std::string_view text = "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                                "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n";
  CHECK(read(text) == read(two_by_two));
  CHECK(notes_of(text).empty());
  CHECK(read("0F0,(0SEND_F0)BATCH_P2P,0F1,0SEND_F1,( 0RECV_B0 ; 0RECV_B1 )BATCH_P2P,0B0,0B1\n"
             "(1RECV_F0;1RECV_F1)BATCH_P2P,1F0,1B0,1F1,1B1,(1SEND_B0;1SEND_B1)BATCH_P2P\n") == read(two_by_two));
}

TEST_CASE("A missing send and a missing receive are reported with the task that lacks them") {
  CHECK(faults_of("0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0\n") ==
        Lines{"s.csv:1:1: 0F0 on stage 0 feeds 1F0 on stage 1, but there is no '0SEND_F0' -- add '0SEND_F0' to the row "
              "of stage 0, "
              "or leave out all send and receive cells",
              "s.csv:2:14: 1B0 on stage 1 feeds 0B0 on stage 0, but there is no '1SEND_B0' -- add '1SEND_B0' to the "
              "row of stage 1, "
              "or leave out all send and receive cells"});
  CHECK(faults_of("0F0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n") ==
        Lines{"s.csv:1:14: 1B0 on stage 1 feeds 0B0 on stage 0, but there is no '0RECV_B0' -- add '0RECV_B0' to the "
              "row of stage 0, "
              "or leave out all send and receive cells"});
}

TEST_CASE("Send and receive cells on the wrong side of their task are reported") {
  CHECK(faults_of("0SEND_F0,0F0,0B0,0RECV_B0\n1RECV_F0,1F0,1B0,1SEND_B0\n") ==
        Lines{"s.csv:1:1: '0SEND_F0' is before 0F0, which makes its data -- move it after 0F0",
              "s.csv:1:18: '0RECV_B0' is after 0B0, which needs its data -- move it before 0B0"});
}

TEST_CASE("Stray, repeated and misplaced send and receive cells are reported") {
  const std::string stray = " belongs to no transfer between two stages -- leave it out: a chunk sends to the next (F) "
                            "or the previous (B) chunk if that is on another stage";
  const std::string good = "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0";
  CHECK(faults_of(good + ",1SEND_F0") == Lines{"s.csv:2:27: '1SEND_F0'" + stray}); // the last chunk
  CHECK(faults_of(good + ",1SEND_B7") == Lines{"s.csv:2:27: '1SEND_B7'" + stray}); // no such microbatch
  CHECK(faults_of(good + ",9RECV_F0") == Lines{"s.csv:2:27: '9RECV_F0'" + stray}); // no such chunk
  CHECK(faults_of(good + ",1SEND_B0") == Lines{"s.csv:2:27: '1SEND_B0' appears twice -- leave one out"});
  CHECK(faults_of(good + ",0RECV_B0") ==
        Lines{"s.csv:2:27: '0RECV_B0' is in the row of stage 1, but 0B0 runs on stage 0 -- move it "
              "to the row of stage 0"});
}

TEST_CASE("Send and receive cells between two chunks of one stage are refused") {
  const Lines faults = faults_of("0F0,0SEND_F0,1RECV_F0,1F0,1B0,0B0\n");
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].find("s.csv:1:5: '0SEND_F0' belongs to no transfer") == 0);
  CHECK(faults[1].find("s.csv:1:14: '1RECV_F0' belongs to no transfer") == 0);
}

TEST_CASE("An invalid cell is reported with the reason and the place") {
  const auto fault = [](const std::string& cell) {
    const Lines faults = faults_of("0F0,0B0\n1F0, " + cell + ",1B0\n");
    return faults.size() == 1 ? faults[0] : "not one fault";
  };
  const std::string at = "s.csv:2:6: ";
  CHECK(fault("0X3") == at + "unknown pass 'X' in '0X3'" + std::string{cell_hint});
  CHECK(fault("1f0") == at + "unknown pass 'f' in '1f0'" + std::string{cell_hint});
  CHECK(fault("1SEND_FF0") ==
        at + "unknown pass 'SEND_FF' in '1SEND_FF0' -- did you mean 'SEND_F'? " + std::string{cell_hint.substr(4)});
  CHECK(fault("F0") == at + "'F0' does not start with a chunk number" + std::string{cell_hint});
  CHECK(fault("-1F0") == at + "'-1F0' does not start with a chunk number" + std::string{cell_hint});
  CHECK(fault("12") == at + "'12' has no pass after its chunk" + std::string{cell_hint});
  CHECK(fault("1F") == at + "'1F' has no microbatch after 'F'" + std::string{cell_hint});
  CHECK(fault("1SEND_F") == at + "'1SEND_F' has no microbatch after 'SEND_F'" + std::string{cell_hint});
  CHECK(fault("1F0.5") == at + "'1F0.5' continues with '.5' after its microbatch -- separate cells by commas");
  CHECK(fault("1F0 1B0") == at + "'1F0 1B0' continues with ' 1B0' after its microbatch -- separate cells by commas");
  CHECK(fault("1UNSHARD0") ==
        at + "'1UNSHARD0' names a microbatch, but UNSHARD is for a whole chunk -- leave the number out");
  CHECK(faults_of("0F0,0B0,1REDUCE_GRAD\n1F0,1B0\n") ==
        Lines{"s.csv:1:9: '1REDUCE_GRAD' is in the row of stage 0, which runs no chunk 1 -- move it to the row that "
              "runs the chunk"});
  CHECK(fault("\"1F0\"") == at + "'\"1F0\"' does not start with a chunk number" + std::string{cell_hint});
}

TEST_CASE("An invalid group is reported with the reason") {
  const auto fault = [](const std::string& cell) {
    const Lines faults = faults_of("0F0,0B0," + cell);
    return faults.size() == 1 ? faults[0] : "not one fault";
  };
  const std::string pair = " -- a pair is one F with one B or I, such as (0F7;7B3)OVERLAP_F_B";
  CHECK(fault("(0F7;7B") == "s.csv:1:9: '(0F7;7B' has no closing parenthesis" + pair); // a file cut short
  CHECK(fault("(0F1;0B1)") == "s.csv:1:9: unknown group '' in '(0F1;0B1)' -- a group ends in OVERLAP_F_B or BATCH_P2P");
  CHECK(fault("(0F1;0B1)OVERLAP") ==
        "s.csv:1:9: unknown group 'OVERLAP' in '(0F1;0B1)OVERLAP' -- a group ends in OVERLAP_F_B or BATCH_P2P");
  CHECK(fault("(0F1;0F2)OVERLAP_F_B") ==
        "s.csv:1:9: '(0F1;0F2)OVERLAP_F_B' is not a pair of a forward and a backward" + pair);
  CHECK(fault("(0F1;0W1)OVERLAP_F_B") ==
        "s.csv:1:9: '(0F1;0W1)OVERLAP_F_B' is not a pair of a forward and a backward" + pair);
  CHECK(fault("(0F1)OVERLAP_F_B") == "s.csv:1:9: '(0F1)OVERLAP_F_B' is not a pair of a forward and a backward" + pair);
  CHECK(fault("(0F1;0B0;0B1)OVERLAP_F_B") ==
        "s.csv:1:9: '(0F1;0B0;0B1)OVERLAP_F_B' is not a pair of a forward and a backward" + pair);
  CHECK(fault("(0F1;0X1)OVERLAP_F_B") == "s.csv:1:14: unknown pass 'X' in '0X1'" + std::string{cell_hint});
  CHECK(fault("()BATCH_P2P") == "s.csv:1:10: '' does not start with a chunk number" + std::string{cell_hint});
  CHECK(fault("(0F1)BATCH_P2P") ==
        "s.csv:1:10: '0F1' is not a transfer -- BATCH_P2P holds send and receive cells only");
  CHECK(fault("0F1)") == "s.csv:1:9: '0F1)' continues with ')' after its microbatch -- separate cells by commas");
}

TEST_CASE("Ids beyond the limits are refused before anything is allocated for them") {
  CHECK(faults_of("99999999999999F0\n") ==
        Lines{"s.csv:1:1: chunk '99999999999999' of '99999999999999F0' is too high -- chunks are "
              "numbered from 0 to 65534 at most"});
  CHECK(faults_of("0F1000000000000000000\n") ==
        Lines{"s.csv:1:1: microbatch '1000000000000000000' of '0F1000000000000000000' is too "
              "high -- microbatches are numbered from 0 to 67108863 at most"});
  CHECK(faults_of("65535F0\n").size() == 1);
  CHECK(faults_of("0F67108864\n").size() == 1);
  // Both in range, but the product is not: a table of it would take 16 TiB.
  CHECK(faults_of("65534F67108863\n").back() == "s.csv: 65535 chunks and 67108864 microbatches make 8795958804480 "
                                                "tasks -- ppsim takes up to 134217728 tasks; is an id too high?");
  CHECK(faults_of("0F0,0B0,0F50000\n") ==
        Lines{"s.csv: 1 chunks and 50001 microbatches make 100002 tasks, but the file has 3 -- number "
              "chunks and microbatches from 0 without a gap; is an id too high?"});
}

TEST_CASE("Leading zeros do not change a number") {
  CHECK(read("00F000000000,0B0\n") == read("0F0,0B0\n"));
}

TEST_CASE("A cell of 100 kB is quoted in part") {
  const std::string cell = "0F" + std::string(100'000, '1');
  const Lines faults = faults_of(cell);
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].size() < 400);
  CHECK(faults[0].find("s.csv:1:1: microbatch '111") == 0);
  CHECK(faults[0].find("... (100002 bytes) is too high") != std::string::npos);
}

TEST_CASE("A NUL byte is shown as an escape") {
  using namespace std::string_view_literals;
  CHECK(faults_of("0F0,0\0B0\n"sv) ==
        Lines{R"(s.csv:1:5: '0\x00B0' has no pass after its chunk)" + std::string{cell_hint}});
}

TEST_CASE("Empty files and empty rows are refused") {
  const Lines empty{"s.csv: the file is empty -- write one row of cells per stage"};
  CHECK(faults_of("") == empty);
  CHECK(faults_of("\n \n\r\n") == empty);
  CHECK(faults_of("\xEF\xBB\xBF") == empty);
  const std::string hint = " -- every stage runs something; a schedule has one row per stage and no empty rows";
  CHECK(faults_of("0F0,0B0\n\n1F0,1B0\n") == Lines{"s.csv:2:1: the row of stage 1 has no task" + hint});
  CHECK(faults_of("0F0,0B0\n,,,\n") == Lines{"s.csv:2:1: the row of stage 1 has no task" + hint});
  CHECK(faults_of("0UNSHARD\n0F0,0B0\n") == Lines{"s.csv:1:1: the row of stage 0 has no task" + hint});
}

TEST_CASE("Chunks that do not divide over the stages and gaps between chunks are refused") {
  CHECK(faults_of("0F0,2F0,2B0,0B0\n1F0,1B0\n") ==
        Lines{"s.csv: 3 chunks (0 to 2) do not divide over 2 stages -- every stage must hold the same number of "
              "chunks: give each stage one row and number the chunks from 0"});
  CHECK(faults_of("0F0,0B0\n3F0,3B0\n") == Lines{"s.csv: 2 of the chunks 0 to 3 have no task, the first is chunk 1 -- "
                                                 "number the chunks from 0 without a gap; is an id too high?"});
}

TEST_CASE("Rows with one chunk each, and fewer chunks than rows, are replicas of these chunks") {
  CHECK(read("0F0,0B0\n0F1,0B1\n1F0,1B0,1F1,1B1\n").shape() ==
        Shape{.stages = 3, .microbatches = 2, .vpp = 1, .shared = 1});
  const Lines faults = faults_of("0F0,1F0,1B0,0B0\n2F0,2B0\n0F1,1F1,1B1,0B1\n2F1,2B1\n");
  CHECK(faults.front().starts_with("s.csv: 3 chunks (0 to 2) do not divide over 4 stages"));
}

TEST_CASE("More rows than the limit of stages are refused") {
  std::string text;
  for (std::size_t row = 0; row <= Limits::stages; ++row)
    text += std::to_string(row) + "F0," + std::to_string(row) + "B0\n";
  CHECK(faults_of(text) == Lines{"s.csv:4097:1: more than 4096 rows -- is this a schedule, with one row per stage?"});
}

TEST_CASE("All errors in one file are reported together, the first 20 in full") {
  CHECK(faults_of("0F0,0X0,0B0\n1F0,1B,1B0\n").size() == 2);
  std::string text = "0F0,0B0";
  for (int i = 0; i < 1000; ++i) text += ",?";
  const Lines faults = faults_of(text);
  REQUIRE(faults.size() == Problems::limit + 1);
  CHECK(faults[19] == "s.csv:1:47: '?' does not start with a chunk number" + std::string{cell_hint});
  CHECK(faults[20].find("980 more problems") != std::string::npos);
}

TEST_CASE("Missing and repeated tasks are refused on reading, with the file's name") {
  CHECK(faults_of("0F0,0B0,0F1\n").at(0).find("s.csv: 0B1 is missing") == 0);
  CHECK(faults_of("0F0,0F0,0B0\n").at(0).find("s.csv: 0F0 appears twice") == 0);
  CHECK(faults_of("0F0,1B0\n1F0,0B0\n").size() == 2); // backwards on the other stage
}

TEST_CASE("A deadlock is not an error of the file: lower() finds it") {
  CHECK(faults_of("0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n").empty());
}

TEST_CASE("A schedule is written without idle cells and with LF") {
  CHECK(traces::write_schedule_csv(read("0F0,,0F1,0B0,0B1\r\n,1F0,1B0,1F1,1B1\r\n")) == two_by_two);
}

TEST_CASE("Sends follow their task, and receives are where the sender was when the row reached them") {
  // Round by round, stages in turn: 0F0 posts 1RECV_F0, 1F0 runs in the same round; 0F1 posts 1RECV_F1 before 1B0 runs;
  // 1B0 posts 0RECV_B0. A placement of each receive right ahead of its task would give "1F0,1B0,1SEND_B0,1RECV_F1,1F1".
  CHECK(with_transfers(two_by_two) == "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                                      "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n");
}

TEST_CASE("A stage that waits goes on in the same round when a stage before it sends") {
  // 1F1 waits from round 2 on; 0F1 comes in round 3, 0F2 in round 4. One round later, 1RECV_F2 would stand ahead of
  // 1F1.
  CHECK(with_transfers("0F0,0B0,0F1,0F2,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n") ==
        "0F0,0SEND_F0,0RECV_B0,0B0,0F1,0SEND_F1,0F2,0SEND_F2,0RECV_B1,0B1,0RECV_B2,0B2\n"
        "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1RECV_F2,1B1,1SEND_B1,1F2,1B2,1SEND_B2\n");
}

TEST_CASE("A stage that waits goes on in the next round when a stage after it sends") {
  // 1I0 comes in round 1 after stage 0 had its turn, so 0B0 runs in round 2 like 1W0. A round earlier, 1RECV_F1 would
  // stand ahead of 1W0.
  CHECK(with_transfers("0F0,0B0,0F1,0B1\n1F0,1I0,1W0,1F1,1B1\n") ==
        "0F0,0SEND_F0,0RECV_B0,0B0,0F1,0SEND_F1,0RECV_B1,0B1\n"
        "1RECV_F0,1F0,1I0,1SEND_B0,1W0,1RECV_F1,1F1,1B1,1SEND_B1\n");
}

TEST_CASE("Chunks of one stage send nothing to each other") {
  CHECK(with_transfers("0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n") ==
        "0F0,0SEND_F0,3RECV_F0,3F0,3B0,3SEND_B0,0RECV_B0,0B0\n"
        "1RECV_F0,1F0,2F0,2SEND_F0,2RECV_B0,2B0,1B0,1SEND_B0\n");
}

TEST_CASE("An overlapped pair has the receives of both halves before it and the sends after it") {
  const std::string text = with_transfers("0F0,0F1,0B0,0B1\n1F0,(1F1;1B0)OVERLAP_F_B,1B1\n");
  CHECK(text == "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                "1RECV_F0,1F0,1RECV_F1,(1F1;1B0)OVERLAP_F_B,1SEND_B0,1B1,1SEND_B1\n");
}

TEST_CASE("A file of another kind gets one error that names the kind") {
  const auto refused = [](std::string_view text) {
    const auto faults = faults_of(text);
    REQUIRE(faults.size() == 1);
    return faults.front();
  };
  CHECK(refused("stages = 4\nmb = 8\n").starts_with("s.csv:1: not a schedule: it starts with 'stages = 4' -- "));
  CHECK(refused("\n\n{\"schema\": 1}").starts_with("s.csv:3: not a schedule: it starts with '{\"schema\": 1}' -- "));
}

TEST_CASE("A microbatch number that is far too high is one error, not many missing tasks") {
  const auto faults = faults_of("0F0,0F1,0B0,0B1\n1F0,1F99,1B0,1B1\n");
  REQUIRE(faults.size() == 1);
  CHECK(faults.front().starts_with(
      "s.csv: 97 of the microbatches 0 to 99 have no task, the first is 2; the highest number is in 1F99 -- "));
}

TEST_CASE("1F1B of 4 stages and 8 microbatches has 3 x 8 transfers each way and reads back as itself") {
  ScheduleRequest request;
  request.shape = {.stages = 4, .microbatches = 8, .vpp = 1};
  const Schedule schedule = make_schedule(find_generator("1f1b"), request);
  const traces::ScheduleFile file = traces::read_schedule(test::csv_with_operations(graph_of(schedule)), "s.csv");
  CHECK(file.schedule == schedule);
  REQUIRE(file.schedule.communications() != nullptr);
  CHECK(file.schedule.communications()->size() == 96);
  CHECK(file.notes.empty());
}

} // namespace ppsim::test::schedule_file_test
