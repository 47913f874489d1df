// Head-of-line stalls: time that the order of sends and receives costs, and who is named for it.

#include "ppsim/engine/hang.hpp"
#include "support/comm_orders.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace ppsim::test::stalls_test {

using namespace std::chrono_literals;

namespace {

using Sentences = std::vector<std::string>;

/// Every pass takes 10 ns of forward, 20 ns of backward, every transfer `comm`.
StreamOutcome run_rows(const Rows& rows, Communicators communicators, Duration comm = 0ns) {
  const Written read = written(rows);
  Scenario scenario = uniform_scenario(read.schedule.shape(), 10ns, 20ns, comm);
  for (auto* times : {&scenario.costs.forward, &scenario.costs.input_grad, &scenario.costs.weight_grad})
    times->assign(times->size(), 10ns);
  return run_streams(read, scenario, communicators);
}

/// pytorch#172668: rank 0 posts the receive of chunk 2 right after the send of chunk 0 (its printed order for two
/// stages and two microbatches, "recv" in front; `receive` says where rank 0 posts the first).
Rows two_ranks(const std::string& behind_first, const std::string& behind_second) {
  return {"0F0 0SEND_F0 " + behind_first + " 0F1 0SEND_F1 " + behind_second +
              " 2F0 2SEND_F0 2F1 2SEND_F1 2RECV_B0 2B0 2SEND_B0 2RECV_B1 2B1 2SEND_B1 0RECV_B0 0B0 0RECV_B1 0B1",
          "1RECV_F0 1F0 1SEND_F0 1RECV_F1 1F1 1SEND_F1 3RECV_F0 3F0 3RECV_F1 3B0 3SEND_B0 1RECV_B0 3F1 3B1 3SEND_B1 "
          "1RECV_B1 1B0 1SEND_B0 1B1 1SEND_B1"};
}

/// pytorch#188833 with fewer stages: rank 0 posts the receive of its second chunk as soon as its sender is scheduled,
/// in front of the sends of the other microbatches.
Rows warm_up(bool early) {
  if (early)
    return {"0F0 0SEND_F0 3RECV_F0 0F1 0SEND_F1 3RECV_F1 3F0 3SEND_F0 3F1 3SEND_F1",
            "1RECV_F0 1F0 1SEND_F0 1RECV_F1 1F1 1SEND_F1 4RECV_F0 4F0 4SEND_F0 4RECV_F1 4F1 4SEND_F1",
            "2RECV_F0 2F0 2SEND_F0 2RECV_F1 2F1 2SEND_F1 5RECV_F0 5F0 5RECV_F1 5F1"};
  Rows late = warm_up(true);
  late[0] = "0F0 0SEND_F0 0F1 0SEND_F1 3RECV_F0 3F0 3RECV_F1 3SEND_F0 3F1 3SEND_F1";
  return late;
}

/// The same at its real size, eight stages with two chunks each: `defer` of the sends of the first chunk stand before
/// the first receive of the second.
Rows eight_stages(std::size_t defer) {
  constexpr std::size_t stages = 8;
  Rows rows(stages);
  for (std::size_t k = 0; k < stages + defer; ++k) {
    if (k < stages) rows[0] += fmt::format("0F{0} 0SEND_F{0} ", k);
    if (k >= defer) rows[0] += fmt::format("8RECV_F{} ", k - defer);
  }
  for (std::size_t k = 0; k < stages; ++k) rows[0] += fmt::format("8F{0} 8SEND_F{0} ", k);
  for (std::size_t stage = 1; stage < stages; ++stage)
    for (const std::size_t chunk : {stage, stage + stages})
      for (std::size_t k = 0; k < stages; ++k) {
        rows[stage] += fmt::format("{0}RECV_F{1} {0}F{1} ", chunk, k);
        if (chunk + 1 < 2 * stages) rows[stage] += fmt::format("{}SEND_F{} ", chunk, k);
      }
  return rows;
}

} // namespace

