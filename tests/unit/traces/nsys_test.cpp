#include "ppsim/base/error.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "traces/imports/recorded.hpp"
#include <sqlite3.h>

namespace ppsim::test::nsys_test {

using traces::ImportFile;
using traces::Recorded;

namespace {

/// The bytes of the database that `sql` makes.
std::string database(const std::string& sql) {
  sqlite3* opened = nullptr;
  REQUIRE(sqlite3_open(":memory:", &opened) == SQLITE_OK);
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> database{opened, sqlite3_close};
  char* error = nullptr;
  const int status = sqlite3_exec(opened, sql.c_str(), nullptr, nullptr, &error);
  INFO((error == nullptr ? "" : error));
  REQUIRE(status == SQLITE_OK);
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, void (*)(void*)> bytes{sqlite3_serialize(opened, "main", &size, 0),
                                                              sqlite3_free};
  REQUIRE(bytes != nullptr);
  return {bytes.get(), bytes.get() + size};
}

// The columns that matter, and some others, of the export of Nsight Systems 2024.
constexpr std::string_view schema = R"(
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER,
  color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
  globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, gridX INTEGER NOT NULL);
INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)');
)";

/// Rows of one thread's ranges, and of the kernels that it launches.
class Rows {
public:
  explicit Rows(std::int64_t pid = 4711, std::int64_t device = 0) : process_{pid << 24}, device_{device} {}
  Rows& range(std::string_view name, std::int64_t start, std::int64_t end) {
    sql_ += fmt::format("INSERT INTO NVTX_EVENTS VALUES ({},{},59,NULL,NULL,NULL,'{}',{},NULL,NULL,0);\n", start, end,
                        name, process_ + 1);
    return *this;
  }
  /// Launched at `at` by thread `thread`; of name 1 or 2.
  Rows& kernel(std::int64_t at, std::int64_t start, std::int64_t end, int name = 1, int stream = 7, int thread = 1) {
    ++correlation_;
    sql_ += fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({},{},0,{},{},1,0,NULL);\n", at, at + 1,
                        process_ + thread, correlation_);
    sql_ += fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({},{},{},1,{},{},{},1,{},1);\n", start, end,
                        device_, stream, correlation_, process_, name);
    return *this;
  }
  [[nodiscard]] const std::string& sql() const { return sql_; }

private:
  std::int64_t process_;
  std::int64_t device_;
  int correlation_ = 0;
  std::string sql_;
};

std::string file(const std::string& sql) {
  return database(std::string{schema} + sql);
}

Recorded read(const std::vector<std::string>& files, const traces::ImportOptions& options = {}) {
  std::vector<ImportFile> named;
  for (const std::string& bytes : files) named.push_back({fmt::format("{}.sqlite", named.size()), bytes});
  return traces::read_nsys(named, options);
}

std::string problem_of(const std::vector<std::string>& files, const traces::ImportOptions& options = {}) {
  try {
    (void)read(files, options);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    return error.problems().front().what;
  }
  return "no error";
}

/// "step stage 0F0 start-end" of every task.
std::vector<std::string> tasks_of(const Recorded& recorded) {
  std::vector<std::string> tasks;
  for (const traces::TaskEvent& event : recorded.tasks)
    tasks.push_back(fmt::format("{}.{} {} {} {}-{}", event.replica, event.stage, event.step, to_string(event.task),
                                event.start, event.end));
  return tasks;
}

using Texts = std::vector<std::string>;

} // namespace

TEST_CASE("A task of Nsight Systems runs while the kernels launched in its range run", "[import][nsys]") {
  // The kernels run long after the range on the processor, that of another stream beside them.
  const Recorded recorded = read({file(Rows{}
                                           .range("PP:0F0", 100, 200)
                                           .kernel(110, 1000, 1400)
                                           .kernel(120, 1500, 2000)
                                           .kernel(130, 1900, 2600, 1, 9)
                                           .range("PP:0B0", 300, 400)
                                           .kernel(310, 2100, 3000)
                                           .range("something else", 500, 600)
                                           .kernel(510, 4000, 5000)
                                           .sql())});
  CHECK(tasks_of(recorded) == Texts{"0.0 0 0F0 1000-2000", "0.0 0 0B0 2100-3000"});
  CHECK(recorded.one_clock);
  CHECK(recorded.notes.empty());
  CHECK(recorded.dropped.empty());
}

