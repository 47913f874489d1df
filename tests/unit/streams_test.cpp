// The transfer model `streams`: operations on one communicator run in launch order, and a transfer flows when both of
// its ends have come that far.

#include "support/comm_orders.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <string>

using namespace ppsim;
using namespace ppsim::test;
using namespace std::chrono_literals;

namespace {

Scenario costs(const Written& written, Duration forward = 10ns, Duration backward = 20ns, Duration comm = 3ns) {
  return uniform_scenario(written.schedule.shape(), forward, backward, comm);
}

StreamOutcome run_rows(const Rows& rows, Communicators communicators = Communicators::pair, Duration comm = 3ns) {
  const Written read = written(rows);
  Scenario scenario = costs(read, 10ns, 20ns, comm);
  for (auto* times : {&scenario.costs.forward, &scenario.costs.input_grad, &scenario.costs.weight_grad})
    times->assign(times->size(), 10ns); // chunks are as long as stages
  return run_streams(read, scenario, communicators);
}

void check_times(const StreamOutcome& run, std::string_view op, std::int64_t launched, std::int64_t front,
                 std::int64_t done) {
  INFO(op);
  const auto at = [](std::int64_t ns) { return SimTime{Duration{ns}}; };
  CHECK(run.op(op).launched == at(launched));
  CHECK(run.op(op).front == at(front));
  CHECK(run.op(op).done == at(done));
}

/// 1F1B, where a stage that is done with a backward sends before it receives.
const Rows one_f_one_b{"0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1",
                       "1RECV_F0 1F0 1B0 1SEND_B0 1RECV_F1 1F1 1B1 1SEND_B1"};

} // namespace

TEST_CASE("Under streams a transfer flows when its send and its receive are both in front") {
  //  stage 0  0F0[0,10) 0F1[10,20) .......................... 0B0[46,66) ........ 0B1[79,99)
  //  0->1     0F0[10,13)                          0F1[43,46)
  //  1->0                                         1B0[43,46)           1B1[76,79)
  //  stage 1            1F0[13,23) 1B0[23,43)                1F1[46,56) 1B1[56,76)
  const StreamOutcome run = run_rows(one_f_one_b, Communicators::edge);
  CHECK(run.outcome.task("0F0") == between(0, 10));
  CHECK(run.outcome.task("0F1") == between(10, 20));
  CHECK(run.outcome.transfer("0F0") == between(10, 13));
  CHECK(run.outcome.task("1F0") == between(13, 23));
  CHECK(run.outcome.task("1B0") == between(23, 43));
  CHECK(run.outcome.transfer("0F1") == between(43, 46)); // made at 20, its receive is launched behind 1B0
  CHECK(run.outcome.transfer("1B0") == between(43, 46));
  CHECK(run.outcome.task("0B0") == between(46, 66));
  CHECK(run.outcome.task("1F1") == between(46, 56));
  CHECK(run.outcome.task("1B1") == between(56, 76));
  CHECK(run.outcome.transfer("1B1") == between(76, 79));
  CHECK(run.outcome.task("0B1") == between(79, 99));
  check_times(run, "0SEND_F1", 20, 20, 46);
  check_times(run, "1RECV_F1", 43, 43, 46);
  check_times(run, "0RECV_B1", 66, 66, 79);
  CHECK(run.outcome.cause("1F1") == Cause::activation);
  CHECK(run.outcome.released_by("1F1") == run.outcome.id("0F1"));
  CHECK(run.outcome.cause("0F1") == Cause::order);
  // 0SEND_F1 waited for the task behind which stage 1 launched its receive.
  CHECK(run.outcome.timeline.transfer_released_by[index(run.outcome.id("0F1"))] == run.outcome.id("1B0"));
}