TEST_CASE("A receive posted too early blocks the send after it, by name") {
  //  c = 4   stage 0  0F0[0,10) 0F1[10,20)
  //          stage 1            1F0[14,24)  1F1 could start at 28 if 0SEND_F1 were not after 2RECV_F0, [24,28)
  const StreamOutcome early = run_rows(two_ranks("2RECV_F0", "2RECV_F1"), Communicators::pair, 4ns);
  CHECK(early.op("0SEND_F1").launched == SimTime{20ns});
  CHECK(early.op("0SEND_F1").front == SimTime{28ns});
  CHECK(early.outcome.transfer("0F1") == between(28, 32));
  CHECK(early.outcome.task("1F1") == between(32, 42));
  const Sentences stalls = early.stalls();
  REQUIRE(!stalls.empty());
  CHECK(stalls.front() == "stage 1's 1F1 waits 4 ns: 2RECV_F0 from stage 1 was posted before 0SEND_F1 on the same "
                          "communicator of stage 0");
  // 0F1's transfer waited for 1F0's.
  const Timeline& timeline = early.outcome.timeline;
  CHECK(timeline.transfer_released_by[index(early.outcome.id("0F1"))] == early.outcome.id("1F0"));
  CHECK(timeline.waited_for_transfer[index(early.outcome.id("0F1"))]);
}

TEST_CASE("With a communicator per direction, nothing queues after a receive") {
  const StreamOutcome edge = run_rows(two_ranks("2RECV_F0", "2RECV_F1"), Communicators::edge, 4ns);
  CHECK(edge.outcome.transfer("0F1") == between(24, 28)); // its receive is launched after 1F0
  CHECK(edge.outcome.task("1F1") == between(28, 38));
  CHECK(edge.time(1, Label::stall) == 0ns);
}

TEST_CASE("In the warm-up, a receive of the second chunk opens a bubble on the later stages") {
  //  early: 3RECV_F0 is done when 2F0 is, at 30; only then 0SEND_F1 gets in front, though 0F1 ended at 20
  const StreamOutcome early = run_rows(warm_up(true), Communicators::group);
  CHECK(early.outcome.task("2F0") == between(20, 30));
  CHECK(early.outcome.task("1F1") == between(30, 40));
  CHECK(early.time(1, Label::stall) == 20ns);
  const Sentences stalls = early.stalls();
  REQUIRE(stalls.size() >= 2);
  CHECK(stalls[0] == "stage 1's 1F1 waits 10 ns: 3RECV_F0 from stage 2 was posted before 0SEND_F1 on the same "
                     "communicator of stage 0");
  CHECK(stalls[1] == "stage 1's 4F0 waits 10 ns: 3RECV_F1 from stage 2 was posted before 3SEND_F0 on the same "
                     "communicator of stage 0");
  const StreamOutcome late = run_rows(warm_up(false), Communicators::group);
  CHECK(late.outcome.task("1F1") == between(20, 30));
  CHECK(late.stalls() == Sentences{});
  CHECK(late.outcome.report.makespan + 10ns == early.outcome.report.makespan);
}

TEST_CASE("With eight stages, the first receive of the second chunk delays the second microbatch on seven stages") {
  const StreamOutcome early = run_rows(eight_stages(0), Communicators::group);
  CHECK(early.outcome.task("7F0") == between(70, 80));
  CHECK(early.outcome.task("1F1") == between(80, 90)); // 0F1 ended at 20
  const Sentences stalls = early.stalls();
  CHECK(std::ranges::find(stalls, "stage 1's 1F1 waits 60 ns: 8RECV_F0 from stage 7 was posted before 0SEND_F1 on the "
                                  "same communicator of stage 0") != stalls.end());
  const StreamOutcome deferred = run_rows(eight_stages(6), Communicators::group);
  CHECK(deferred.outcome.task("1F1") == between(20, 30));
  CHECK(deferred.outcome.report.makespan < early.outcome.report.makespan);
  // On a communicator per pair the receive is on another one than the send.
  CHECK(run_rows(eight_stages(0), Communicators::pair).outcome.task("1F1") == between(20, 30));
}

TEST_CASE("A receive after every send of the warm-up hangs: every stage has unsent outputs") {
  const Written read = written(eight_stages(7));
  CHECK(find_hang(read.schedule, read.order, Communicators::group));
  CHECK(!find_hang(read.schedule, read.order, Communicators::pair));
  const Written sooner = written(eight_stages(6));
  CHECK(!find_hang(sooner.schedule, sooner.order, Communicators::group));
}