TEST_CASE("A range of a task that launches nothing takes no time, when its input had arrived", "[import][nsys]") {
  const Recorded recorded = read({file(Rows{}
                                           .range("PP:0F0", 100, 110)
                                           .kernel(105, 1000, 2000)
                                           .range("PP:0RECV_B0", 120, 130)
                                           .kernel(125, 2100, 2500, 2, 13)
                                           .range("PP:0I0", 140, 150)
                                           .range("PP:0W0", 160, 170)
                                           .kernel(165, 3000, 4000)
                                           .sql())});
  CHECK(tasks_of(recorded) == Texts{"0.0 0 0F0 1000-2000", "0.0 0 0I0 2500-2500", "0.0 0 0W0 3000-4000"});
  CHECK(recorded.notes == Texts{"tasks that launched no kernel take no time, and lie between their neighbours (1)"});
}

TEST_CASE("Kernels of a backward include those launched by autograd's threads", "[import][nsys]") {
  const Recorded recorded = read({file(Rows{}
                                           .range("PP:0F0", 0, 100)
                                           .kernel(10, 20, 90)
                                           .range("PP:0B0", 100, 300)
                                           .kernel(150, 400, 500, 1, 7, 2)
                                           .sql())});
  CHECK(tasks_of(recorded) == Texts{"0.0 0 0F0 20-90", "0.0 0 0B0 400-500"});
}

TEST_CASE("Kernels of other processes with the same correlation id are ignored", "[import][nsys]") {
  const Recorded recorded = read({file(Rows{1, 0}.range("PP:0F0", 0, 100).kernel(10, 20, 90).sql() +
                                       Rows{2, 1}.range("PP:1F0", 0, 100).kernel(10, 520, 590).sql())});
  CHECK(tasks_of(recorded) == Texts{"0.0 0 0F0 20-90", "0.1 0 1F0 520-590"}); // two ranks in one file
}

TEST_CASE("Sends and receives have the duration of NCCL's kernels", "[import][nsys]") {
  const Recorded recorded = read({file(Rows{}
                                           .range("PP:0F0", 0, 100)
                                           .kernel(10, 20, 90)
                                           .kernel(20, 90, 95, 2) // NCCL's, but inside of a task
                                           .range("PP:0SEND_F0", 100, 110)
                                           .kernel(105, 95, 99)
                                           .kernel(106, 100, 180, 2, 13)
                                           .range("PP:0RECV_B0", 110, 120)
                                           .sql())});
  REQUIRE(recorded.transfers.size() == 1);
  CHECK(recorded.transfers[0].is_send);
  CHECK(recorded.transfers[0].task == make_task(Pass::forward, 0, 0));
  CHECK(recorded.transfers[0].start == 100);
  CHECK(recorded.transfers[0].end == 180);
  const std::map<std::string, std::size_t> expected{
      {"NCCL sends and receives outside of PP:SEND and PP:RECV", 1},
      {"sends, receives, reductions and optimizer steps without a kernel", 1}};
  CHECK(recorded.dropped == expected);
}

TEST_CASE("Ranks in separate files are aligned by the start of their sessions", "[import][nsys]") {
  const auto session = [](std::int64_t utc, std::string_view host) {
    return fmt::format(
        "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);\n"
        "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES ({}, '', '');\n"
        "CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT, name TEXT, value TEXT);\n"
        "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (0, '', 'Hostname', '{}');\n",
        utc, host);
  };
  constexpr std::int64_t epoch = 1'700'000'000'000'000'000;
  const auto rank = [&](int chunk, std::int64_t utc, std::string_view host) {
    return file(session(utc, host) + Rows{}.range(fmt::format("PP:{}F0", chunk), 0, 100).kernel(10, 20, 90).sql());
  };
  const Recorded same = read({rank(1, epoch + 500, "a"), rank(0, epoch, "a")});
  CHECK(tasks_of(same) == Texts{"0.1 0 1F0 520-590", "0.0 0 0F0 20-90"});
  CHECK(same.one_clock);
  const Recorded other = read({rank(1, epoch + 500, "a"), rank(0, epoch, "b")});
  CHECK_FALSE(other.one_clock);
  CHECK(tasks_of(other) == tasks_of(same));
  const Recorded absurd = read({rank(1, 3, "a"), rank(0, epoch, "a")});
  CHECK_FALSE(absurd.one_clock);
  for (const auto& [one, two] : {std::pair{"", ""}, std::pair{"a", ""}}) { // unknown host
    const Recorded unknown = read({rank(1, epoch + 500, one), rank(0, epoch, two)});
    CHECK_FALSE(unknown.one_clock);
    CHECK(tasks_of(unknown) == tasks_of(same));
    CHECK(std::ranges::count(unknown.notes, "not all files name their host, so clocks are taken as different") == 1);
  }
  CHECK(read({rank(0, epoch, "")}).one_clock);
}

