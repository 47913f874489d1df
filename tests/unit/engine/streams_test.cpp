// The transfer model `streams`: operations on one communicator run in launch order, and a transfer flows when both of
// its ends have come that far.

#include "support/comm_orders.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace ppsim::test::streams_test {

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

TEST_CASE("Under streams, a transfer flows when its send and its receive are both in front") {
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
  CHECK(run.outcome.transfer("0F1") == between(43, 46)); // made at 20, its receive is launched after 1B0
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
  // 0SEND_F1 waited for the task after which stage 1 launched its receive.
  CHECK(run.outcome.timeline.transfer_released_by[index(run.outcome.id("0F1"))] == run.outcome.id("1B0"));
}

TEST_CASE("A send below the threshold flows without its receive, which is done when it is launched") {
  const Written read = written({"0F0 0SEND_F0 0F1 0SEND_F1", "1RECV_F0 1F0 1RECV_F1 1F1"});
  Scenario scenario = costs(read);
  scenario.costs.forward = {10ns, 40ns};
  scenario.network.boundary_bytes = {Bytes{5}};
  const StreamOutcome meets = run_streams(read, scenario, Communicators::pair);
  CHECK(meets.outcome.transfer("0F1") == between(53, 56)); // launched after 1F0[13,53)
  CHECK(meets.outcome.task("1F1") == between(56, 96));
  scenario.network.streams.eager_below = Bytes{6};
  const StreamOutcome eager = run_streams(read, scenario, Communicators::pair);
  CHECK(eager.outcome.transfer("0F1") == between(20, 23));
  CHECK(eager.outcome.task("1F1") == between(53, 93));
  check_times(eager, "0SEND_F1", 20, 20, 23);
  check_times(eager, "1RECV_F1", 53, 53, 53);
  scenario.network.streams.eager_below = Bytes{5}; // smaller than that
  CHECK(run_streams(read, scenario, Communicators::pair).outcome.task("1F1") == between(56, 96));
}

TEST_CASE("A transfer slows the tasks of both its stages down while it flows") {
  //  factor 1.5, c = 6: 0F1 does 4 of its 10 ns in [10,16) and 6 in [16,22); 1F0 6 in [16,22) and 4 in [22,28)
  const Written read = written({"0F0 0SEND_F0 0F1 0SEND_F1", "1RECV_F0 1RECV_F1 1F0 1F1"});
  Scenario scenario = costs(read, 10ns, 20ns, 6ns);
  scenario.network.streams.slowdown_ppm = 1'500'000;
  const StreamOutcome run = run_streams(read, scenario, Communicators::edge);
  CHECK(run.outcome.task("0F0") == between(0, 10));
  CHECK(run.outcome.task("0F1") == between(10, 22));
  CHECK(run.outcome.task("1F0") == between(16, 28));
  CHECK(run.outcome.task("1F1") == between(28, 38));
}

TEST_CASE("A stage waits for an operation before the stated task, and runs the tasks in between") {
  const auto starts_of = [](const char* send) {
    const StreamOutcome run =
        run_rows({"0F0 " + std::string{send} + " 0F1 0F2 0SEND_F1 0SEND_F2", "1RECV_F0 1RECV_F1 1RECV_F2 1F0 1F1 1F2"},
                 Communicators::edge, 100ns);
    return std::pair{run.outcome.task("0F1").start, run.outcome.task("0F2").start};
  };
  const auto at = [](std::int64_t first, std::int64_t second) {
    return std::pair{SimTime{Duration{first}}, SimTime{Duration{second}}};
  };
  CHECK(starts_of("0SEND_F0") == at(10, 20));
  CHECK(starts_of("0SEND_F0!") == at(110, 120));
  CHECK(starts_of("0SEND_F0!1") == at(10, 110));
  CHECK(starts_of("0SEND_F0!2") == at(10, 20)); // after its last task
}

TEST_CASE("A stage takes its optimizer step after the operations that it waits for after its last task") {
  const auto optimizer_of = [](const std::string& last) {
    const Written read = written({"0F0 0SEND_F0 0RECV_B0 0B0", "1RECV_F0 1F0 1B0 " + last});
    Scenario scenario = costs(read);
    scenario.update.optimizer.assign(2, 5ns);
    scenario.update.step = OptimizerStep::per_stage;
    return run_streams(read, scenario, Communicators::pair).outcome.timeline.optimizer;
  };
  CHECK(optimizer_of("1SEND_B0")[1].span == between(43, 48));
  CHECK(optimizer_of("1SEND_B0!")[1].span == between(46, 51)); // 1B0's gradient flows [43,46)
  CHECK(optimizer_of("1SEND_B0!")[0].span == between(66, 71));
}

TEST_CASE("Both halves of a pair wait for their inputs, and send after both") {
  const Rows rows{"0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 (0F2;0B0) 0SEND_F2 0RECV_B1 0B1 0RECV_B2 0B2",
                  "1RECV_F0 1F0 1B0 1SEND_B0 1RECV_F1 1F1 1B1 1SEND_B1 1RECV_F2 1F2 1B2 1SEND_B2"};
  const StreamOutcome run = run_rows(rows, Communicators::edge);
  // 1B0's gradient flows [43,46), when 1SEND_B0 is launched; 10 + 20 in one piece.
  CHECK(run.outcome.task("0F2") == between(46, 76));
  CHECK(run.outcome.task("0B0") == between(46, 76));
  CHECK(run.op("0SEND_F2").launched == SimTime{76ns});
}

TEST_CASE("Features that streams does not support are refused by name") {
  const Written read = written(one_f_one_b);
  Scenario scenario = costs(read);
  scenario.network.model = TransferModel::streams;
  scenario.network.slices = 2;
  CHECK(refusal_of([&] { validate(scenario); }).first() ==
        "`send-slices`: with 'streams' each send is one operation, in one piece -- leave it out, or use `transfer` "
        "latency or link");
  scenario.network.slices = 1;
  scenario.network.streams.slowdown_ppm = 999'999;
  CHECK(refusal_of([&] { validate(scenario); }).first().find("must be 1 to 100, got 0.999999") != std::string::npos);
  scenario.network.streams.slowdown_ppm = unchanged_ppm;
  scenario.network.streams.eager_below = Bytes{-1};
  CHECK(refusal_of([&] { validate(scenario); }).first() == "`eager-below`: negative -- ");
}

} // namespace ppsim::test::streams_test