TEST_CASE("Of several operations in front, the one without a flowing transfer is named") {
  // Microbatch 2 comes from stage 1, which takes ten times as long for it: 1RECV_F2 is done at 104. After it 0SEND_F0
  // flows [104,108), which stands directly before 0SEND_F1.
  const Written read = written(
      {"1RECV_F2 0F0 0SEND_F0 0F1 0SEND_F1 1F2 2F2", "0F2 0SEND_F2 1RECV_F0 1F0 2F0", "0F3 1F3 2F3 1RECV_F1 1F1 2F1"});
  Scenario scenario = uniform_scenario(read.schedule.shape(), 10ns, 20ns, 4ns);
  scenario.costs.stage_ppm = {unchanged_ppm, 10 * unchanged_ppm, unchanged_ppm};
  const StreamOutcome run = run_streams(read, scenario, Communicators::group);
  CHECK(run.outcome.transfer("0F1") == between(108, 112));
  CHECK(run.time(2, Label::stall) == 78ns);
  CHECK(run.stalls() ==
        Sentences{"stage 2's 1F1 waits 78 ns: 1RECV_F2 from stage 1 was posted before 0SEND_F1 on the same "
                  "communicator of stage 0",
                  "stage 1's 1F0 waits 4 ns: 1RECV_F2 from stage 1 was posted before 0SEND_F0 on the same "
                  "communicator of stage 0"});
}

TEST_CASE("An input that has arrived waits for the rest of its group") {
  // 1RECV_F0 is in a group with 1RECV_B..: here with the receive of microbatch 1, which comes 10 ns later.
  const StreamOutcome run =
      run_rows({"0F0 0SEND_F0 0F1 0SEND_F1", "(1RECV_F0;1RECV_F1) 1F0 1F1"}, Communicators::group);
  CHECK(run.outcome.transfer("0F0") == between(10, 10));
  CHECK(run.outcome.task("1F0") == between(20, 30));
  CHECK(run.outcome.released_by("1F0") == run.outcome.id("0F0"));
  CHECK(run.outcome.timeline.group_released_by[index(run.outcome.id("1F0"))] == run.outcome.id("0F1"));
  // A stage's first wait is its warm-up, whatever it waits for.
  CHECK(run.time(1, Label::warmup) == 20ns);
}

TEST_CASE("A wait within a run for the rest of a group is a stall, by name") {
  const StreamOutcome run = run_rows(
      {"0F0 0SEND_F0 0F1 0SEND_F1 0F2 0SEND_F2", "1RECV_F0 1F0 (1RECV_F1;1RECV_F2) 1F1 1F2"}, Communicators::group);
  CHECK(run.outcome.task("1F0") == between(10, 20));
  CHECK(run.outcome.task("1F1") == between(30, 40));
  CHECK(run.time(1, Label::stall) == 10ns);
  CHECK(run.stalls() ==
        Sentences{"stage 1's 1F1 waits 10 ns: 1RECV_F2 from stage 0, of the same group as 1RECV_F1 on stage "
                  "1, had not finished"});
}

TEST_CASE("A receive that was launched late is named with the task before it") {
  // 1RECV_F1 is launched after 1F0, and 3 ns of transfer that could have run beside it are lost.
  const StreamOutcome run =
      run_rows({"0F0 0SEND_F0! 0F1 0SEND_F1! 0F2 0SEND_F2!", "1RECV_F0 1F0 1RECV_F1 1F1 1RECV_F2 1F2"},
               Communicators::edge, 15ns);
  //  0F0[0,10) send[10,25) 0F1[25,35) send[35,50) 0F2[50,60)
  //            1F0[25,35)  recv[35,50) 1F1[50,60)
  CHECK(run.outcome.task("1F1") == between(50, 60));
  CHECK(run.outcome.task("0F1") == between(25, 35));
  CHECK(run.outcome.cause("0F1") == Cause::send_activation);
  CHECK(run.time(0, Label::transfer) == 30ns);
  CHECK(run.stalls() == Sentences{});
}

TEST_CASE("A stage that waits for its own send, received late, stalls") {
  // Stage 1 receives 0F1 after 1F0, which ends at 50.
  const Written read = written({"0F0 0SEND_F0! 0F1 0SEND_F1! 0F2 0SEND_F2", "1RECV_F0 1F0 1RECV_F1 1F1 1RECV_F2 1F2"});
  Scenario scenario = uniform_scenario(read.schedule.shape(), 10ns, 20ns);
  scenario.costs.forward = {10ns, 40ns};
  const StreamOutcome run = run_streams(read, scenario, Communicators::edge);
  CHECK(run.outcome.task("0F1") == between(10, 20));
  CHECK(run.outcome.task("0F2") == between(50, 60));
  CHECK(run.time(0, Label::stall) == 30ns);
  CHECK(run.stalls() == Sentences{"stage 0's 0F2 waits 30 ns: stage 1 launched 1RECV_F1 late, after 1F0"});
}

} // namespace ppsim::test::stalls_test