TEST_CASE("A repeated action begins the next step", "[import][nsys]") {
  Rows rows;
  for (int step = 0; step < 2; ++step)
    for (int microbatch = 0; microbatch < 2; ++microbatch) {
      const std::int64_t at = step * 1000 + microbatch * 100;
      rows.range(fmt::format("PP:0F{}", microbatch), at, at + 10)
          .range(fmt::format("PP:0B{}", microbatch), at + 20, at + 30);
    }
  const Recorded recorded = read({file(rows.sql())});
  CHECK(tasks_of(recorded) == Texts{"0.0 0 0F0 0-10", "0.0 0 0B0 20-30", "0.0 0 0F1 100-110", "0.0 0 0B1 120-130",
                                    "0.0 1 0F0 1000-1010", "0.0 1 0B0 1020-1030", "0.0 1 0F1 1100-1110",
                                    "0.0 1 0B1 1120-1130"});
  REQUIRE(recorded.notes.size() == 1); // there is no kernel at all
  CHECK(recorded.notes[0] == "ranks without any kernel of a task: their tasks have the times of their NVTX ranges (8)");
}

TEST_CASE("Several optimizers are in one step, and a receive may be the first event of the next", "[import][nsys]") {
  Rows rows;
  for (const std::int64_t at : {0, 1000})
    rows.range("PP:1RECV_F0", at, at + 5)
        .range("PP:1F0, op_id = 17", at + 10, at + 20)
        .range("PP:1B0, seq = 3, op_id = 18", at + 30, at + 40)
        .range("Optimizer.step#Adam.step", at + 50, at + 60)
        .range("Optimizer.step#Adam.step", at + 60, at + 70);
  const Recorded recorded = read({file(rows.sql())});
  CHECK(tasks_of(recorded) ==
        Texts{"0.0 0 1F0 10-20", "0.0 0 1B0 30-40", "0.0 1 1F0 1010-1020", "0.0 1 1B0 1030-1040"});
  REQUIRE(recorded.transfers.size() == 2);
  CHECK(recorded.transfers[1].step == 1);
  REQUIRE(recorded.updates.size() == 4);
  CHECK(recorded.updates[1].step == 0);
}

TEST_CASE("Copies and fills are part of the task that launched them", "[import][nsys]") {
  const Recorded recorded = read(
      {file(Rows{1, 0}.range("PP:0F0", 0, 100).kernel(10, 20, 90).sql() +
            fmt::format("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, streamId, correlationId, globalPid);\n"
                        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, streamId, correlationId, globalPid);\n"
                        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (11, 12, 0, {0} + 1, 77, 0, 0, 0);\n"
                        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (12, 13, 0, {0} + 1, 78, 0, 0, 0);\n"
                        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (90, 120, 7, 77, {0}), (1, 2, 7, NULL, {0});\n"
                        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (15, 16, 7, 78, {0});\n",
                        std::int64_t{1} << 24))});
  CHECK(tasks_of(recorded) == Texts{"0.0 0 0F0 15-120"});
  CHECK(recorded.dropped.at("kernels and copies without times or a correlation") == 1);
}

TEST_CASE("A call belongs to the range around it, even after many short ranges", "[import][nsys]") {
  Rows rows;
  rows.range("PP:0F0", 0, 1000);
  for (int i = 1; i <= 20; ++i) rows.range("Optimizer.step#x", 10 * i, 10 * i + 5);
  const Recorded recorded = read({file(rows.kernel(500, 2000, 3000).sql())});
  CHECK(tasks_of(recorded) == Texts{"0.0 0 0F0 2000-3000"});
  Rows deep;
  deep.range("PP:0F0", 0, 1000);
  for (int i = 1; i <= 70; ++i) deep.range("Optimizer.step#x", i, 200 - i);
  CHECK(read({file(deep.kernel(500, 2000, 3000).sql())}).dropped.at("CUDA calls inside of more than 64 ranges") == 1);
}

