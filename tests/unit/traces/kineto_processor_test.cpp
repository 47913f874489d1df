// Profiles of the PyTorch profiler without a GPU: work and waiting time of tasks.

#include "support/kineto_reading.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace ppsim::test::kineto_processor_test {

using namespace ppsim::traces;

namespace {

/// One of two stages that run 1F1B with two microbatches on processors. F takes 1 ms, B 2 ms, a transfer 0.1 ms.
std::string gloo_rank(int rank, bool has_ends) {
  KinetoFile file{fmt::format(R"({{"backend": "gloo", "rank": {}, "world_size": 2}})", rank)};
  int id = 0;
  const auto task = [&](const char* name, double from, double to) { file.annotation(name, from, to - from, ++id); };
  const auto receive = [&](const char* name, double from, double end) {
    file.annotation(name, from, 1, ++id);
    file.event("cpu_op", "c10d::recv_", fmt::format("{:.3f}", from + 0.1), "0.8");
    if (has_ends)
      file.event("user_annotation", "gloo:recv", fmt::format("{:.3f}", from + 0.5),
                 fmt::format("{:.3f}", end - from - 0.5));
  };
  const auto send = [&](const char* name, double from) {
    file.annotation(name, from, 1, ++id);
    file.event("user_annotation", "gloo:send", fmt::format("{:.3f}", from + 0.5), "9000");
  };
  if (rank == 0) {
    task("PP:0F0", 0, 1000);
    send("PP:0SEND_F0", 1000);
    task("PP:0F1", 1000, 2000);
    send("PP:0SEND_F1", 2000);
    receive("PP:0RECV_B0", 2001, 4200);
    task("PP:0B0", 2003, 6200);
    receive("PP:0RECV_B1", 6200, 7203);
    task("PP:0B1", 6202, 9203);
  } else {
    receive("PP:1RECV_F0", 0, 1100);
    task("PP:1F0", 2, 2100);
    task("PP:1B0", 2100, 4100);
    send("PP:1SEND_B0", 4100);
    receive("PP:1RECV_F1", 4101, 4103.5);
    task("PP:1F1", 4103, 5103);
    task("PP:1B1", 5103, 7103);
    send("PP:1SEND_B1", 7103);
  }
  return file.text();
}

} // namespace

TEST_CASE("Without any kernel, the processor's times are used, with a note") {
  KinetoFile file;
  file.annotation("PP:0F0", 100, 10, 1);
  const Recorded recorded = read(file);
  CHECK(recorded.tasks.at(0).start == 100000);
  CHECK(recorded.tasks.at(0).end == 110000);
  CHECK(std::ranges::count(recorded.notes,
                           "ranks without any kernel of a task: their tasks have the times of the processor (1)") == 1);
}

TEST_CASE("On a processor, a task begins at the end of its receive, which has its own annotation") {
  const Recorded recorded = read_all({gloo_rank(0, true), gloo_rank(1, true)});
  using Times = std::vector<std::pair<std::int64_t, std::int64_t>>;
  Times times;
  for (const TaskEvent& event : recorded.tasks) times.emplace_back(event.start, event.end);
  CHECK(times == Times{{0, 1'000'000},
                       {1'000'000, 2'000'000},
                       {4'200'000, 6'200'000}, // its annotation began at 2.003 ms
                       {7'203'000, 9'203'000},
                       {1'100'000, 2'100'000}, // at 2 us
                       {2'100'000, 4'100'000},
                       {4'103'500, 5'103'000},
                       {5'103'000, 7'103'000}});
  CHECK(recorded.transfers.size() == 4); // what receives say; sends last until the step waits for them
  CHECK(std::ranges::none_of(recorded.transfers, &TransferEvent::is_send));
  CHECK(dropped(recorded, "sends of gloo, which are recorded until the step waits for them") == 4);
  CHECK(recorded.facts.transport == "gloo");
  CHECK(std::ranges::count(recorded.notes, "ranks without any kernel of a task: their tasks have the times of the "
                                           "processor, from the end of their receive on (8)") == 1);
}

TEST_CASE("On a processor, tasks whose waits have no end do not count as work") {
  CHECK(refusal({gloo_rank(0, true), gloo_rank(1, false)}) ==
        "rank1.json: it has no kernels, and no end for 2 of its 2 receives: the work of a task cannot be told from its "
        "wait | also profile the activity CUDA; on processors use the backend gloo, which records its receives");
  // One of them alone may be cut off by the end of the recording.
  KinetoFile file;
  file.annotation("PP:0F0", 0, 500, 6).annotation("PP:0F1", 500, 500, 1);
  file.annotation("PP:0RECV_B0", 1000, 1, 2).event("user_annotation", "gloo:recv", "1000.5", "500");
  file.annotation("PP:0B0", 1001, 1000, 3);
  file.annotation("PP:0RECV_B1", 2001, 1, 4).annotation("PP:0B1", 2002, 5000, 5);
  const Recorded recorded = read(file);
  CHECK(recorded.tasks.size() == 3);
  CHECK(dropped(recorded, "tasks on the processor whose wait for their input has no end") == 1);
}

TEST_CASE("Gloo's receives do not affect tasks that ran on a device") {
  KinetoFile file;
  file.annotation("PP:0F0", 100, 10, 1).gpu_annotation("PP:0F0", 120, 10, 1);
  file.annotation("PP:0RECV_B0", 130, 5, 2).event("user_annotation", "gloo:recv", "131", "900");
  file.annotation("PP:0B0", 140, 10, 3).gpu_annotation("PP:0B0", 160, 20, 3);
  const Recorded recorded = read(file);
  CHECK(recorded.transfers.empty());
  CHECK(recorded.tasks.at(1).start == 160000);
  CHECK(recorded.facts.transport == "NCCL");
  CHECK(dropped(recorded, "receives of gloo outside of PP:RECV, or next to kernels") == 1);
}

TEST_CASE("The halves of a pair on a processor run one after the other, the second from the end of its receive") {
  KinetoFile file;
  file.annotation("PP:0F0", 0, 100, 1);
  file.annotation("PP:0RECV_B0", 100, 5, 2).event("user_annotation", "gloo:recv", "101", "149");
  file.annotation("PP:(0F1;0B0)OVERLAP_F_B", 110, 300, 3);
  const Recorded recorded = read(file);
  REQUIRE(recorded.tasks.size() == 3);
  CHECK(recorded.tasks[1].start == 110'000);
  CHECK(recorded.tasks[1].end == 250'000);
  CHECK(recorded.tasks[2].start == 250'000);
  CHECK(recorded.tasks[2].end == 410'000);
}

} // namespace ppsim::test::kineto_processor_test