TEST_CASE("Calls and kernels without a task are counted", "[import][nsys]") {
  const Recorded recorded =
      read({file(Rows{}
                     .range("PP:0F0", 0, 100)
                     .kernel(10, 20, 90)
                     .kernel(200, 300, 400)    // of no range
                     .kernel(210, 300, 400, 2) // as above, and NCCL's
                     .kernel(20, 95, 91)       // ends before it starts
                     .sql() +
                 "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 0, NULL, 5, 0, 0, 0);\n")});
  const std::map<std::string, std::size_t> expected{{"CUDA calls without a time, a thread or a correlation", 1},
                                                    {"NCCL sends and receives outside of PP:SEND and PP:RECV", 1},
                                                    {"kernels and copies without times or a correlation", 1}};
  CHECK(recorded.dropped == expected);
}

TEST_CASE("A session that begins within a step gives the later steps", "[import][nsys]") {
  Rows rows;
  std::int64_t at = 0;
  for (const char* name : {"PP:0F1", "PP:0B0", "PP:0B1", "PP:0F0", "PP:0F1", "PP:0B0", "PP:0B1"}) {
    rows.range(name, at, at + 1);
    ++at;
  }
  const Recorded recorded = read({file(rows.sql())});
  CHECK(tasks_of(recorded) == Texts{"0.0 0 0F0 3-4", "0.0 0 0F1 4-5", "0.0 0 0B0 5-6", "0.0 0 0B1 6-7"});
  CHECK(recorded.dropped.at("actions of a step that began before the recording") == 3);
}

TEST_CASE("Ranks with the same chunks are replicas of a stage", "[import][nsys]") {
  const auto rank = [](int chunk) { return file(Rows{}.range(fmt::format("PP:{}F0", chunk), 0, 100).sql()); };
  const Recorded recorded = read({rank(2), rank(0), rank(2), rank(0)});
  CHECK(tasks_of(recorded) == Texts{"0.1 0 2F0 0-100", "0.0 0 0F0 0-100", "1.1 0 2F0 0-100", "1.0 0 0F0 0-100"});
  const std::string both = file(Rows{}.range("PP:0F0", 0, 100).range("PP:1F0", 100, 200).sql());
  CHECK(problem_of({both, rank(0)}) == "chunk 0 ran on ranks whose other chunks differ");
}

TEST_CASE("The user's chunks per stage must match those of the ranks", "[import][nsys]") {
  const std::vector<std::string> files{file(Rows{}.range("PP:0F0", 0, 100).sql())};
  CHECK(read(files, {.stages = {}, .vpp = 1, .progress = {}}).tasks.size() == 1);
  CHECK(problem_of(files, {.stages = {}, .vpp = 7, .progress = {}}) == "a rank runs 1 chunks, but --vpp says 7");
}

TEST_CASE("Megatron-LM's timers are distinguished by their order in a step, which its optimizer ends",
          "[import][nsys]") {
  const auto rank = [] {
    return file(Rows{}
                    .range("forward-compute", 0, 10)
                    .range("forward-recv", 5, 10)
                    .range("forward-compute", 10, 20)
                    .range("backward-compute", 20, 40)
                    .range("backward-compute", 40, 60)
                    .range("optimizer", 60, 70)
                    .range("forward-compute", 100, 110)
                    .sql());
  };
  const Recorded recorded = read({rank(), rank()});
  CHECK(tasks_of(recorded) == Texts{"0.0 0 0F0 0-10", "0.0 0 0F1 10-20", "0.0 0 0B0 20-40", "0.0 0 0B1 40-60",
                                    "0.1 0 1F0 0-10", "0.1 0 1F1 10-20", "0.1 0 1B0 20-40", "0.1 0 1B1 40-60"});
  CHECK(recorded.dropped.at("timers of steps whose optimizer was not recorded") == 2);
  CHECK(recorded.dropped.at("timers of sends and receives, which do not say the microbatch") == 2);
  CHECK(recorded.updates.size() == 2);
  CHECK(read({rank(), rank()}, {.stages = 1, .vpp = {}, .progress = {}}).tasks.back().replica == 1);
  CHECK(problem_of({rank(), rank()}, {.stages = 2, .vpp = 2, .progress = {}}) ==
        "timers do not say which chunk a pass belongs to");
  CHECK(problem_of({file(Rows{}.range("forward-compute", 0, 10).sql())}) == "has no complete step");
}

TEST_CASE("An overlapped pair of NVTX ranges is two tasks in one piece", "[import][nsys]") {
  const Recorded recorded = read({database("CREATE TABLE NVTX_EVENTS (start, end, text, globalTid);\n"
                                           "INSERT INTO NVTX_EVENTS VALUES (0, 10, 'PP:0F0', 16777217),\n"
                                           "(10, 30, 'PP:(0F1;0B0)OVERLAP_F_B', 16777217),\n"
                                           "(30, 50, 'PP:0B1', 16777217);\n")});
  CHECK(tasks_of(recorded) == Texts{"0.0 0 0F0 0-10", "0.0 0 0F1 10-30", "0.0 0 0B0 10-30", "0.0 0 0B1 30-50"});
  CHECK(recorded.tasks[1].task.pairing == Pairing::first);
  CHECK(recorded.tasks[2].task.pairing == Pairing::second);
}

TEST_CASE("Exports without some tables and columns are read as far as possible", "[import][nsys]") {
  // Names by id, no event types, no kernels: as of old versions, or of a trace of NVTX alone.
  const Recorded recorded =
      read({database("CREATE TABLE StringIds (id INTEGER, value TEXT);\n"
                     "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, textId INTEGER);\n"
                     "INSERT INTO StringIds VALUES (5, 'PP:0F0'), (6, 'PP:0X9');\n"
                     "INSERT INTO NVTX_EVENTS VALUES (1, 2, 5), (3, NULL, 5), (5, 6, 6), (7, 8, 99);\n")});
  CHECK(tasks_of(recorded) == Texts{"0.0 0 0F0 1-2"});
  const std::map<std::string, std::size_t> expected{{"PP: labels with an unknown action", 1},
                                                    {"ranges that did not end", 1}};
  CHECK(recorded.dropped == expected);
  // Kernels without a process.
  const Recorded kernels =
      read({database("CREATE TABLE NVTX_EVENTS (start, end, text, globalTid);\n"
                     "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, globalTid, correlationId);\n"
                     "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, correlationId);\n"
                     "INSERT INTO NVTX_EVENTS VALUES (0, 100, 'PP:0F0', 16777217);\n"
                     "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 16777217, 4);\n"
                     "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (200, 300, 4);\n")});
  CHECK(tasks_of(kernels) == Texts{"0.0 0 0F0 200-300"});
  CHECK(problem_of({database("CREATE TABLE t (x);")}) == "has no NVTX range of a task");
}

TEST_CASE("Hostile content of a database has no effect", "[import][nsys]") {
  const std::string rows = Rows{}.range("PP:0F0", 0, 100).sql();
  // A view that never ends in place of a table; a table that is virtual; a trigger; columns that are computed.
  CHECK(problem_of({database("CREATE TABLE t (start, end, text);\n"
                             "CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) "
                             "SELECT x AS start, x AS end, 'PP:0F0' AS text FROM c;")}) ==
        "has no NVTX range of a task");
  CHECK(problem_of({database("CREATE TABLE NVTX_EVENTS (start, end AS (start + 1), text AS ('PP:0F0'));\n"
                             "INSERT INTO NVTX_EVENTS VALUES (1);")}) == "has no NVTX range of a task");
  CHECK(problem_of(
            {file(rows + "CREATE TABLE log (x); CREATE TRIGGER e AFTER INSERT ON NVTX_EVENTS BEGIN INSERT INTO log "
                         "VALUES (1); END;")}) == "no error");
  // Values of the wrong types, and times at the ends of the range of integers.
  CHECK(
      problem_of({file(rows + "INSERT INTO NVTX_EVENTS VALUES ('x', x'00', 59, 0, 0, 0, 'PP:0F1', 'y', 0, 0, 0);\n"
                              "INSERT INTO NVTX_EVENTS VALUES (-9223372036854775808, 9223372036854775807, 59, 0, 0, 0, "
                              "'PP:0F2', -1, 0, 0, 0);\n")}) == "no error");
}

TEST_CASE("Files that are not a database, or are truncated, are refused", "[import][nsys]") {
  CHECK(problem_of({"not a database at all, but long enough to be looked at"})
            .starts_with("cannot be read as an SQLite database"));
  CHECK(problem_of({""}).find("NVTX") != std::string::npos); // to SQLite, nothing is an empty database
  Rows rows;
  for (int microbatch = 0; microbatch < 2000; ++microbatch)
    rows.range(fmt::format("PP:0F{}", microbatch), microbatch, microbatch);
  const std::string whole = file(rows.sql());
  CHECK(problem_of({whole}) == "no error");
  CHECK(problem_of({whole.substr(0, whole.size() / 2)}).starts_with("cannot be read as an SQLite database"));
}

} // namespace ppsim::test::nsys_test
